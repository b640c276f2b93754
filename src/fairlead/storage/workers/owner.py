"""The owner's side: serves the log to the processes that follow it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Protocol

from fairlead.storage.backend import (
    Compacted,
    ConditionFailed,
    Conflict,
    Precondition,
    Row,
    Slice,
    Step,
    Write,
)
from fairlead.storage.collection import Collection
from fairlead.storage.version import Version, encoded_of
from fairlead.storage.workers.calls import NOTIFICATION, PART, RpcServer
from fairlead.storage.workers.channel import Channel, framed
from fairlead.storage.workers.page import Page

_BYTES_PER_BATCH = 1 << 20
_ROWS_PER_BATCH = 1000


class History(Protocol):
    """The part of the log that is read without the store."""

    async def feed(self, after: int, upto: int) -> list[Row]:
        """As `Backend.feed`."""

    async def changes(self, resource: str, after: int, upto: int, key: str = "") -> list[Step]: ...

    async def state(
        self, resource: str, revision: int, after: str, below: str | None, limit: int
    ) -> Slice: ...

    @property
    def seals(self) -> bool: ...

    async def is_stale(self, resource: str, key: str, revision: int) -> bool: ...

    def size(self) -> int: ...


class Owner(Protocol):
    """The store of the process that owns the log."""

    @property
    def revision(self) -> int: ...

    @property
    def floor(self) -> int: ...

    @property
    def healthy(self) -> bool: ...

    def collections(self) -> list[Collection]: ...

    async def append(self, group: Sequence[Write]) -> list[int]:
        """Commit all of these writes or none."""


class Sharing:
    """Sends every commit to the followers, in order, and answers their calls. `committed` must be
    called with the rows of each commit before its writers are acknowledged."""

    def __init__(self, page: Page, server: RpcServer, log: History) -> None:
        self._page = page
        self._log = log
        self._live: set[Channel] = set()  # followers with all commits up to the page's revision
        self._store: Owner
        server.on_lost.append(self._live.discard)
        server.handlers |= {
            "snapshot": self._snapshot,
            "feed": self._feed,
            "write": self._write,
            "changes": self._changes,
            "state": self._state,
            "stale": self._is_stale,
            "size": self._size,
        }

    def begin(self, store: Owner) -> None:
        """Publish the state of the open store on the shared page, before it is used."""
        self._store = store
        self._page.set_floor(store.floor)
        self.publish_health()
        self._page.set_revision(store.revision)
        self._page.set_encrypts(self._log.seals)

    def committed(self, rows: Sequence[Row]) -> None:
        if not rows:
            return
        self._page.set_revision(rows[-1].revision)
        if not self._live:
            return
        for batch in _batches(rows):
            frame = framed((NOTIFICATION, PART, batch[-1][0], batch))
            for channel in self._live:
                channel.send_frame(frame)

    def publish_health(self) -> None:
        self._page.set_healthy(self._store.healthy)

    def compacted(self, floor: int) -> None:
        self._page.set_floor(floor)

    async def _snapshot(self, channel: Channel, number: int) -> int:
        store = self._store
        revision = store.revision
        heads = [
            (collection.resource, version)
            for collection in store.collections()
            for version in collection.heads.values()
            if version.body is not None
        ]
        for batch in _batches(_row(resource, version) for resource, version in heads):
            channel.send((number, PART, batch))
            await channel.drain()
        return revision

    async def _feed(self, channel: Channel, number: int, after: int) -> None:
        """Send older rows from the disk, then add the channel to those that get new commits."""
        self._live.discard(channel)
        if after > self._page.revision:
            raise Compacted(after)  # it followed a state that was lost: rebuild
        while after < self._page.revision:
            upto = self._page.revision
            rows = await self._log.feed(after, upto)
            after = rows[-1].revision if rows else upto
            for batch in _batches(rows):
                channel.send((NOTIFICATION, PART, batch[-1][0], batch))
            await channel.drain()
        if channel.is_open:
            channel.send((NOTIFICATION, PART, after, []))  # end of the backlog, even an empty one
            self._live.add(channel)

    async def _write(self, channel: Channel, number: int, group: list[tuple[Any, ...]]) -> Any:
        writes = [_write(*fields) for fields in group]
        try:
            return await self._store.append(writes)
        except (Conflict, ConditionFailed) as error:
            error.visible_at = self._page.revision
            raise

    async def _changes(
        self, channel: Channel, number: int, resource: str, after: int, upto: int, key: str = ""
    ) -> Any:
        steps = await self._log.changes(resource, after, upto, key)
        return [
            (tuple(step.row), tuple(step.before) if step.before is not None else None)
            for step in steps
        ]

    async def _state(
        self,
        channel: Channel,
        number: int,
        resource: str,
        revision: int,
        after: str,
        below: str | None,
        limit: int,
    ) -> Any:
        rows, more = await self._log.state(resource, revision, after, below, limit)
        return list(map(tuple, rows)), more

    async def _is_stale(
        self, channel: Channel, number: int, resource: str, key: str, revision: int
    ) -> bool:
        return await self._log.is_stale(resource, key, revision)

    async def _size(self, channel: Channel, number: int) -> int:
        await asyncio.sleep(0)
        return self._log.size()


def _write(
    resource: str,
    key: str,
    api_version: str,
    value: bytes | None,
    expected: int,
    requires: list[tuple[str, str, int | None]],
) -> Write:
    conditions = [Precondition(*condition) for condition in requires]
    return Write(resource, key, api_version, value, expected, conditions)


def _row(resource: str, version: Version) -> Row:
    assert version.body is not None
    value = encoded_of(version.body)
    return Row(version.revision, resource, version.key, 0, version.api_version, value)


def _batches(rows: Iterable[Row]) -> Iterator[list[tuple[Any, ...]]]:
    """Yield rows as tuples in batches of bounded size."""
    batch: list[tuple[Any, ...]] = []
    batch_bytes = 0
    for row in rows:
        batch.append(tuple(row))
        batch_bytes += len(row.value or b"")
        if batch_bytes > _BYTES_PER_BATCH or len(batch) >= _ROWS_PER_BATCH:
            yield batch
            batch, batch_bytes = [], 0
    if batch:
        yield batch
