"""The store that a server works with: writes go to the backend, reads come from the watch cache."""

from __future__ import annotations

import asyncio
import logging
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Sequence
from operator import attrgetter
from typing import Any

from fairlead.storage.backend import (
    Backend,
    Compacted,
    ConditionFailed,
    Conflict,
    Fault,
    Outcome,
    Precondition,
    StorageError,
    Write,
)
from fairlead.storage.change import Change, existing
from fairlead.storage.collection import Collection, Page
from fairlead.storage.counts import FEED_LAG, REFUSED
from fairlead.storage.followers import FollowerFailed, Listener
from fairlead.storage.health import Health
from fairlead.storage.history import History
from fairlead.storage.past import Past
from fairlead.storage.selection import Selection
from fairlead.storage.version import Version, body_of, encode
from fairlead.storage.watcher import Watcher
from fairlead.storage.writer import Pending, Writer

logger = logging.getLogger("fairlead.storage")

_HEAD = attrgetter("resource", "key", "revision", "api_version", "value")
_CHANGES_A_TURN = 500  # handed out before other work of the loop gets its turn


class Companion:
    """A change of another object that goes with a write: if that is refused, so is this. `version`
    is what it became when it was written."""

    __slots__ = ("collection", "over", "value", "version")

    def __init__(self, collection: Collection, value: dict[str, Any], over: Version) -> None:
        self.collection = collection
        self.value = value
        self.over = over
        self.version: Version | None = None


class Store:
    """All collections at one revision: the cache over one backend. Lives on the event loop.

    A write is checked against the newest version of its key, committed or still on its way to the
    disk, and is acknowledged after its commit. Reads see commits only. The revision of a version
    that is not committed yet is foreseen here and given by the backend.

    `on_fatal` is called when the process must stop, with what to tell.
    """

    def __init__(
        self,
        backend: Backend,
        *,
        retention: float = 300.0,
        history_memory: int = 64 << 20,
        history_bytes: int = 2 << 30,
    ) -> None:
        self._backend = backend
        self._writer = Writer(backend, self)
        self._past = Past(backend)
        self._health = Health(backend, self._writer)
        self._history = History(retention, history_memory, history_bytes)
        self._collections: dict[str, Collection] = {}
        self._next_revision = 1
        self._reached: list[tuple[int, asyncio.Future[None]]] = []
        self._undelivered: list[tuple[Collection, Change]] = []
        self._delivering = False
        self._committed_at = 0.0  # the first of what is undelivered
        self._unswept = False
        self._checking: asyncio.Task[None] | None = None
        self.revision = 0
        self.floor = 0

    @property
    def healthy(self) -> bool:
        return self._health.healthy

    @property
    def on_fatal(self) -> Callable[[str], None]:
        return self._health.on_fatal

    @on_fatal.setter
    def on_fatal(self, call: Callable[[str], None]) -> None:
        self._health.on_fatal = call

    @property
    def told(self) -> int:
        """The revision up to which watchers have heard of everything."""
        return self._undelivered[0][1].revision - 1 if self._undelivered else self.revision

    @property
    def next_revision(self) -> int:
        """What the next write is foreseen to get: all that are under way have lower ones."""
        return self._next_revision

    def collection(self, resource: str) -> Collection:
        found = self._collections.get(resource)
        if found is None:
            found = self._collections[resource] = Collection(resource, self._history.floor)
        return found

    def collections(self) -> list[Collection]:
        return list(self._collections.values())

    def forget(self, resource: str) -> None:
        """The resource is no longer served: its watches end and nobody follows it, once they have
        heard of what is committed. Objects that are left stay, for when it is served again."""
        collection = self._collections.get(resource)
        if collection is None:
            return
        self._deliver_all()
        collection.forget_readers()
        if not len(collection) and not collection.pending:
            del self._collections[resource]

    async def open(self) -> None:
        """Load what the backend keeps and start to write; raises StorageError."""
        self._backend.open()
        try:
            self._load()
            self._writer.start()
            await self._health.begin()
        except StorageError:
            self._backend.close()
            raise
        self._checking = asyncio.create_task(self._check())

    async def _check(self) -> None:
        """Look for damage beside the work: that would hold up the start of a large store."""
        try:
            await self._past.read(self._backend.check)
        except StorageError as error:
            if error.fault is Fault.PASSING:
                logger.error("%s", error)
            else:
                self._health.give_up(str(error))

    def _load(self) -> None:
        found: dict[Collection, list[Version]] = defaultdict(list)
        for resource, key, revision, api_version, value in map(_HEAD, self._backend.heads()):
            collection = self.collection(resource)
            body = body_of(value or b"", revision)
            version = Version(key, revision, api_version, body, collection.fields_of)
            found[collection].append(version)
        self.revision = self._backend.revision
        self.floor = self._backend.floor
        self._next_revision = self.revision + 1
        for collection, versions in found.items():
            collection.load(versions)
        # What came before is read from the backend; memory keeps what happens from now on.
        self._history.begin(self.revision, self._backend.size() - self._live_bytes())
        self._forget_in_memory(self.revision)

    def _live_bytes(self) -> int:
        return sum(collection.bytes for collection in self._collections.values())

    def end_watches(self) -> None:
        """Let every watcher finish with what it already has."""
        self._deliver_all()
        for collection in self.collections():
            for watcher in list(collection.watchers()):
                watcher.close()

    async def close(self) -> None:
        self.end_watches()
        self._health.stop()
        await self._writer.stop()
        self._deliver_all()
        if self._checking is not None:
            self._checking.cancel()
        self._past.close()
        self._backend.close()

    def latest(self, collection: Collection, key: str) -> Version | None:
        """The newest live version of a key, including one that is not committed yet."""
        newest = collection.pending.get(key) or collection.heads.get(key)
        return newest if newest is not None and newest.body is not None else None

    async def put(
        self,
        collection: Collection,
        key: str,
        value: dict[str, Any],
        over: Version | None,
        requires: Sequence[Precondition] = (),
        alongside: Sequence[Companion] = (),
    ) -> Version:
        """Write an object (see `version.encode` for its form) over the version that it was made
        from, None for a new one, in one commit with its companions, whose versions should be among
        what it requires. Returns after the commit; raises Conflict, ConditionFailed."""
        expected = self._expected(collection, key, over, requires)
        encoded = encode(value)
        if not alongside:
            version = self._next_version(collection, key, value, encoded)
            await self._submit(collection, version, encoded, expected, requires).settled()
            return version
        companions = [(one, encode(one.value), self._companion(one)) for one in alongside]
        version = self._next_version(collection, key, value, encoded)
        pending = self._submit(collection, version, encoded, expected, requires)
        exists = (Precondition(collection.resource, key),)
        for one, content, over_write in companions:
            another = self._next_version(one.collection, one.over.key, one.value, content)
            self._submit(one.collection, another, content, over_write, exists)
            one.version = another
        await pending.settled()
        return version

    def _companion(self, one: Companion) -> int | Write:
        try:
            return self._expected(one.collection, one.over.key, one.over, ())
        except Conflict:
            resource, key = one.collection.resource, one.over.key
            raise ConditionFailed(Precondition(resource, key, one.over.revision)) from None

    def _next_version(
        self, collection: Collection, key: str, value: dict[str, Any], encoded: bytes
    ) -> Version:
        revision = self._next_revision
        body = body_of(encoded, revision)
        version = Version(key, revision, collection.api_version, body, collection.fields_of)
        version.know(value)
        return version

    async def delete(
        self,
        collection: Collection,
        key: str,
        over: Version,
        requires: Sequence[Precondition] = (),
    ) -> Version:
        """Delete an object as `put` writes it; gives the deletion."""
        expected = self._expected(collection, key, over, requires)
        version = Version(key, self._next_revision, collection.api_version, None)
        await self._submit(collection, version, None, expected, requires).settled()
        return version

    def _expected(
        self,
        collection: Collection,
        key: str,
        over: Version | None,
        requires: Sequence[Precondition],
    ) -> int | Write:
        """What the backend has to find; raises where it is known already that it will not."""
        current = self.latest(collection, key)
        if current is not over and (
            current is None or over is None or current.revision != over.revision
        ):
            REFUSED.add(of=("conflict",))
            raise Conflict(key)
        for condition in requires:
            found = self.latest(self.collection(condition.resource), condition.key)
            if not condition.holds(found.revision if found is not None else 0):
                REFUSED.add(of=("condition",))
                raise ConditionFailed(condition)
        if current is None:
            return 0
        return current.commit.write if current.commit is not None else current.revision

    def _submit(
        self,
        collection: Collection,
        version: Version,
        encoded: bytes | None,
        expected: int | Write,
        requires: Sequence[Precondition],
    ) -> Pending:
        """Put a write into the queue; what is submitted without a pause is committed together."""
        write = Write(
            collection.resource, version.key, version.api_version, encoded, expected, requires
        )
        pending = Pending(collection, version, write)
        self._writer.write(pending)
        self._next_revision += 1
        version.commit = pending
        collection.pending[version.key] = version
        return pending

    async def settled(self, version: Version) -> None:
        """Wait until a version that `latest` gave is on disk; raises StorageError if it never
        gets there. Whoever tells a client about a version must have waited for it."""
        if version.commit is not None:
            await version.commit.settled()

    def committed(self, batch: Sequence[Pending], outcomes: Sequence[Outcome]) -> None:
        """A batch reached the disk: the cache, the essential followers, the writers, and later
        everybody else."""
        self._health.worked()
        changes: list[tuple[Collection, Change]] = []
        for pending, outcome in zip(batch, outcomes, strict=True):
            self._unpend(pending)
            if isinstance(outcome, int):
                changes.append((pending.collection, self._take(pending, outcome)))
        if self._next_revision <= self.revision:
            self._next_revision = self.revision + 1
        try:
            for collection, change in changes:
                collection.followers.tell_essential(change)
        except FollowerFailed as error:
            self._health.give_up(f"what the server acts on is out of date: {error}")
        for pending, outcome in zip(batch, outcomes, strict=True):
            pending.answer(None if isinstance(outcome, int) else outcome)
        self._deliver_later(changes)
        if self._history.is_too_large:
            self._forget_in_memory(self._history.shrink())
        if self._reached:
            self._announce()

    def _take(self, pending: Pending, revision: int) -> Change:
        version, collection = pending.version, pending.collection
        if version.revision != revision:
            version.settle_at(revision)
        change = collection.add(version)
        self.revision = revision
        written = len(pending.write.value) if pending.write.value is not None else 0
        self._history.note(change, written, framed=collection.is_watched)
        return change

    def failed(self, batch: Sequence[Pending], error: StorageError) -> None:
        """A batch did not reach the disk, and what was queued behind it will not."""
        for pending in batch:
            self._unpend(pending)
            pending.answer(error)
        self._next_revision = self.revision + 1
        self._health.failed(error)

    @staticmethod
    def _unpend(pending: Pending) -> None:
        version = pending.version
        pending.write.expected = 0  # a hot key would hold on to all of its past
        version.commit = None
        if pending.collection.pending.get(version.key) is version:
            del pending.collection.pending[version.key]

    def _deliver_later(self, changes: list[tuple[Collection, Change]]) -> None:
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
        loop = asyncio.get_running_loop()
        if turn:
            FEED_LAG.observe(loop.time() - self._committed_at)
        self._delivering = bool(self._undelivered)
        if self._delivering:
            loop.call_soon(self._deliver)

    def _deliver_all(self) -> None:
        while self._undelivered:
            self._deliver()

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

    async def page(
        self,
        collection: Collection,
        namespace: str,
        selection: Selection,
        revision: int,
        limit: int,
        after: str | None = None,
    ) -> Page:
        """Up to `limit` objects (0: all) of the state at a revision, behind the key `after`; from
        memory, or from the backend if they are older. Raises Compacted."""
        self.check_kept(revision)
        if revision >= collection.floor:
            return collection.page(namespace, selection, revision, limit, after)
        return await self._past.page(collection, namespace, selection, revision, limit, after)

    def follow(
        self,
        collection: Collection,
        listener: Listener,
        *,
        essential: bool,
        resync: Callable[[], None] | None = None,
        replay: bool = True,
    ) -> None:
        """Tell a listener of every object that there is, as if it were added now (if it wants a
        replay), and then of every change: an essential one before the writer is answered (if it
        raises, the process stops), others afterwards. One that raised has lost a change: `resync`
        is called soon."""
        for version in collection.current("") if replay else ():
            listener(existing(collection.resource, version))
        collection.followers.add(listener, self.revision, essential=essential, resync=resync)

    def unfollow(self, collection: Collection, listener: Listener) -> None:
        collection.followers.remove(listener)

    def watch(self, collection: Collection, watcher: Watcher) -> AsyncIterator[list[Change]]:
        """Register a watcher; gives the changes after its revision that were already made, some
        at a time. Raises Compacted, also while they are read: then some are gone."""
        after = watcher.after
        self.check_kept(after)
        recent = collection.events_after(max(after, collection.floor))
        # What is committed but not handed out yet is among them.
        watcher.after = max(after, self.revision)
        collection.watch(watcher)
        return self._past.replay(collection, after, collection.floor, recent)

    async def keep_compacting(self) -> None:
        """Forget what is older than the retention, for ever."""
        while True:
            await asyncio.sleep(self._history.interval)
            floor = self._history.due(self.revision)
            if floor > self.floor or self._unswept:
                try:
                    await self.compact(max(floor, self.floor))
                except StorageError as error:
                    logger.error("cannot compact the store: %s; the next round tries again", error)

    async def compact(self, floor: int) -> None:
        """Forget history up to a revision, on disk in small steps between commits."""
        self.floor = floor
        self._history.compacted(floor)
        self._forget_in_memory(max(floor, self._history.floor))
        self._unswept = True
        try:
            while await self._writer.run(lambda: self._backend.compact(floor)):
                pass
        except StorageError as error:
            self._health.failed(error)
            raise
        self._unswept = False

    def _forget_in_memory(self, floor: int) -> None:
        self._history.floor = floor
        for collection in self._collections.values():
            collection.forget(floor)

    def size(self) -> int:
        return self._backend.size()
