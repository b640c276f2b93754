"""Long work of tasks in slices: a few milliseconds per iteration of the event loop."""

from __future__ import annotations

import asyncio
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
