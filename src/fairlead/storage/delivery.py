"""Handing changes out behind the writers' answers, and waiting for a revision."""

from __future__ import annotations

import asyncio
from heapq import heappop, heappush

from fairlead.storage.change import Change
from fairlead.storage.collection import Collection
from fairlead.storage.counts import FEED_LAG
from fairlead.storage.watcher import Watcher

Delivered = tuple[Collection, Change]

_CHANGES_A_TURN = 500  # handed out before other work of the loop gets its turn


class Delivery:
    """Tells followers that are not essential, and watchers, of what was taken in."""

    def __init__(self) -> None:
        self.everywhere: list[Watcher] = []  # who watch all resources
        self._undelivered: list[Delivered] = []
        self._delivering = False
        self._committed_at = 0.0  # the first of what is undelivered

    def told(self, revision: int) -> int:
        """Up to where everything was told, if a revision is the newest that was taken in."""
        return self._undelivered[0][1].revision - 1 if self._undelivered else revision

    def later(self, changes: list[Delivered]) -> None:
        """Behind the tasks of the writers, which were woken before this."""
        self._undelivered += changes
        if changes and not self._delivering:
            loop = asyncio.get_running_loop()
            self._delivering, self._committed_at = True, loop.time()
            loop.call_soon(self._deliver)

    def _deliver(self) -> None:
        turn, self._undelivered = self._undelivered, []
        if len(turn) > _CHANGES_A_TURN:
            turn, self._undelivered = turn[:_CHANGES_A_TURN], turn[_CHANGES_A_TURN:]
        alone = len(turn) == 1
        for collection, change in turn:
            collection.publish(change, alone=alone)
        for watcher in tuple(self.everywhere):
            for _, change in turn:
                watcher.deliver(change.kind, change)
        loop = asyncio.get_running_loop()
        if turn:
            FEED_LAG.observe(loop.time() - self._committed_at)
        self._delivering = bool(self._undelivered)
        if self._delivering:
            loop.call_soon(self._deliver)

    def all(self) -> None:
        """Hand out everything now."""
        while self._undelivered:
            self._deliver()


class Reaching:
    """Those who wait for a revision."""

    def __init__(self) -> None:
        self.waiting: list[tuple[int, int, asyncio.Future[bool]]] = []  # a heap
        self._count = 0  # tells those apart who wait for the same one

    async def wait(self, revision: int, timeout: float) -> bool:
        loop = asyncio.get_running_loop()
        reached: asyncio.Future[bool] = loop.create_future()
        self._count += 1
        heappush(self.waiting, (revision, self._count, reached))
        timer = loop.call_later(timeout, _answer, reached, False)
        try:
            return await reached
        finally:
            timer.cancel()

    def announce(self, reached: int) -> None:
        waiting = self.waiting
        while waiting and waiting[0][0] <= reached:
            _answer(heappop(waiting)[2], True)


def _answer(future: asyncio.Future[bool], answer: bool) -> None:
    if not future.done():
        future.set_result(answer)
