"""Limits of one request: time on the event loop, CPU time in threads, and bytes allocated.

Work on the event loop blocks all other requests, so it gets a few milliseconds. Work that exceeds
them is restarted in a thread, where it may take seconds; `run` does both. Functions whose cost is
not bounded by the size of the request draw from its budget as they go: `spend` for steps, `make`
for bytes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar, copy_context
from functools import partial
from time import perf_counter, thread_time
from typing import Generic, ParamSpec, TypeVar
from weakref import WeakValueDictionary

P = ParamSpec("P")
T = TypeVar("T")

LIGHT = 32 * 1024  # bytes; work on larger input always runs in a thread
_LOOP_SECONDS = 0.02
THREAD_SECONDS = 20.0  # of CPU; the most expensive validation rules need 10 on slow machines
MAX_MADE = 7 * 512 * 1024  # bytes; a patch may copy 3 MiB, the store accepts objects of 1.5 MiB
_THREADS = 4
_STEPS_A_LOOK = 200  # between two reads of the clock
_MAX_STEPS_ON_LOOP = 20_000  # in one call of `spend`; more raises LoopTimeSpent


class LoopBudgetExceeded(Exception):
    """Work on the loop must be restarted in a thread; `run` does that."""


class OverBudget(Exception):
    """A request exceeds its limits; the message is for the user."""


class TimeLimitExceeded(OverBudget):
    def __init__(self) -> None:
        super().__init__("takes too long to check, try with fewer conditions and patterns")


class SizeLimitExceeded(OverBudget):
    pass


class Budget:
    """What is left of the limits of one request. `owner` is the user: one thread per owner at a
    time."""

    __slots__ = ("loop_seconds", "made", "owner", "seconds")

    def __init__(self, owner: str = "") -> None:
        self.owner = owner
        self.made = 0  # bytes
        self.seconds = THREAD_SECONDS
        self.loop_seconds = _LOOP_SECONDS  # until the next yield to the event loop


class _Meter:
    """Measures one piece of work on the loop or in a thread, and stops it at its limit."""

    __slots__ = ("_clock", "_steps", "_until", "cancelled", "made", "on_loop")

    def __init__(self, clock: Callable[[], float], seconds: float) -> None:
        self._clock = clock
        self._steps = _STEPS_A_LOOK
        self._until = clock() + seconds
        self.on_loop = clock is perf_counter
        self.made = 0
        self.cancelled = False

    @property
    def left(self) -> float:
        return self._until - self._clock()

    def spend(self, steps: int) -> None:
        self._steps -= steps
        if self._steps < 0:
            if self.on_loop and steps > _MAX_STEPS_ON_LOOP:
                raise LoopBudgetExceeded
            self._steps = _STEPS_A_LOOK
            if self.cancelled:
                raise TimeLimitExceeded
            if self._clock() > self._until:
                raise LoopBudgetExceeded if self.on_loop else TimeLimitExceeded

    def make(self, size: int) -> None:
        self.made += size
        if self.made > MAX_MADE:
            raise SizeLimitExceeded("the object becomes too large")


_budget: ContextVar[Budget | None] = ContextVar("budget", default=None)
_meter: ContextVar[_Meter | None] = ContextVar("meter", default=None)
_threads: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
_pool = ThreadPoolExecutor(_THREADS, "fairlead-work")


def begin(owner: str) -> None:
    """Give a new budget to the request that the current task handles from now on."""
    _budget.set(Budget(owner))


def made() -> int:
    """Return the bytes that the current request has allocated so far."""
    budget = _budget.get()
    return budget.made if budget is not None else 0


def spend(steps: int = 1) -> None:
    """Account for steps of work, of about a microsecond each, before doing them. Raises OverTime in
    a thread, and LoopTimeSpent on the loop, which only `run` may catch."""
    meter = _meter.get()
    if meter is not None:
        meter.spend(steps)


def make(size: int) -> None:
    """Account for bytes before allocating them. Raises OverSize."""
    meter = _meter.get()
    if meter is not None:
        meter.make(size)


def is_on_loop() -> bool:
    """Return whether raising LoopTimeSpent moves the current work to a thread."""
    meter = _meter.get()
    return meter is not None and meter.on_loop


async def run(size: int, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run work on an object or a body of `size` bytes: on the loop if it is short, else in a
    thread. The work may be restarted, so it must be repeatable. It may read shared state but must
    not write any."""
    budget = _budget.get() or Budget()
    if size <= LIGHT:
        if budget.loop_seconds <= 0:
            await asyncio.sleep(0)
            budget.loop_seconds = _LOOP_SECONDS
        meter = _Meter(perf_counter, budget.loop_seconds)
        token = _meter.set(meter)
        try:
            return work(*args, **kwargs)
        except LoopBudgetExceeded:
            meter.made = 0
        finally:
            _meter.reset(token)
            budget.loop_seconds = meter.left
            if meter.made:
                budget.made = max(budget.made, meter.made)
    return await _run_in_thread(budget, partial(work, *args, **kwargs))


async def _run_in_thread(budget: Budget, call: Callable[[], T]) -> T:
    # One thread per owner, so that one user cannot occupy the whole pool.
    turn = _threads.get(budget.owner)
    if turn is None:
        turn = _threads[budget.owner] = asyncio.Lock()
    async with turn:
        work = _InThread(budget, call)
        try:
            return await asyncio.get_running_loop().run_in_executor(_pool, copy_context().run, work)
        except asyncio.CancelledError:
            work.cancel()
            raise


class _InThread(Generic[T]):
    """Work in a thread. It stops soon after it is cancelled."""

    def __init__(self, budget: Budget, call: Callable[[], T]) -> None:
        self._budget = budget
        self._call = call
        self._meter: _Meter | None = None
        self._is_cancelled = False

    def __call__(self) -> T:
        budget = self._budget
        meter = self._meter = _Meter(thread_time, budget.seconds)
        meter.cancelled = self._is_cancelled
        _meter.set(meter)
        try:
            return self._call()
        finally:
            budget.seconds = meter.left
            budget.made = max(budget.made, meter.made)

    def cancel(self) -> None:
        self._is_cancelled = True
        if self._meter is not None:
            self._meter.cancelled = True
