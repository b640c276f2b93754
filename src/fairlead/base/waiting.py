"""Coroutines for work that mostly need not wait, see `deferred`.

Work of many steps is a `Run`: its steps are plain methods, which may be compiled.
"""

from __future__ import annotations

import asyncio
from asyncio import CancelledError
from collections.abc import Awaitable, Callable, Coroutine, Generator
from types import CoroutineType
from typing import Any, Protocol, TypeVar, cast

T = TypeVar("T")
Result = TypeVar("Result")
Covariant = TypeVar("Covariant", covariant=True)


class Run(Protocol[Covariant]):
    """Work in steps."""

    def advance(self) -> Awaitable[object] | None:
        """Run the steps up to the first that has to wait, and return its awaitable; `finish` awaits
        it and goes on. Returns None after the last step."""

    def failed(self, error: BaseException) -> Awaitable[object] | None:
        """Called when an awaitable raised. If the work can go on, run the next steps and return as
        `advance` does; else raise the error."""

    @property
    def result(self) -> Covariant: ...


async def finish(run: Run[Result], waiting: Awaitable[object] | None) -> Result:
    """Await the step that waits, and run the steps after it."""
    while waiting is not None:
        try:
            await waiting
        except BaseException as error:
            waiting = run.failed(error)
        else:
            waiting = run.advance()
    return run.result


class Deferred(Protocol[Covariant]):
    """The interface of `deferred.Deferred`."""

    def on_done(self, callback: Callable[[Any, BaseException | None], None]) -> None: ...

    def cancel(self) -> None: ...


async def result_of(outcome: T | Deferred[T] | Coroutine[Any, Any, T]) -> T:
    """Wait for a result if it is not there yet."""
    if isinstance(outcome, CoroutineType):
        return await outcome  # type: ignore[no-any-return]
    if hasattr(outcome, "on_done"):
        return await _settled(cast(Deferred[T], outcome))
    return cast(T, outcome)


async def _settled(deferred: Deferred[T]) -> T:
    future: asyncio.Future[T] = asyncio.get_running_loop().create_future()

    def settle(result: T, error: BaseException | None) -> None:
        if future.cancelled():
            return
        if error is None:
            future.set_result(result)
        else:
            future.set_exception(error)

    deferred.on_done(settle)
    try:
        return await future
    except CancelledError:
        deferred.cancel()
        raise


async def after(
    coroutine: Coroutine[Any, Any, T],
    step: Callable[[T], Result | Deferred[Result] | Coroutine[Any, Any, Result]],
) -> Result:
    """Call `step` with the result of a coroutine."""
    return await result_of(step(await coroutine))


def run_in_task(
    coroutine: Coroutine[Any, Any, Any], callback: Callable[[Any, BaseException | None], None]
) -> asyncio.Task[Any]:
    """Run a coroutine in a task, and call a function with its result or exception."""

    def on_done(task: asyncio.Task[Any]) -> None:
        if task.cancelled():
            callback(None, CancelledError())
        else:
            error = task.exception()
            callback(None if error else task.result(), error)

    task = asyncio.get_running_loop().create_task(coroutine)
    task.add_done_callback(on_done)
    return task


class _NextTurn:
    """Lets the event loop run once. Unlike a coroutine, it need not be awaited."""

    def __await__(self) -> Generator[None, None, None]:
        yield


NEXT_TURN = _NextTurn()
