"""Limits of one request: time on the event loop, CPU time in threads, and bytes allocated.

Work on the event loop blocks all other requests, so it gets a few milliseconds. Work that exceeds
them is restarted in a thread, where it may take seconds; `start` does both. Functions whose cost is
not bounded by the size of the request draw from its budget as they go: `meter.spend` for steps,
`meter.allocate` for bytes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import partial
from time import thread_time
from typing import Any, Generic, ParamSpec, TypeVar
from weakref import WeakValueDictionary

from fairlead.base.meter import (
    NEEDS_THREAD,
    NEEDS_YIELD,
    Budget,
    Meter,
    current_budget,
    run_in_thread,
    try_on_loop,
)
from fairlead.base.waiting import result_of

P = ParamSpec("P")
T = TypeVar("T")

_THREADS = 4

_owner_locks: WeakValueDictionary[tuple[asyncio.AbstractEventLoop, str], asyncio.Lock]
_owner_locks = WeakValueDictionary()
_pool = ThreadPoolExecutor(_THREADS, "fairlead-work")


def start(size: int, work: Callable[[], T]) -> T | Coroutine[Any, Any, T]:
    """Run work on an object or a body of `size` bytes: on the loop if it is short, else in a
    thread. The work may be restarted, so it must be repeatable. It may read shared state but must
    not write any."""
    result = try_on_loop(size, work)
    if result is NEEDS_YIELD or result is NEEDS_THREAD:
        return go_on(result, size, work)
    return result  # type: ignore[no-any-return]


async def run(size: int, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """As `start`, for callers that wait for the result."""
    return await result_of(start(size, partial(work, *args, **kwargs)))


async def go_on(needs: object, size: int, work: Callable[[], T]) -> T:
    """Run work that `try_on_loop` did not finish; `needs` is what that returned."""
    if needs is NEEDS_YIELD:
        await asyncio.sleep(0)
        current_budget().loop_until = 0.0
        result = try_on_loop(size, work)
        if result is not NEEDS_THREAD:
            return result  # type: ignore[no-any-return]
    return await _run_in_thread(current_budget(), work)


async def _run_in_thread(budget: Budget, call: Callable[[], T]) -> T:
    # One thread per owner, so that one user cannot occupy the whole pool.
    loop = asyncio.get_running_loop()
    lock = _owner_locks.get((loop, budget.owner))
    if lock is None:
        lock = _owner_locks[loop, budget.owner] = asyncio.Lock()
    async with lock:
        work = _ThreadWork(budget, call)
        try:
            return await loop.run_in_executor(_pool, copy_context().run, work)
        except asyncio.CancelledError:
            work.cancel()
            raise


class _ThreadWork(Generic[T]):
    """Work in a thread. It stops soon after it is cancelled."""

    def __init__(self, budget: Budget, call: Callable[[], T]) -> None:
        self._budget = budget
        self._call = call
        self._meter: Meter | None = None
        self._is_cancelled = False

    def __call__(self) -> T:
        meter = self._meter = Meter(
            thread_time, thread_time() + self._budget.seconds, on_loop=False
        )
        meter.cancelled = self._is_cancelled
        result: T = run_in_thread(self._budget, meter, self._call)
        return result

    def cancel(self) -> None:
        self._is_cancelled = True
        if self._meter is not None:
            self._meter.cancelled = True
