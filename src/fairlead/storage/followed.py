"""The log of a source that others write to as well: the cache follows what all of them write."""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Callable, Iterator, Sequence

from fairlead.storage.backend import (
    Compacted,
    ConditionFailed,
    Conflict,
    Fault,
    Slice,
    Step,
    StorageError,
    Write,
)
from fairlead.storage.counts import FEED_RESTARTS
from fairlead.storage.log import Cache, storage_error
from fairlead.storage.pending import Pending
from fairlead.storage.source import Source

logger = logging.getLogger("fairlead.storage")

_FIRST_PAUSE, _LONGEST_PAUSE = 0.05, 2.0
_LONGEST_WAIT = 30.0  # for the feed to come to a revision that the other side has given out
_SIZE_EVERY = 30.0


def _ignore(message: str) -> None:
    """A source that fails is waited for: nothing is lost with this process."""


class FollowedLog:
    """Keeps a cache current from a source's feed, and answers writers when the cache has what they
    wrote: so whoever reads afterwards sees it, and in the order in which it happened."""

    alone = False

    def __init__(self, source: Source) -> None:
        self.on_fatal: Callable[[str], None] = _ignore
        self.healthy = False
        self._source = source
        self._cache: Cache
        self._following: asyncio.Task[None] | None = None
        self._measuring: asyncio.Task[None] | None = None
        self._writing: dict[Write, asyncio.Task[None]] = {}
        self._asking: asyncio.Task[int] | None = None
        self._asking_next: asyncio.Task[int] | None = None
        self._closed = False
        self._size = 0

    @property
    def floor(self) -> int:
        return self._source.floor

    async def open(self, cache: Cache) -> None:
        self._cache = cache
        await self._source.open()
        try:
            revision, rows = await self._source.snapshot()
        except BaseException:
            await self._source.close()
            raise
        cache.load(rows, revision, max(self._source.floor, 0))
        self.healthy = True
        self._following = asyncio.create_task(self._follow())
        self._measuring = asyncio.create_task(self._measure())

    async def _follow(self) -> None:
        pause = _FIRST_PAUSE
        while True:
            begun = self._cache.revision
            try:
                await self._take_feed()
            except Compacted:
                await self._rebuild()
            except Exception as raised:
                self._lost(storage_error(raised))
            FEED_RESTARTS.add()
            pause = _FIRST_PAUSE if self._cache.revision > begun else min(pause * 2, _LONGEST_PAUSE)
            await asyncio.sleep(pause * (0.5 + random.random()))

    async def _take_feed(self) -> None:
        async for revision, rows in self._source.feed(self._cache.revision):
            if not self.healthy:
                logger.warning("the store is followed again, at revision %d", revision)
                self.healthy = True
            self._cache.followed(rows, revision)

    def _lost(self, error: StorageError) -> None:
        if self.healthy:
            logger.error("the store is not followed: %s", error)
        self.healthy = False

    async def _rebuild(self) -> None:
        try:
            revision, rows = await self._source.snapshot()
        except Exception as raised:
            self._lost(storage_error(raised))
            return
        logger.warning("what happened up to revision %d is not known; lists begin anew", revision)
        self._cache.rebuild(rows, revision)

    def write(self, pending: Pending) -> None:
        self.write_together((pending,))

    def write_together(self, group: Sequence[Pending]) -> None:
        if self._closed:
            raise StorageError("the server is shutting down", Fault.PASSING)
        # Looked up now: what these build upon is let go when it is done.
        earlier = [self._writing[one] for one in _earlier(group) if one in self._writing]
        task = asyncio.get_running_loop().create_task(self._write(group, earlier))
        for pending in group:
            self._writing[pending.write] = task

    async def _write(self, group: Sequence[Pending], earlier: list[asyncio.Task[None]]) -> None:
        writes = [pending.write for pending in group]
        try:
            if earlier:
                await asyncio.wait(earlier)
            if any(write.expected_revision() is None for write in writes):
                raise Conflict(writes[0].key)
            revisions = await self._source.write(writes)
            for write, revision in zip(writes, revisions, strict=True):
                write.revision = revision
            await self._reach(max(revisions))
            self._cache.answered(group, revisions)
        except (Conflict, ConditionFailed) as refusal:
            await self._refuse(group, refusal)
        except Exception as raised:
            self._cache.refused(group, storage_error(raised))
        finally:
            for write in writes:
                del self._writing[write]

    async def _refuse(self, group: Sequence[Pending], refusal: Conflict | ConditionFailed) -> None:
        """Whoever tries again must see why it was refused."""
        try:
            await self._reach(refusal.at)
        except StorageError as error:
            self._cache.refused(group, error)
        else:
            self._cache.refused(group, refusal)

    async def _reach(self, revision: int) -> None:
        if revision > self._cache.revision and not await self._cache.wait_for(
            revision, _LONGEST_WAIT
        ):
            raise StorageError("the store is not followed at present", Fault.PASSING)

    async def catch_up(self) -> None:
        newest = self._source.newest()
        if newest is None:
            newest = await self._ask()
        await self._reach(newest)

    async def _ask(self) -> int:
        """What was asked before this call is no answer to it; all who come while that is under way
        share the next question."""
        asking = self._asking_next
        if asking is None:
            under_way = self._asking
            asking = asyncio.get_running_loop().create_task(self._ask_after(under_way))
            if under_way is None:
                self._asking = asking
            else:
                self._asking_next = asking
        return await asyncio.shield(asking)

    async def _ask_after(self, under_way: asyncio.Task[int] | None) -> int:
        if under_way is not None:
            await asyncio.wait((under_way,))
            self._asking, self._asking_next = self._asking_next, None
        try:
            return await self._source.ask_newest()
        finally:
            if self._asking_next is None:
                self._asking = None

    async def changes(self, resource: str, after: int, upto: int) -> list[Step]:
        return await self._source.changes(resource, after, upto)

    async def state(
        self, resource: str, revision: int, after: str, below: str | None, limit: int
    ) -> Slice:
        return await self._source.state(resource, revision, after, below, limit)

    async def compact(self, floor: int) -> None:
        await self._source.compact(floor)

    def give_up(self, message: str) -> None:
        self.healthy = False
        self.on_fatal(message)

    def size(self) -> int:
        return self._size

    async def _measure(self) -> None:
        while True:
            try:
                self._size = await self._source.size()
            except StorageError as error:
                logger.debug("the size of the store is not known: %s", error)
            await asyncio.sleep(_SIZE_EVERY)

    async def flush(self) -> None:
        self._closed = True
        while self._writing:
            await asyncio.wait(set(self._writing.values()))

    async def close(self) -> None:
        for task in (self._following, self._measuring):
            if task is not None:
                task.cancel()
        await self._source.close()


def _earlier(group: Sequence[Pending]) -> Iterator[Write]:
    """The writes that must have ended before these can be sent."""
    for pending in group:
        write = pending.write
        for found in (write.expected, *(one.revision for one in write.requires)):
            if isinstance(found, Write):
                yield found
