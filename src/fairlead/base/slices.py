"""Long work in slices: a few milliseconds per iteration of the event loop.

`TimeSlices` is for a task that works in a loop, `Backlog` for work that is not a task.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterator
from time import perf_counter

SECONDS = 0.004  # of work per iteration of the event loop
_STEPS_A_LOOK = 100  # between two readings of the clock


class TimeSlices:
    """A slice of 4 ms per iteration of the event loop, for one task or for all tasks that share an
    instance. `spent` is the time of the slices that one task used up."""

    def __init__(self) -> None:
        self.spent = 0.0
        self._began: float | None = None  # start of the slice in the current iteration

    def has_time(self) -> bool:
        """Whether the slice of this iteration is not used up. The first call starts it."""
        if self._began is None:
            self._began = perf_counter()
            asyncio.get_running_loop().call_soon(self._end_slice)
            return True
        return perf_counter() < self._began + SECONDS

    async def pause(self) -> None:
        """Yield to the event loop if the slice is used up."""
        began = self._began
        while True:
            if self.has_time():
                return
            if began is not None:
                self.spent += perf_counter() - began
                began = None
            await asyncio.sleep(0)

    def _end_slice(self) -> None:
        self._began = None


class Backlog:
    """Runs iterators step by step, in the order of `add`. Starts immediately; when the slice of
    the iteration is used up the rest continues in later ones."""

    def __init__(self) -> None:
        self._slices = TimeSlices()
        self._waiting: deque[Iterator[object]] = deque()

    def __len__(self) -> int:
        return len(self._waiting)

    def add(self, steps: Iterator[object]) -> None:
        """Each `next` of the iterator is one step."""
        if self._waiting or not self._do(steps):
            self._waiting.append(steps)
            if len(self._waiting) == 1:
                asyncio.get_running_loop().call_soon(self._go_on)

    def _do(self, steps: Iterator[object]) -> bool:
        """Returns whether the iterator is exhausted."""
        has_time = self._slices.has_time
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
        """Wait until the backlog is empty."""
        while True:
            if not self._waiting:
                return
            await asyncio.sleep(0)

    def clear(self) -> None:
        self._waiting.clear()
