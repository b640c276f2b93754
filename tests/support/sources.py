"""A source in memory that several stores of one process follow, with injectable faults."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing

from fairlead.storage.backend import (
    Compacted,
    ConditionFailed,
    Conflict,
    Fault,
    Precondition,
    Row,
    Slice,
    Step,
    StorageError,
    Write,
)
from fairlead.storage.log import Reached, Snapshot, Source
from support.backends import MemoryBackend

AWAY = StorageError("the other side is away", Fault.PASSING)


class Shared:
    """The shared state behind all sources. `away` makes everything fail; clearing `moving` holds
    back the feeds."""

    def __init__(self) -> None:
        self.kept = MemoryBackend()
        self.away = False
        self.moving = asyncio.Event()
        self.moving.set()
        self.calls = 0
        self.wrote = 0
        self._changed = asyncio.Event()

    def tell(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()

    async def changed(self) -> None:
        await self._changed.wait()

    def cut(self) -> None:
        """Drop all connections; they may be opened again."""
        self.away = True
        self.tell()

    def back(self) -> None:
        self.away = False


class MemorySource:
    """One store's connection to the shared state; clearing `sending` blocks its writes."""

    has_epoch = False

    def __init__(self, shared: Shared) -> None:
        self.sending = asyncio.Event()
        self.sending.set()
        self._shared = shared
        self._kept = shared.kept

    @property
    def floor(self) -> int:
        return self._kept.floor

    def _check(self) -> None:
        if self._shared.away:
            raise AWAY

    async def open(self) -> None:
        self._check()

    async def close(self) -> None:
        pass

    async def snapshot(self) -> Snapshot:
        self._check()
        return Snapshot(self._kept.revision, list(self._kept.heads()))

    async def feed(self, after: int) -> AsyncIterator[Reached]:
        while True:
            self._check()
            if after < self._kept.floor:
                raise Compacted(after)
            await self._shared.moving.wait()
            rows = [row for row in self._kept.rows if row.revision > after]
            after = self._kept.revision
            yield Reached(after, rows)
            if after == self._kept.revision and not self._shared.away:
                await self._shared.changed()

    def newest(self) -> int | None:
        return None

    async def fetch_newest(self) -> int:
        self._shared.calls += 1
        await asyncio.sleep(0)
        self._check()
        return self._kept.revision

    async def write(self, group: Sequence[Write]) -> list[int]:
        self._check()
        self._shared.wrote += 1
        await asyncio.sleep(0)
        await self.sending.wait()
        kept = self._kept
        try:
            for write in group:
                self._compare(write, of=group[0])
        except (Conflict, ConditionFailed) as refusal:
            refusal.visible_at = kept.revision
            raise
        results = []
        for write in group:
            kept.revision += 1
            results.append(kept.revision)
            current = self._revision(write.resource, write.key)
            kept.rows.append(
                Row(
                    kept.revision,
                    write.resource,
                    write.key,
                    current,
                    write.api_version,
                    write.value,
                )
            )
        self._shared.tell()
        return results

    def _compare(self, write: Write, of: Write) -> None:
        expected = write.expected_revision()
        if expected != self._revision(write.resource, write.key):
            if write is of:
                raise Conflict(write.key)
            raise ConditionFailed(Precondition(write.resource, write.key, expected))
        for condition in write.requires:
            if not condition.holds(self._revision(condition.resource, condition.key)):
                raise ConditionFailed(condition)

    def _revision(self, resource: str, key: str) -> int:
        for row in self._kept.heads():
            if (row.resource, row.key) == (resource, key):
                return row.revision
        return 0

    async def changes(self, resource: str, after: int, upto: int, key: str = "") -> list[Step]:
        self._check()
        return self._kept.changes(resource, after, upto, key)

    async def is_stale(self, resource: str, key: str, revision: int) -> bool:
        return False

    async def state(
        self, resource: str, revision: int, after: str, below: str | None, limit: int
    ) -> Slice:
        self._check()
        return self._kept.state(resource, revision, after, below, limit)

    async def compact(self, floor: int) -> None:
        self._check()
        self._kept.compact(floor)

    async def size(self) -> int:
        return self._kept.size()


def closing_feed(source: Source, after: int) -> aclosing[AsyncGenerator[Reached, None]]:
    """The feed of a source, to be closed at the end of an `async with`."""
    feed = source.feed(after)
    assert isinstance(feed, AsyncGenerator)
    return aclosing(feed)
