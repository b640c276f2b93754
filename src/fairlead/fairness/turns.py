"""Turns on the event loop: long work is done in pieces, and whoever came meanwhile goes first.

Seats bound how many requests are under way, but all of them share one thread: while a list is put
together nothing else is. So the pieces of large answers take turns, one at a time, and after each
the loop goes around often enough for what has arrived to be read and answered.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict, deque
from collections.abc import Hashable


class Turns:
    """Flows have their turns one after the other, however many requests each of them has."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._waiting: OrderedDict[Hashable, deque[asyncio.Future[None]]] = OrderedDict()
        self._resting = False  # somebody had a turn, and the loop has not gone around since

    async def wait(self, flow: Hashable) -> None:
        """Returns when the next piece of work of a flow may be done."""
        if not self._resting:
            self._rest()
            return
        turn = self._loop.create_future()
        self._waiting.setdefault(flow, deque()).append(turn)
        await turn

    def _rest(self) -> None:
        """What arrives while a piece of work is done is read at the end of that round and answered
        in the next one; the next piece may begin in the one after."""
        self._resting = True
        self._loop.call_soon(self._go_round)

    def _go_round(self) -> None:
        self._loop.call_soon(self._next)

    def _next(self) -> None:
        self._resting = False
        waiting = self._waiting
        while waiting:
            flow, turns = waiting.popitem(last=False)
            turn = turns.popleft()
            if turns:
                waiting[flow] = turns
            if not turn.done():  # whoever waited may have been cut off
                turn.set_result(None)
                self._rest()
                return
