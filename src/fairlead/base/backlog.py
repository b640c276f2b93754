"""Long work in slices, without a task: iterators that run step by step. `slices` is the same for
tasks."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterator
from time import perf_counter

from fairlead.base.compiled import mypyc_attr

SLICE_SECONDS = 0.004  # of work per iteration of the event loop
_STEPS_PER_CLOCK_READ = 100


@mypyc_attr(allow_interpreted_subclasses=True)
class Slice:
    """A slice of 4 ms per iteration of the event loop."""

    def __init__(self) -> None:
        self.began: float = 0.0  # start of the slice in the current iteration, 0 before it

    def has_time(self) -> bool:
        """Whether the slice of this iteration is not used up. The first call starts it."""
        if not self.began:
            self.began = perf_counter()
            asyncio.get_running_loop().call_soon(self._end)
            return True
        return perf_counter() < self.began + SLICE_SECONDS

    def _end(self) -> None:
        self.began = 0.0


class Backlog:
    """Runs iterators step by step, in the order of `add`. Starts immediately; when the slice of
    the iteration is used up the rest continues in later ones."""

    def __init__(self) -> None:
        self._slice = Slice()
        self._waiting: deque[Iterator[object]] = deque()

    def __len__(self) -> int:
        return len(self._waiting)

    def has_time(self) -> bool:
        """Whether a short piece of work may run now: the queue is empty and the slice has time."""
        return not self._waiting and self._slice.has_time()

    def add(self, steps: Iterator[object]) -> None:
        """Each `next` of the iterator is one step."""
        if self._waiting or not self._run(steps):
            self._waiting.append(steps)
            if len(self._waiting) == 1:
                asyncio.get_running_loop().call_soon(self._continue)

    def _run(self, steps: Iterator[object]) -> bool:
        """Returns whether the iterator is exhausted."""
        if not self._slice.has_time():
            return False
        for number, _ in enumerate(steps, 1):
            if number % _STEPS_PER_CLOCK_READ == 0 and not self._slice.has_time():
                return False
        return True

    def _continue(self) -> None:
        while self._waiting and self._run(self._waiting[0]):
            self._waiting.popleft()
        if self._waiting:
            asyncio.get_running_loop().call_soon(self._continue)

    def clear(self) -> None:
        self._waiting.clear()
