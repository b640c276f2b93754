"""What one request may cost: time on the event loop, time in all, and bytes made.

Work on the event loop keeps everybody else waiting, so it gets a few milliseconds. Work that needs
more is started again in a thread, where it may take seconds; `run` does both. Walkers whose cost
does not follow from the size of what was sent draw from the budget of the request as they go:
`spend` for steps, `make` for bytes.
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

LIGHT = 32 * 1024  # bytes; work on more than that never starts on the loop
_LOOP_SECONDS = 0.02
THREAD_SECONDS = 20.0  # of CPU; the most expensive validation rules need 10 on slow machines
MOST_MADE = 7 * 512 * 1024  # bytes; a patch may copy 3 MiB, the store takes objects of 1.5
_THREADS = 4
_STEPS_A_LOOK = 200  # between two looks at the clock
_MOST_STEPS_ON_LOOP = 20_000  # that are spent at once, before they are done


class LoopTimeSpent(Exception):
    """Work on the loop has to be started again in a thread; `run` does that."""


class OverBudget(Exception):
    """A request costs more than any may; the text is for its user."""


class OverTime(OverBudget):
    def __init__(self) -> None:
        super().__init__("takes too long to check, try with fewer conditions and patterns")


class OverSize(OverBudget):
    pass


class Budget:
    """What one request may still cost. `owner` is who asks: one owner has one thread at a time."""

    __slots__ = ("loop_seconds", "made", "owner", "seconds")

    def __init__(self, owner: str = "") -> None:
        self.owner = owner
        self.made = 0  # bytes
        self.seconds = THREAD_SECONDS
        self.loop_seconds = _LOOP_SECONDS  # until others get their turn


class _Meter:
    """Watches over one piece of work."""

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
            if self.on_loop and steps > _MOST_STEPS_ON_LOOP:
                raise LoopTimeSpent
            self._steps = _STEPS_A_LOOK
            if self.cancelled:
                raise OverTime
            if self._clock() > self._until:
                raise LoopTimeSpent if self.on_loop else OverTime

    def make(self, size: int) -> None:
        self.made += size
        if self.made > MOST_MADE:
            raise OverSize("the object becomes too large")


_budget: ContextVar[Budget | None] = ContextVar("budget", default=None)
_meter: ContextVar[_Meter | None] = ContextVar("meter", default=None)
_threads: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
_pool = ThreadPoolExecutor(_THREADS, "fairlead-work")


def begin(owner: str) -> None:
    """Give a new budget to the request that the current task works on from now on."""
    _budget.set(Budget(owner))


def made() -> int:
    """Bytes that work on the request at hand has made so far."""
    budget = _budget.get()
    return budget.made if budget is not None else 0


def spend(steps: int = 1) -> None:
    """Account for some steps of work, of about a microsecond each, before they are done. Raises
    OverTime; on the loop LoopTimeSpent, which nobody but `run` may catch."""
    meter = _meter.get()
    if meter is not None:
        meter.spend(steps)


def make(size: int) -> None:
    """Account for bytes before they are made. Raises OverSize."""
    meter = _meter.get()
    if meter is not None:
        meter.make(size)


def is_on_loop() -> bool:
    """Whether work can be handed over to a thread by raising LoopTimeSpent."""
    meter = _meter.get()
    return meter is not None and meter.on_loop


async def run(size: int, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Do some work on an object or a body of so many bytes: on the loop if it is short, else in a
    thread. Work may be started again, so it must be repeatable; it may read what others write, but
    writes nothing that others read."""
    budget = _budget.get() or Budget()
    if size <= LIGHT:
        if budget.loop_seconds <= 0:
            await asyncio.sleep(0)
            budget.loop_seconds = _LOOP_SECONDS
        meter = _Meter(perf_counter, budget.loop_seconds)
        token = _meter.set(meter)
        try:
            return work(*args, **kwargs)
        except LoopTimeSpent:
            meter.made = 0
        finally:
            _meter.reset(token)
            budget.loop_seconds = meter.left
            if meter.made:
                budget.made = max(budget.made, meter.made)
    return await _run_in_thread(budget, partial(work, *args, **kwargs))


async def _run_in_thread(budget: Budget, call: Callable[[], T]) -> T:
    # One thread an owner, so that nobody keeps all of them busy.
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
    """Work that a thread does. It stops soon after it was cancelled."""

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
