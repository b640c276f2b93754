"""Handing changes out behind the writers' answers, and waiting for a revision."""

from __future__ import annotations

import asyncio
import logging

from sortedcontainers import SortedList

from fairlead.storage.change import Change
from fairlead.storage.collection import Collection
from fairlead.storage.metrics import FEED_LAG
from fairlead.storage.watcher import Watcher

logger = logging.getLogger("fairlead.storage")

Delivered = tuple[Collection, Change]
Waiter = tuple[int, int, asyncio.Future[bool]]  # a revision, a number of its own, its answer

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
        loop = asyncio.get_running_loop()
        try:
            self._hand_out(turn)
            if turn:
                FEED_LAG.observe(loop.time() - self._committed_at)
        finally:
            self._delivering = bool(self._undelivered)
            if self._delivering:
                loop.call_soon(self._deliver)

    def _hand_out(self, turn: list[Delivered]) -> None:
        alone = len(turn) == 1
        for collection, change in turn:
            try:
                collection.publish(change, alone=alone)
            except Exception as error:
                logger.exception("cannot tell of %s %s", change.resource, change.key)
                for watcher in tuple(collection.audience):  # some have missed the change
                    watcher.fail(error)
        for watcher in tuple(self.everywhere):
            for _, change in turn:
                watcher.deliver(change.kind, change)

    def all(self) -> None:
        """Hand out everything now."""
        while self._undelivered:
            self._deliver()


class Reaching:
    """Those who wait for a revision, in the order of revisions."""

    def __init__(self) -> None:
        self.waiting: SortedList[Waiter] = SortedList()
        self._count = 0  # numbers the waiters, so that their futures are never compared

    async def wait(self, revision: int, timeout: float) -> bool:
        loop = asyncio.get_running_loop()
        reached: asyncio.Future[bool] = loop.create_future()
        self._count += 1
        waiter = revision, self._count, reached
        self.waiting.add(waiter)
        timer = loop.call_later(timeout, _answer, reached, False)
        try:
            return await reached
        finally:
            timer.cancel()
            self.waiting.discard(waiter)  # also when its time is up, or its request is gone

    def announce(self, reached: int) -> None:
        waiting = self.waiting
        while waiting and waiting[0][0] <= reached:
            _answer(waiting.pop(0)[2], True)


def _answer(future: asyncio.Future[bool], answer: bool) -> None:
    if not future.done():
        future.set_result(answer)
