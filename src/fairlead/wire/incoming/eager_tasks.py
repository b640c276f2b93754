"""Runs a coroutine at once and creates a task only if it has to wait. Most reads do not, and
creating a task costs a tenth of a read.

Not compiled: exceptions, with which coroutines end, cost more in compiled code.
"""

from __future__ import annotations

import asyncio
from asyncio import _enter_task, _leave_task
from collections.abc import Coroutine, Generator
from contextvars import copy_context
from typing import Any

Work = Coroutine[Any, Any, None]


class _TaskStandIn:
    """Stands in for the current task until there is one: `asyncio.timeout` keeps a reference to the
    current task."""

    __slots__ = ("task",)

    def __init__(self) -> None:
        self.task: asyncio.Task[None] | None = None

    def cancel(self, msg: Any = None) -> bool:
        return self.task is not None and self.task.cancel(msg)

    def cancelling(self) -> int:
        return self.task.cancelling() if self.task is not None else 0

    def uncancel(self) -> int:
        return self.task.uncancel() if self.task is not None else 0


class _Continuation:
    """Awaitable for the rest of a coroutine that has begun to wait."""

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
                failure = None  # breaks the cycle through its traceback


async def _end(rest: _Continuation) -> None:
    await rest


def begin(work: Work, loop: asyncio.AbstractEventLoop) -> asyncio.Task[None] | None:
    """Run a coroutine until it first waits. Returns the task that continues it, None if it has
    completed. Inside another task, all of it goes to a new task."""
    if asyncio.current_task(loop) is not None:
        return loop.create_task(work)
    stand: Any = _TaskStandIn()
    context = copy_context()
    _enter_task(loop, stand)
    try:
        waits_for = context.run(work.send, None)
    except StopIteration:
        return None
    finally:
        _leave_task(loop, stand)
    stand.task = loop.create_task(_end(_Continuation(work, waits_for)), context=context)
    task: asyncio.Task[None] = stand.task
    return task
