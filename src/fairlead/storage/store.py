"""The store that a server works with: writes go to the log, reads come from the watch cache."""

from __future__ import annotations

import asyncio
import logging
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import suppress
from operator import attrgetter
from typing import Any

from fairlead.storage.backend import (
    Compacted,
    ConditionFailed,
    Conflict,
    EpochMoved,
    Outcome,
    Precondition,
    Row,
    StorageError,
    Write,
)
from fairlead.storage.basis import Outdated, basis
from fairlead.storage.change import Change, existing
from fairlead.storage.collection import Collection, Page
from fairlead.storage.counts import REFUSED
from fairlead.storage.delivery import Delivered, Delivery, Reaching
from fairlead.storage.followers import FollowerFailed, Listener
from fairlead.storage.history import History
from fairlead.storage.log import Log
from fairlead.storage.past import Past, version_of
from fairlead.storage.pending import Pending
from fairlead.storage.selection import Selection
from fairlead.storage.version import Version, body_of, encode
from fairlead.storage.watcher import Watcher

logger = logging.getLogger("fairlead.storage")

_ROW = attrgetter("resource", "key", "revision", "api_version", "value")
# Where others write as well nothing can be foreseen: such numbers are no real revision's.
_UNFORESEEN = 1 << 62


class Companion:
    """A change of another object that goes with a write: if that is refused, so is this. `over` is
    what it was made from, None for a new one, which has to name its key. `version` is what it
    became when it was written."""

    __slots__ = ("collection", "key", "over", "value", "version")

    def __init__(
        self, collection: Collection, value: dict[str, Any], over: Version | None, key: str = ""
    ) -> None:
        self.collection = collection
        self.value = value
        self.over = over
        self.key = over.key if over is not None else key
        self.version: Version | None = None


class Store:
    """All collections at one revision: the cache over one log. Lives on the event loop.

    A write is checked against the newest version of its key, committed or still on its way to the
    log, and is acknowledged after its commit. Reads see commits only. The revision of a version
    that is not committed yet is foreseen here and given by the log.
    """

    def __init__(
        self,
        log: Log,
        *,
        retention: float = 300.0,
        history_memory: int = 64 << 20,
        history_bytes: int = 2 << 30,
    ) -> None:
        self.log = log
        self._past = Past(log)
        self._history = History(retention, history_memory, history_bytes)
        self._collections: dict[str, Collection] = {}
        self._next_revision = 1
        self._delivery = Delivery()
        self._reaching = Reaching()
        self._unswept = False
        self.revision = 0
        self._is_ending = False
        self.floor = 0

    @property
    def healthy(self) -> bool:
        return self.log.healthy

    @property
    def alone(self) -> bool:
        """Whether nobody else writes."""
        return self.log.alone

    @property
    def told(self) -> int:
        """The revision up to which watchers have heard of everything."""
        return self._delivery.told(self.revision)

    @property
    def next_revision(self) -> int:
        """What the next write is foreseen to get. All that are under way have lower ones, if that
        can be foreseen."""
        return self._next_revision if self.log.foresees else self.revision + 1

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
        self._delivery.all()
        collection.forget_readers()
        if not len(collection) and not collection.pending:
            del self._collections[resource]

    async def open(self) -> None:
        """Load what the log keeps and start to write; raises StorageError."""
        await self.log.open(self)

    def load(self, rows: Iterable[Row], revision: int, floor: int) -> None:
        found = self._versions(rows)
        self.revision, self.floor = revision, floor
        self._next_revision = revision + 1 if self.log.foresees else _UNFORESEEN
        for collection, versions in found.items():
            collection.load(versions)
        # What came before is read from the log; memory keeps what happens from now on.
        self._history.begin(revision, self.log.size() - self._live_bytes())
        self._forget_in_memory(revision)

    def _versions(self, rows: Iterable[Row]) -> dict[Collection, list[Version]]:
        found: dict[Collection, list[Version]] = defaultdict(list)
        for resource, key, revision, api_version, value in map(_ROW, rows):
            collection = self.collection(resource)
            body = body_of(value or b"", revision)
            version = Version(key, revision, api_version, body, collection.fields_of)
            found[collection].append(version)
        return found

    def _live_bytes(self) -> int:
        return sum(collection.bytes for collection in self._collections.values())

    def end_watches(self) -> None:
        """Let every watcher finish with what it already has; those that come now, too."""
        self._is_ending = True
        self._delivery.all()
        for collection in self.collections():
            for watcher in list(collection.audience):
                watcher.close()
        for watcher in tuple(self._delivery.everywhere):
            watcher.close()

    async def close(self) -> None:
        self.end_watches()
        await self.log.flush()
        self._delivery.all()
        await self.log.close()

    async def catch_up(self) -> None:
        """Wait until the cache has everything that anybody was told of before; raises
        StorageError. Only where others write is there anything to wait for."""
        await self.log.catch_up()

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
        what it requires. Returns after the commit; raises Conflict, ConditionFailed, Outdated."""
        expected = self._expected(collection, key, over, requires)
        if requires and not self.log.foresees:
            requires = self._resolved(requires)
        encoded = encode(value)
        if not alongside:
            version = self._next_version(collection, key, value, encoded)
            return await _done(self._submit(collection, version, encoded, expected, requires))
        group = [(collection, key, value, encoded, expected)]
        for one in alongside:
            content, over_write = encode(one.value), self._companion(one)
            group.append((one.collection, one.key, one.value, content, over_write))
        written = self._write_together(group, requires)
        for one, pending in zip(alongside, written[1:], strict=True):
            one.version = pending.version
        return await _done(written[0])

    def _write_together(
        self,
        group: list[tuple[Collection, str, dict[str, Any], bytes, int | Write]],
        requires: Sequence[Precondition],
    ) -> list[Pending]:
        """Put writes into the queue that are to happen together; the conditions are the first
        one's."""
        written: list[Pending] = []
        for collection, key, value, encoded, expected in group:
            version = self._next_version(collection, key, value, encoded)
            wanted = requires if not written else ()
            written.append(self._pending(collection, version, encoded, expected, wanted))
        self._submit_together(written)
        return written

    def _companion(self, one: Companion) -> int | Write:
        try:
            return self._expected(one.collection, one.key, one.over, ())
        except Conflict:
            revision = one.over.revision if one.over is not None else 0
            condition = Precondition(one.collection.resource, one.key, revision)
            raise ConditionFailed(condition) from None

    def _next_version(
        self, collection: Collection, key: str, value: dict[str, Any], encoded: bytes
    ) -> Version:
        revision = self._foreseen()
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
        version = Version(key, self._foreseen(), collection.api_version, None)
        if requires and not self.log.foresees:
            requires = self._resolved(requires)
        return await _done(self._submit(collection, version, None, expected, requires))

    async def append(self, group: Sequence[Write]) -> list[int]:
        """Take writes that another process prepared, all in one commit or none; gives their
        revisions. Raises Conflict, ConditionFailed, StorageError."""
        for write in group:
            under_way = self.collection(write.resource).pending.get(write.key)
            if under_way is not None:
                with suppress(Exception):
                    await self.settled(under_way)
        taken = [self._prepared(write) for write in group]
        self._submit_together(taken)
        await asyncio.gather(*(pending.outcome() for pending in taken))
        return [write.revision or 0 for write in group]

    async def append_unopposed(self, writes: Sequence[Write]) -> list[Version]:
        """Take writes, all in one commit, that were made from what is committed while nothing is
        under way, in this very turn of the loop and where nobody else writes: none can be refused.
        Gives what they became; raises StorageError."""
        taken = [self._prepared(write) for write in writes]
        for pending in taken:
            self._send(pending)
        if taken:
            await taken[-1].outcome()
        return [pending.version for pending in taken]

    async def all_settled(self) -> None:
        """Wait for a moment at which nothing is under way."""
        while under_way := [one for one in self.collections() if one.pending]:
            with suppress(Exception):
                await self.settled(next(iter(under_way[0].pending.values())))

    def _prepared(self, write: Write) -> Pending:
        collection, revision = self.collection(write.resource), self._foreseen()
        body = body_of(write.value, revision) if write.value is not None else None
        version = Version(write.key, revision, write.api_version, body, collection.fields_of)
        return Pending(collection, version, write)

    async def is_stale(self, collection: Collection, version: Version) -> bool:
        """Whether a write that changes nothing would keep a version in another way, under another
        key of encryption."""
        if version.commit is not None:  # it is being written
            return False
        return await self.log.is_stale(collection.resource, version.key, version.revision)

    def _foreseen(self) -> int:
        revision = self._next_revision
        self._next_revision = revision + 1
        return revision

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

    def _resolved(self, requires: Sequence[Precondition]) -> list[Precondition]:
        """The same conditions, of the writes where revisions cannot be foreseen."""
        found = []
        for condition in requires:
            version = self.latest(self.collection(condition.resource), condition.key)
            if version is not None and version.commit is not None and condition.revision:
                condition = condition._replace(revision=version.commit.write)
            found.append(condition)
        return found

    @staticmethod
    def _pending(
        collection: Collection,
        version: Version,
        encoded: bytes | None,
        expected: int | Write,
        requires: Sequence[Precondition],
    ) -> Pending:
        write = Write(
            collection.resource, version.key, version.api_version, encoded, expected, requires
        )
        rests_on = basis()
        if rests_on is not None:
            write.since = rests_on.revision
        return Pending(collection, version, write)

    def _submit(
        self,
        collection: Collection,
        version: Version,
        encoded: bytes | None,
        expected: int | Write,
        requires: Sequence[Precondition],
    ) -> Pending:
        pending = self._pending(collection, version, encoded, expected, requires)
        self._send(pending)
        return pending

    def _send(self, pending: Pending) -> None:
        self.log.write(pending)
        self._await_commit(pending)

    def _submit_together(self, group: Sequence[Pending]) -> None:
        self.log.write_together(group)
        for pending in group:
            self._await_commit(pending)

    @staticmethod
    def _await_commit(pending: Pending) -> None:
        """What builds on a version that is under way builds on its write."""
        version = pending.version
        version.commit = pending
        pending.collection.pending[version.key] = version

    async def settled(self, version: Version) -> None:
        """Wait until a version that `latest` gave is on disk; raises StorageError if it never
        gets there. Whoever tells a client about a version must have waited for it."""
        if version.commit is not None:
            await version.commit.settled()

    def committed(self, batch: Sequence[Pending], outcomes: Sequence[Outcome]) -> None:
        """The cache, the essential followers, the writers, and later everybody else."""
        changes: list[Delivered] = []
        for pending, outcome in zip(batch, outcomes, strict=True):
            self._unpend(pending)
            if isinstance(outcome, int):
                changes.append((pending.collection, self._take(pending, outcome)))
        if self._next_revision <= self.revision:
            self._next_revision = self.revision + 1
        self._tell_essential(changes)
        for pending, outcome in zip(batch, outcomes, strict=True):
            pending.answer(None if isinstance(outcome, int) else outcome)
        self._tell(changes)

    def _take(self, pending: Pending, revision: int) -> Change:
        version, collection = pending.version, pending.collection
        if version.revision != revision:
            version.settle_at(revision)
        change = collection.add(version)
        self.revision = revision
        written = len(pending.write.value) if pending.write.value is not None else 0
        self._history.note(change, written, framed=bool(collection.audience))
        return change

    def _tell_essential(self, changes: list[Delivered]) -> None:
        try:
            for collection, change in changes:
                collection.followers.tell_essential(change)
        except FollowerFailed as error:
            self.log.give_up(f"what the server acts on is out of date: {error}")

    def _tell(self, changes: list[Delivered]) -> None:
        """Tell everybody but the essential followers, and those who wait for a revision."""
        self._delivery.later(changes)
        if self._history.is_too_large:
            self._forget_in_memory(self._history.shrink())
        if self._reaching.waiting:
            self._reaching.announce(self.revision)

    def followed(self, rows: Sequence[Row], revision: int) -> None:
        changes: list[Delivered] = []
        for row in rows:
            collection = self.collection(row.resource)
            if row.revision <= self.revision:
                continue
            if row.value is None:
                before = collection.get(row.key)
                if before is None:
                    continue
                row = row._replace(api_version=before.api_version)  # not every source knows
            change = collection.add(_own(collection, row) or version_of(collection, row))
            self._history.note(change, len(row.value or b""), framed=bool(collection.audience))
            changes.append((collection, change))
        self.revision = max(revision, self.revision)
        self.floor = max(self.floor, self.log.floor)
        self._tell_essential(changes)
        self._tell(changes)

    def answered(self, group: Sequence[Pending], revisions: Sequence[int]) -> None:
        for pending, revision in zip(group, revisions, strict=True):
            self._unpend(pending)
            version = pending.version
            if version.revision >= _UNFORESEEN:
                version.settle_at(revision)
            elif version.revision != revision:  # another one's write said the same
                pending.version = version.copy_at(revision)
            pending.answer(None)

    def refused(self, group: Sequence[Pending], error: Exception) -> None:
        for pending in group:
            self._unpend(pending)
            pending.answer(error)
        if self.log.foresees:
            self._next_revision = self.revision + 1

    def rebuild(self, rows: Iterable[Row], revision: int) -> None:
        """Followers are told of the difference, which is all that they need. Watchers are not:
        they would take it for what happened."""
        self._delivery.all()
        found = self._versions(rows)
        changes: list[Delivered] = []
        for collection in self.collections():
            made = collection.rebuild(found.get(collection, []), revision)
            changes += ((collection, change) for change in made)
        for watcher in tuple(self._delivery.everywhere):
            watcher.expire(Compacted(revision))
        self.revision = self.floor = revision
        self._history.compacted(revision)
        self._history.floor = revision
        self._tell_essential(changes)
        self._tell(changes)

    @staticmethod
    def _unpend(pending: Pending) -> None:
        version, write = pending.version, pending.write
        write.expected, write.requires = 0, ()  # a hot key would hold on to all of its past
        version.commit = None
        if pending.collection.pending.get(version.key) is version:
            del pending.collection.pending[version.key]

    async def wait_for(self, revision: int, timeout: float) -> bool:
        """Wait until the cache is at least this new; False when the time is up."""
        if revision <= self.revision:
            return True
        return await self._reaching.wait(revision, timeout)

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
            return await collection.page(namespace, selection, revision, limit, after)
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
        collection.audience.add(watcher)
        if self._is_ending:
            watcher.close()
        return self._past.replay(collection, after, collection.floor, recent)

    def watch_all(self, watcher: Watcher) -> None:
        """Let a watcher hear of what happens to all resources from now on, until `unwatch_all`. Its
        scope and selection do not count. Raises Compacted if what happened after its revision
        cannot be told."""
        self.check_kept(watcher.after)
        watcher.after = max(watcher.after, self.revision)
        self._delivery.everywhere.append(watcher)
        if self._is_ending:
            watcher.close()

    def unwatch_all(self, watcher: Watcher) -> None:
        if watcher in self._delivery.everywhere:
            self._delivery.everywhere.remove(watcher)

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
        """Forget history up to a revision, in small steps: on disk they are between commits."""
        self.floor = floor
        while (step := self._history.step_to(floor)) < floor:
            self._let_go(step)
            await asyncio.sleep(0)
        self.tell_no_more(floor)
        await self.log.compact(floor)
        self._unswept = False

    def tell_no_more(self, floor: int) -> None:
        """Forget history up to a revision; on disk the next compaction does."""
        self.floor = max(floor, self.floor)
        self._let_go(floor)
        self._unswept = True

    def _let_go(self, floor: int) -> None:
        self._history.compacted(floor)
        self._forget_in_memory(max(floor, self._history.floor))

    def _forget_in_memory(self, floor: int) -> None:
        self._history.floor = floor
        for collection in self._collections.values():
            collection.forget(floor)

    def size(self) -> int:
        return self.log.size()


def _own(collection: Collection, row: Row) -> Version | None:
    """The version that is under way here and says the same as a row that was followed; as who made
    it knows its content, it need not be read again. It is that of one row only."""
    version = collection.pending.get(row.key)
    if version is None or version.commit is None or row.value is None:
        return None
    if version.revision < _UNFORESEEN:
        return None
    if version.api_version != row.api_version or version.commit.write.value != row.value:
        return None
    version.settle_at(row.revision)
    return version


async def _done(pending: Pending) -> Version:
    """Wait for a write of one's own; gives what was written. Who waits for another one's is told
    that it lost."""
    try:
        await pending.settled()
    except EpochMoved:
        raise Outdated from None
    rests_on = basis()
    if rests_on is not None:
        rests_on.wrote = True
    return pending.version
