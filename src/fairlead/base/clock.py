"""The clock of a server: every rule of time in the API goes by it, and tests can move it.

Moments that are written down are those of `time`. What counts is how much time has passed since
something was seen goes by `steady`, which nobody sets back or forth.

How long the machine itself takes (timeouts of connections, back-off, measurements) is not its
business: that goes by the event loop's own time.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from time import monotonic as _machine_age
from time import time as _machine_time

_ahead = 0.0  # seconds by which `time` is ahead of the machine's
_steadily_ahead = 0.0  # the same of `steady`, which never goes back
_LONGEST_NAP = 24 * 3600.0  # event loops do not take any number


def time() -> float:
    """Seconds since the epoch."""
    return _machine_time() + _ahead


def steady() -> float:
    """Seconds since some moment, which only this clock's own movers make go faster."""
    return _machine_age() + _steadily_ahead


def now() -> datetime:
    """The moment, in UTC."""
    return datetime.fromtimestamp(time(), UTC)


def ahead() -> float:
    """By how many seconds it was moved."""
    return _ahead


class Timer:
    """Something that is due at a moment of this clock, as `read` tells it; it can be cancelled."""

    __slots__ = ("_call", "_handle", "_read", "due")

    def __init__(
        self, due: float, call: Callable[[], object], read: Callable[[], float] = time
    ) -> None:
        self.due = due
        self._call = call
        self._read = read
        self._handle: asyncio.TimerHandle | None = None

    def set(self) -> None:
        """Wait, again if the clock was moved."""
        if self._handle is not None:
            self._handle.cancel()
        delay = min(max(0.0, self.due - self._read()), _LONGEST_NAP)
        self._handle = asyncio.get_running_loop().call_later(delay, self._ring)

    def _ring(self) -> None:
        if self.due > self._read():
            self.set()
            return
        _timers.discard(self)
        self._call()

    def put_back(self, seconds: float) -> None:
        """The clock was put back: wait no longer than it was to be waited before."""
        if self._read is time:
            self.due -= seconds
        self.set()

    def cancel(self) -> None:
        _timers.discard(self)
        if self._handle is not None:
            self._handle.cancel()


_timers: set[Timer] = set()


def call_later(delay: float, call: Callable[[], object], *, is_steady: bool = False) -> Timer:
    """Call something when so many seconds of this clock have passed."""
    read = steady if is_steady else time
    timer = Timer(read() + delay, call, read)
    _timers.add(timer)
    timer.set()
    return timer


async def sleep(seconds: float, *, is_steady: bool = False) -> None:
    """Wait for so many seconds of this clock."""
    rung = asyncio.Event()
    timer = call_later(seconds, rung.set, is_steady=is_steady)
    try:
        await rung.wait()
    finally:
        timer.cancel()


@asynccontextmanager
async def timeout(seconds: float) -> AsyncIterator[None]:
    """Cancel what is done within if it takes longer by the steady clock; raises TimeoutError."""
    loop = asyncio.get_running_loop()
    async with asyncio.timeout(None) as scope:
        timer = call_later(seconds, lambda: scope.reschedule(loop.time()), is_steady=True)
        try:
            yield
        finally:
            timer.cancel()


def advance(seconds: float) -> None:
    """Move the clock; what falls due by it happens now. Call it on the event loop."""
    global _ahead, _steadily_ahead
    _ahead += seconds
    _steadily_ahead += seconds
    for timer in list(_timers):
        timer.set()


def reset() -> None:
    """Put the clock back to the machine's. Timers ring after the time that they had left, which may
    be too early for a moment that was written down: who waits for one looks at the clock again."""
    global _ahead
    back, _ahead = _ahead, 0.0
    for timer in list(_timers):
        timer.put_back(back)
