"""The store that a server works with: writes go to the log, reads come from the watch cache."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from typing import Any

from fairlead.storage.collection import Collection
from fairlead.storage.entry import Entry, body_of, encode
from fairlead.storage.log import Log, Record, StorageError
from fairlead.storage.watcher import Watcher
from fairlead.storage.writer import Writer

logger = logging.getLogger("fairlead.storage")

_SEPARATOR = ":"  # between prefix and key on disk; no prefix holds one


class Conflict(Exception):
    """The key moved on: its revision is no longer the expected one."""


class Compacted(Exception):
    """The revision asked for is older than the kept history."""


class Store:
    """All collections at one revision. Lives on the event loop.

    A write is checked against the newest version of its key, committed or still on its way to the
    disk, gets its revision at once and is acknowledged after its commit. Reads see commits only.
    """

    def __init__(self, log: Log, *, retention: float = 300.0) -> None:
        self._log = log
        self._writer = Writer(log)
        self._retention = retention
        self._collections: dict[str, Collection] = {}
        self._pending: dict[tuple[str, str], Entry] = {}
        self._next_revision = 1
        self._marks: deque[tuple[float, int]] = deque()
        self._superseded: list[int] = []
        self._reached: list[tuple[int, asyncio.Future[None]]] = []
        self.revision = 0
        self.floor = 0
        self.healthy = True

    def collection(self, prefix: str) -> Collection:
        found = self._collections.get(prefix)
        if found is None:
            found = self._collections[prefix] = Collection(prefix)
        return found

    def collections(self) -> list[Collection]:
        return list(self._collections.values())

    async def open(self) -> None:
        """Load the log and start to write; raises StorageError."""
        self.floor = self._log.open()
        try:
            for record in self._log.records():
                self._load(record)
        except StorageError:
            self._log.close()
            raise
        self._next_revision = self.revision + 1
        self._writer.start()
        self._marks.append((asyncio.get_running_loop().time(), self.revision))

    def _load(self, record: Record) -> None:
        self.revision = max(self.revision, record.revision)
        if not record.key:
            return
        prefix, _, key = record.key.partition(_SEPARATOR)
        collection = self.collection(prefix)
        body = body_of(record.value, record.revision) if record.value is not None else None
        entry = Entry(key, record.revision, body, collection.head(key), collection.fields_of)
        collection.add(entry, to_history=record.revision > self.floor)

    def end_watches(self) -> None:
        """Let every watcher finish with what it already has."""
        for collection in self.collections():
            for watcher in list(collection.watchers()):
                watcher.close()

    async def close(self) -> None:
        self.end_watches()
        await self._writer.stop()
        self._log.close()

    def latest(self, collection: Collection, key: str) -> Entry | None:
        """The newest live version of a key, including one that is not committed yet."""
        head = self._newest(collection, key)
        return head if head is not None and head.body is not None else None

    def _newest(self, collection: Collection, key: str) -> Entry | None:
        return self._pending.get((collection.prefix, key)) or collection.head(key)

    async def put(
        self, collection: Collection, key: str, value: dict[str, Any], expected: int
    ) -> Entry:
        """Write an object (see `entry.encode` for its form) over the version `expected`, 0 for
        none. Returns after the commit; raises Conflict."""
        return await self._write(collection, key, value, expected)

    async def delete(self, collection: Collection, key: str, expected: int) -> Entry:
        return await self._write(collection, key, None, expected)

    async def _write(
        self, collection: Collection, key: str, value: dict[str, Any] | None, expected: int
    ) -> Entry:
        previous = self._newest(collection, key)
        current = previous.revision if previous is not None and previous.body is not None else 0
        if current != expected:
            raise Conflict(key)
        encoded = encode(value) if value is not None else None
        revision = self._next_revision
        self._next_revision += 1
        body = body_of(encoded, revision) if encoded is not None else None
        entry = Entry(key, revision, body, previous, collection.fields_of)
        if value is not None:
            entry.know(value)
        self._pending[(collection.prefix, key)] = entry
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        entry.commit = future

        def done(error: StorageError | None) -> None:
            entry.commit = None
            self._settle(collection, entry, error)
            if not future.done():
                future.set_result(None) if error is None else future.set_exception(error)

        self._writer.write(Record(revision, f"{collection.prefix}{_SEPARATOR}{key}", encoded), done)
        await future
        return entry

    async def settled(self, entry: Entry) -> None:
        """Wait until a version that `latest` gave is on disk; raises StorageError if it never
        gets there. Whoever tells a client about a version must have waited for it."""
        if entry.commit is not None:
            await asyncio.shield(entry.commit)

    def _settle(self, collection: Collection, entry: Entry, error: StorageError | None) -> None:
        """A write reached the disk (or did not): the cache and the watchers follow."""
        pending_key = (collection.prefix, entry.key)
        self.healthy = error is None
        if error is not None:
            self._pending.pop(pending_key, None)
            return
        if self._pending.get(pending_key) is entry:
            del self._pending[pending_key]
        collection.add(entry)
        self.revision = entry.revision
        collection.publish(entry)
        if self._reached:
            self._announce()

    def _announce(self) -> None:
        waiting, self._reached = self._reached, []
        for revision, future in waiting:
            if future.done():
                continue
            if revision <= self.revision:
                future.set_result(None)
            else:
                self._reached.append((revision, future))

    async def wait_for(self, revision: int, timeout: float) -> bool:
        """Wait until the cache is at least this new; False when the time is up."""
        if revision <= self.revision:
            return True
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._reached.append((revision, future))
        try:
            await asyncio.wait_for(future, timeout)
        except TimeoutError:
            return False
        return True

    def check_kept(self, revision: int) -> None:
        """Raise Compacted if the state at a revision can no longer be told."""
        if revision < self.floor:
            raise Compacted(revision)

    def watch(self, collection: Collection, watcher: Watcher) -> list[Entry]:
        """Register a watcher; gives the changes after its revision that were already made."""
        self.check_kept(watcher.after)
        collection.watch(watcher)
        return collection.events_after(watcher.after)

    async def keep_compacting(self) -> None:
        """Forget what is older than the retention, for ever."""
        interval = max(min(self._retention / 10, 10.0), 0.05)
        while True:
            await asyncio.sleep(interval)
            now = asyncio.get_running_loop().time()
            self._marks.append((now, self.revision))
            floor = self.floor
            while self._marks and self._marks[0][0] <= now - self._retention:
                floor = self._marks.popleft()[1]
            if floor > self.floor or self._superseded:
                try:
                    await self.compact(max(floor, self.floor))
                except StorageError:
                    logger.exception("cannot compact the store; the next round tries again")

    async def compact(self, floor: int) -> None:
        """Forget history up to a revision. What the log could not drop stays to be dropped."""
        self.floor = floor
        for collection in self.collections():
            self._superseded += collection.forget(floor)
        superseded = list(self._superseded)
        await self._writer.run(lambda: self._log.compact(floor, superseded))
        del self._superseded[: len(superseded)]

    def size(self) -> int:
        return self._log.size()
