"""The clock of a server: every rule of the API that involves time uses it, and tests can move it.

Timestamps that are stored come from `time`. Elapsed time is measured with `steady`, which is never
set back, and jumps forward only by `advance`.

Durations of the machine itself (timeouts of connections, back-off, measurements) use the event
loop's own time instead.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from math import inf
from time import monotonic as _machine_age
from time import time as _machine_time

_ahead = 0.0  # seconds by which `time` is ahead of the machine's clock
_steadily_ahead = 0.0  # the same for `steady`; never decreases
_MAX_DELAY = 60.0  # until a timer notices that the machine's clock was set forward


def time() -> float:
    """Seconds since the epoch."""
    return _machine_time() + _ahead


def steady() -> float:
    """Return a monotonic time in seconds. Only `advance` makes it jump."""
    return _machine_age() + _steadily_ahead


def now() -> datetime:
    """Return the current time in UTC."""
    return datetime.fromtimestamp(time(), UTC)


def ahead() -> float:
    """Return by how many seconds the clock was moved."""
    return _ahead


class Timer:
    """Calls a function after a delay, or earlier if the clock was set forward past the end of
    the delay; a timer that `is_steady` ignores such changes. A clock that is set back prolongs
    no delay: callers that wait for a stored time check the clock again."""

    __slots__ = ("_call", "_due", "_handle", "_loop", "_steadily_due")

    def __init__(self, delay: float, call: Callable[[], object], *, is_steady: bool) -> None:
        self._due = inf if is_steady else time() + delay
        self._steadily_due = steady() + delay
        self._call = call
        self._loop = asyncio.get_running_loop()
        self._handle: asyncio.TimerHandle | None = None

    def _left(self) -> float:
        return min(self._due - time(), self._steadily_due - steady())

    def set(self) -> None:
        """Schedule the call on the event loop; called again when the clock was moved. Forgets a
        timer whose loop was closed."""
        if self._handle is not None:
            self._handle.cancel()
        if self._loop.is_closed():
            _timers.discard(self)
            return
        delay = min(max(0.0, self._left()), _MAX_DELAY)
        self._handle = self._loop.call_later(delay, self._fire)

    def _fire(self) -> None:
        if self._left() > 0:
            self.set()
            return
        _timers.discard(self)
        self._call()

    def cancel(self) -> None:
        _timers.discard(self)
        if self._handle is not None:
            self._handle.cancel()


_timers: set[Timer] = set()


def call_later(delay: float, call: Callable[[], object], *, is_steady: bool = False) -> Timer:
    """Call a function after so many seconds of this clock."""
    timer = Timer(delay, call, is_steady=is_steady)
    _timers.add(timer)
    timer.set()
    return timer


async def sleep(seconds: float, *, is_steady: bool = False) -> None:
    """Sleep for so many seconds of this clock."""
    elapsed = asyncio.Event()
    timer = call_later(seconds, elapsed.set, is_steady=is_steady)
    try:
        await elapsed.wait()
    finally:
        timer.cancel()


@asynccontextmanager
async def timeout(seconds: float) -> AsyncIterator[None]:
    """Cancel the body after so many seconds of the steady clock; raises TimeoutError."""
    loop = asyncio.get_running_loop()
    async with asyncio.timeout(None) as scope:
        timer = call_later(seconds, lambda: scope.reschedule(loop.time()), is_steady=True)
        try:
            yield
        finally:
            timer.cancel()


def advance(seconds: float) -> None:
    """Move the clock forward. Timers that become due fire in the next iterations of the event loop.
    Call it on the loop."""
    global _ahead, _steadily_ahead
    _ahead += seconds
    _steadily_ahead += seconds
    for timer in list(_timers):
        timer.set()


def reset() -> None:
    """Put the clock back to the machine's."""
    global _ahead
    _ahead = 0.0
