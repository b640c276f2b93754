"""Limits how many tasks go on in one iteration of the event loop."""

from __future__ import annotations

import asyncio
from collections import deque


class Turns:
    """Lets `at_once` tasks go on in each iteration of the event loop, first come, first served."""

    def __init__(self, at_once: int) -> None:
        self._at_once = at_once
        self._waiting: deque[asyncio.Future[None]] = deque()

    async def take(self) -> None:
        """Wait for a turn: one iteration, or longer if many wait."""
        loop = asyncio.get_running_loop()
        if self._waiting and self._waiting[0].get_loop() is not loop:
            self._waiting.clear()  # of a loop that has ended
        if not self._waiting:
            loop.call_soon(self._give)
        turn = loop.create_future()
        self._waiting.append(turn)
        await turn

    def _give(self) -> None:
        given = 0
        while self._waiting and given < self._at_once:
            turn = self._waiting.popleft()
            if not turn.done():  # it was cancelled
                turn.set_result(None)
                given += 1
        if self._waiting:
            asyncio.get_running_loop().call_soon(self._give)
