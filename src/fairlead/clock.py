"""The clock of a server: every rule of time in the API goes by it, and tests can move it.

How long the machine itself takes (timeouts of connections, back-off, measurements) is not its
business: that goes by the event loop's own time.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime
from time import time as _machine_time

_ahead = 0.0  # seconds
_LONGEST_NAP = 24 * 3600.0  # event loops do not take any number


def time() -> float:
    """Seconds since the epoch."""
    return _machine_time() + _ahead


def now() -> datetime:
    """The moment, in UTC."""
    return datetime.fromtimestamp(time(), UTC)


class Timer:
    """Something that is due at a moment of this clock; it can be cancelled."""

    __slots__ = ("_call", "_handle", "due")

    def __init__(self, due: float, call: Callable[[], object]) -> None:
        self.due = due
        self._call = call
        self._handle: asyncio.TimerHandle | None = None

    def set(self) -> None:
        """Wait, again if the clock was moved."""
        if self._handle is not None:
            self._handle.cancel()
        delay = min(max(0.0, self.due - time()), _LONGEST_NAP)
        self._handle = asyncio.get_running_loop().call_later(delay, self._ring)

    def _ring(self) -> None:
        if self.due > time():
            self.set()
            return
        _timers.discard(self)
        self._call()

    def cancel(self) -> None:
        _timers.discard(self)
        if self._handle is not None:
            self._handle.cancel()


_timers: set[Timer] = set()


def call_later(delay: float, call: Callable[[], object]) -> Timer:
    """Call something when so many seconds of this clock have passed."""
    timer = Timer(time() + delay, call)
    _timers.add(timer)
    timer.set()
    return timer


async def sleep(seconds: float) -> None:
    """Wait for so many seconds of this clock."""
    rung = asyncio.Event()
    timer = call_later(seconds, rung.set)
    try:
        await rung.wait()
    finally:
        timer.cancel()


def advance(seconds: float) -> None:
    """Move the clock; what falls due by it happens now. Call it on the event loop."""
    global _ahead
    _ahead += seconds
    for timer in list(_timers):
        timer.set()
