"""Work that need not wait for anything lets others have their turn."""

from __future__ import annotations

import asyncio
from time import perf_counter

_SECONDS = 0.004  # of work between two rounds of the event loop


class Pace:
    """Shared by all who work on one event loop: together they do a few milliseconds of work a
    round, however many of them there are and however much waits for them."""

    def __init__(self) -> None:
        self._end: float | None = None  # of what may be done in this round

    async def keep(self) -> None:
        """Returns when there is time for a piece of work."""
        while True:
            if self._end is None:
                self._end = perf_counter() + _SECONDS
                asyncio.get_running_loop().call_soon(self._next_round)
                return
            if perf_counter() < self._end:
                return
            await asyncio.sleep(0)

    def _next_round(self) -> None:
        self._end = None
