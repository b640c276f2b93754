"""Turns on the event loop: long work is done in pieces, and whoever came meanwhile goes first.

Seats bound how many requests are under way, but all of them share one thread: while a list is put
together nothing else is. So the pieces of large answers take turns, and after a few of them the
loop goes around often enough for what has arrived to be read and answered.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict, deque
from collections.abc import Hashable

WHOLE = 4  # pieces that are done in one go while nobody else asks for anything

_Turn = tuple[asyncio.Future[None], int]


class Turns:
    """Flows have their turns one after the other, however many requests each of them has.
    `others` is for the caller to raise with each request that takes no turns."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.others = 0
        self._loop = loop
        self._waiting: OrderedDict[Hashable, deque[_Turn]] = OrderedDict()
        self._resting = False  # somebody had a turn, and the loop has not gone around since
        self._left = 0  # pieces that may be done before it goes around
        self._seen = 0  # of the others

    async def wait(self, flow: Hashable, pieces: int) -> None:
        """Returns when the next piece of work of a flow may be done, or so many at once."""
        if pieces <= self._left:
            self._left -= pieces
        elif not self._resting:
            self._begin(pieces)
        else:
            turn = self._loop.create_future()
            self._waiting.setdefault(flow, deque()).append((turn, pieces))
            await turn

    def _begin(self, pieces: int) -> None:
        """What arrives while a piece of work is done is read at the end of that round and answered
        in the next one; the next turn may begin in the one after."""
        self._left = WHOLE - pieces if self._seen == self.others else 0
        self._seen = self.others
        self._resting = True
        self._loop.call_soon(self._go_round)

    def _go_round(self) -> None:
        self._loop.call_soon(self._next)

    def _next(self) -> None:
        self._left = 0
        self._resting = False
        waiting = self._waiting
        while waiting:
            flow, turns = waiting.popitem(last=False)
            turn, pieces = turns.popleft()
            if turns:
                waiting[flow] = turns
            if not turn.done():  # whoever waited may have been cut off
                turn.set_result(None)
                self._begin(pieces)
                return
