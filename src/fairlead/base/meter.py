"""The limits of one request and the meters of its work; see `budget`."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from time import perf_counter
from typing import Any, Final

MAX_BYTES_ON_LOOP: Final = 32 * 1024  # bytes; work on larger input always runs in a thread
LOOP_SECONDS: Final = 0.02
THREAD_SECONDS = 20.0  # of CPU; the most expensive validation rules need 10 on slow machines
MAX_ALLOCATED: Final = 7 * 512 * 1024  # bytes; a patch may copy 3 MiB, the store accepts 1.5 MiB
_STEPS_PER_CLOCK_READ: Final = 200  # between two reads of the clock
_MAX_STEPS_ON_LOOP: Final = 20_000  # in one call of `spend`; more raises LoopBudgetExceeded


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
    time. `meter` measures the work that runs now."""

    __slots__ = ("allocated", "loop_until", "meter", "owner", "seconds", "waited")

    def __init__(self, owner: str = "") -> None:
        self.owner = owner
        self.allocated = 0  # bytes
        self.seconds = THREAD_SECONDS
        # When the work must yield to the event loop: some time after the first work or the last
        # yield, also if the request has waited since. 0 before its first work.
        self.loop_until = 0.0
        self.meter: Meter | None = None
        self.waited = 0.0  # seconds that webhooks and a queue took


class Meter:
    """Measures one piece of work on the loop or in a thread, and stops it at its limit."""

    __slots__ = ("_clock", "_steps", "_until", "allocated", "cancelled", "on_loop")

    def __init__(self, clock: Callable[[], float], until: float, *, on_loop: bool) -> None:
        self._clock = clock
        self._steps = _STEPS_PER_CLOCK_READ
        self._until = until
        self.on_loop = on_loop
        self.allocated = 0
        self.cancelled = False

    @property
    def left(self) -> float:
        return self._until - self._clock()

    def spend(self, steps: int) -> None:
        self._steps -= steps
        if self._steps < 0:
            if self.on_loop and steps > _MAX_STEPS_ON_LOOP:
                raise LoopBudgetExceeded
            self._steps = _STEPS_PER_CLOCK_READ
            if self.cancelled:
                raise TimeLimitExceeded
            if self._clock() > self._until:
                raise LoopBudgetExceeded if self.on_loop else TimeLimitExceeded

    def allocate(self, size: int) -> None:
        self.allocated += size
        if self.allocated > MAX_ALLOCATED:
            raise SizeLimitExceeded("the object becomes too large")


_budget: Final[ContextVar[Budget | None]] = ContextVar("budget", default=None)


def begin(owner: str, budget: Budget | None = None) -> Budget:
    """Give a budget, by default a new one, to the request that the current task or callback handles
    from now on."""
    if budget is None:
        budget = Budget(owner)
    _budget.set(budget)
    return budget


def end() -> None:
    """Take the budget from the current callback when its work on a request ends. A task need not
    call this: the context with its budget ends with it."""
    _budget.set(None)


def waited(seconds: float) -> None:
    """Record that the current request waited for others, such as a webhook."""
    budget = _budget.get()
    if budget is not None:
        budget.waited += seconds


def allocated() -> int:
    """Return the bytes that the current request has allocated so far."""
    budget = _budget.get()
    return budget.allocated if budget is not None else 0


def _meter() -> Meter | None:
    budget = _budget.get()
    return budget.meter if budget is not None else None


def spend(steps: int = 1) -> None:
    """Account for steps of work, of about a microsecond each, before doing them. Raises
    TimeLimitExceeded in a thread, and LoopBudgetExceeded on the loop, which only `budget` may
    catch."""
    meter = _meter()
    if meter is not None:
        meter.spend(steps)


def allocate(size: int) -> None:
    """Account for bytes before allocating them. Raises SizeLimitExceeded."""
    meter = _meter()
    if meter is not None:
        meter.allocate(size)


def is_on_loop() -> bool:
    """Return whether raising LoopBudgetExceeded moves the current work to a thread."""
    meter = _meter()
    return meter is not None and meter.on_loop


# What `try_on_loop` returns if the work did not run to its end on the loop.
NEEDS_THREAD: Final[Any] = object()
NEEDS_YIELD: Final[Any] = object()


def current_budget() -> Budget:
    return _budget.get() or Budget()


def try_on_loop(size: int, work: Callable[[], Any]) -> Any:
    """Run work on an input of `size` bytes within the loop time that is left, and return its
    result. NEEDS_THREAD if the input is too large or the time does not suffice, NEEDS_YIELD if no
    time is left."""
    if size > MAX_BYTES_ON_LOOP:
        return NEEDS_THREAD
    budget = _budget.get()
    if budget is None:
        token = _budget.set(Budget())
        try:
            return try_on_loop(size, work)
        finally:
            _budget.reset(token)
    now = perf_counter()
    if not budget.loop_until:
        budget.loop_until = now + LOOP_SECONDS
    elif now >= budget.loop_until:
        return NEEDS_YIELD
    meter = budget.meter = Meter(perf_counter, budget.loop_until, on_loop=True)
    try:
        return work()
    except LoopBudgetExceeded:
        meter.allocated = 0
        return NEEDS_THREAD
    finally:
        budget.meter = None
        if meter.allocated > budget.allocated:
            budget.allocated = meter.allocated


def run_in_thread(budget: Budget, meter: Meter, work: Callable[[], Any]) -> Any:
    """Run work in a thread with a context of its own, and return its result. Its meter counts the
    time of the thread."""
    own = Budget(budget.owner)
    own.allocated = budget.allocated
    own.meter = meter
    _budget.set(own)
    try:
        return work()
    finally:
        budget.seconds = meter.left
        if meter.allocated > budget.allocated:
            budget.allocated = meter.allocated
