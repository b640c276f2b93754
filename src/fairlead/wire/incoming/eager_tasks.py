"""Work that is begun at once and goes on in a task only if it has to wait: most reads do not, and
making a task costs as much as a tenth of them.

Not compiled: an exception, which the end of a coroutine is, costs more there.
"""

from __future__ import annotations

import asyncio
from asyncio import _enter_task, _leave_task
from collections.abc import Coroutine, Generator
from contextvars import copy_context
from typing import Any

Work = Coroutine[Any, Any, None]


class _Stand:
    """Stands for the task as long as there is none: whoever sets a limit of time holds on to the
    task that is current then."""

    __slots__ = ("task",)

    def __init__(self) -> None:
        self.task: asyncio.Task[None] | None = None

    def cancel(self, msg: Any = None) -> bool:
        return self.task is not None and self.task.cancel(msg)

    def cancelling(self) -> int:
        return self.task.cancelling() if self.task is not None else 0

    def uncancel(self) -> int:
        return self.task.uncancel() if self.task is not None else 0


class _Rest:
    """What is left of work that waits for something."""

    __slots__ = ("_waits_for", "_work")

    def __init__(self, work: Work, waits_for: Any) -> None:
        self._work = work
        self._waits_for = waits_for

    def __await__(self) -> Generator[Any, Any, None]:
        while True:
            failure: BaseException | None = None
            result: Any = None
            try:
                result = yield self._waits_for
            except BaseException as raised:
                failure = raised
            try:
                if failure is None:
                    self._waits_for = self._work.send(result)
                else:
                    self._waits_for = self._work.throw(failure)
            except StopIteration:
                return
            finally:
                failure = None  # whose traceback has this frame


async def _end(rest: _Rest) -> None:
    await rest


def begin(work: Work, loop: asyncio.AbstractEventLoop) -> asyncio.Task[None] | None:
    """Do what can be done without waiting; gives the task that goes on, None if all is done. Within
    a task, where nothing else can be begun, all is left to a new one."""
    if asyncio.current_task(loop) is not None:
        return loop.create_task(work)
    stand: Any = _Stand()
    context = copy_context()
    _enter_task(loop, stand)
    try:
        waits_for = context.run(work.send, None)
    except StopIteration:
        return None
    finally:
        _leave_task(loop, stand)
    stand.task = loop.create_task(_end(_Rest(work, waits_for)), context=context)
    task: asyncio.Task[None] = stand.task
    return task
