"""Results that come later, without a task that waits for them.

A coroutine costs more than most steps of a request. So the functions on the way of a request return
their result itself where they need not wait; else a `Deferred` if an event brings it, such as a
commit, or a coroutine (`Outcome`).
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from types import CoroutineType
from typing import Any, Generic, TypeAlias, TypeVar, cast

from fairlead.base import waiting
from fairlead.base.compiled import mypyc_attr
from fairlead.base.logs import Logger

logger = Logger("fairlead")

T = TypeVar("T")
Result = TypeVar("Result")


@mypyc_attr(allow_interpreted_subclasses=True)
class Deferred(Generic[T]):
    """A result that comes later: `then` adds a step to it, `on_done` a function that gets it."""

    def __init__(self) -> None:
        self._steps: list[Callable[[Any], Any]] = []  # called in order, each with the last result
        self._on_done: Callable[[Any, BaseException | None], None] | None = None
        self._task: Any = None  # awaits the coroutine of a step
        self._is_done = False
        self._result: Any = None
        self._error: BaseException | None = None

    def add_step(self, step: Callable[[Any], Any]) -> None:
        """Call `step` with the result; its return value replaces the result."""
        self._steps.append(step)

    def on_done(self, callback: Callable[[Any, BaseException | None], None]) -> None:
        """Call a function with the result, or with None and the exception of a step. It must not
        raise. One function at most."""
        if self._is_done:
            callback(self._result, self._error)
        else:
            self._on_done = callback

    def resolve(self, result: Any) -> None:
        """Set the result that the event brought, and run the steps."""
        try:
            while self._steps:
                outcome = self._steps.pop(0)(result)
                if isinstance(outcome, CoroutineType):
                    self.wait_for(outcome)
                    return
                if isinstance(outcome, Deferred):
                    outcome.on_done(self._go_on)
                    return
                result = outcome
        except BaseException as error:
            self.fail(error)
            return
        self._finish(result, None)

    def _go_on(self, result: Any, error: BaseException | None) -> None:
        if error is not None:
            self.fail(error)
        else:
            self.resolve(result)

    def wait_for(self, coroutine: Coroutine[Any, Any, Any]) -> None:
        """Await the coroutine of a step in a task, then run the steps after it."""
        self._task = waiting.run_in_task(coroutine, self._go_on)

    def fail(self, error: BaseException) -> None:
        self._steps.clear()
        self._finish(None, error)

    def _finish(self, result: Any, error: BaseException | None) -> None:
        self._is_done, self._result, self._error = True, result, error
        callback, self._on_done = self._on_done, None  # breaks reference cycles
        if callback is not None:
            callback(result, error)

    def cancel(self) -> None:
        """Drop the result: cancel the task, and do not call the function of `on_done`."""
        self._on_done = None
        if self._task is not None:
            self._task.cancel()


# A result, or the deferred or the coroutine that brings it.
Outcome: TypeAlias = T | Deferred[T] | Coroutine[Any, Any, T]


def then(outcome: Outcome[T], step: Callable[[T], Outcome[Result]]) -> Outcome[Result]:
    """Call `step` with the result of an earlier step, at once if it is there."""
    if isinstance(outcome, Deferred):
        outcome.add_step(step)
        return cast(Deferred[Result], outcome)
    if isinstance(outcome, CoroutineType):
        return waiting.after(outcome, step)
    return step(outcome)  # type: ignore[arg-type]
