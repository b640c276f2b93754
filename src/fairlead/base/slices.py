"""Shares the event loop between tasks: slices of a few milliseconds for long work, and turns for
many tasks that each do a little."""

from __future__ import annotations

import asyncio
from collections import deque
from time import perf_counter

from fairlead.base.backlog import Slice


class TimeSlices(Slice):
    """A slice of 4 ms per iteration of the event loop, for one task or for all tasks that share an
    instance. `spent` is the time of the slices that one task used up."""

    def __init__(self) -> None:
        super().__init__()
        self.spent = 0.0

    async def pause(self) -> None:
        """Yield to the event loop if the slice is used up."""
        began = self.began
        while not self.has_time():
            if began:
                self.spent += perf_counter() - began
                began = 0.0
            await asyncio.sleep(0)


class Turns:
    """Lets `at_once` tasks go on in each iteration of the event loop, first come, first served."""

    def __init__(self, at_once: int) -> None:
        self._at_once = at_once
        self._waiting: deque[asyncio.Future[None]] = deque()

    async def take(self) -> None:
        """Wait for a turn: one iteration, or longer if many wait."""
        loop = asyncio.get_running_loop()
        if self._waiting and self._waiting[0].get_loop() is not loop:
            self._waiting.clear()  # they belong to a loop that has ended
        if not self._waiting:
            loop.call_soon(self._give)
        turn = loop.create_future()
        self._waiting.append(turn)
        await turn

    def _give(self) -> None:
        woken = 0
        while self._waiting and woken < self._at_once:
            turn = self._waiting.popleft()
            if not turn.done():  # it was cancelled
                turn.set_result(None)
                woken += 1
        if self._waiting:
            asyncio.get_running_loop().call_soon(self._give)
