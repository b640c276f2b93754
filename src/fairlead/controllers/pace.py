"""Work that need not wait for anything lets others have their turn."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterator
from time import perf_counter

_SECONDS = 0.004  # of work between two rounds of the event loop
_STEPS_A_LOOK = 100  # between two looks at the clock


class Pace:
    """Shared by all who work on one event loop: together they do a few milliseconds of work a
    round, however many of them there are and however much waits for them."""

    def __init__(self) -> None:
        self._end: float | None = None  # of what may be done in this round

    def has_time(self) -> bool:
        """Whether there is time for a piece of work in this round."""
        if self._end is None:
            self._end = perf_counter() + _SECONDS
            asyncio.get_running_loop().call_soon(self._next_round)
            return True
        return perf_counter() < self._end

    async def keep(self) -> None:
        """Returns when there is time for a piece of work."""
        while True:
            if self.has_time():
                return
            await asyncio.sleep(0)

    def _next_round(self) -> None:
        self._end = None


class Backlog:
    """Work that comes in many small steps: some of it is done at once, and the rest in later rounds
    if there is no time left in this one. All of it is done in the order in which it came."""

    def __init__(self) -> None:
        self._pace = Pace()
        self._waiting: deque[Iterator[object]] = deque()

    def __len__(self) -> int:
        return len(self._waiting)

    def add(self, steps: Iterator[object]) -> None:
        """Each step is what the iterator does for its next value."""
        if self._waiting or not self._do(steps):
            self._waiting.append(steps)
            if len(self._waiting) == 1:
                asyncio.get_running_loop().call_soon(self._go_on)

    def _do(self, steps: Iterator[object]) -> bool:
        """Gives whether all of it is done."""
        has_time = self._pace.has_time
        if not has_time():
            return False
        for number, _ in enumerate(steps, 1):
            if number % _STEPS_A_LOOK == 0 and not has_time():
                return False
        return True

    def _go_on(self) -> None:
        while self._waiting and self._do(self._waiting[0]):
            self._waiting.popleft()
        if self._waiting:
            asyncio.get_running_loop().call_soon(self._go_on)

    async def done(self) -> None:
        """Wait until nothing is left."""
        while True:
            if not self._waiting:
                return
            await asyncio.sleep(0)

    def clear(self) -> None:
        self._waiting.clear()
