"""The store that a server works with: writes go to the log, reads come from the watch cache."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import suppress
from typing import Any

from fairlead.base.logs import Logger
from fairlead.storage.audience import Follower, Watcher
from fairlead.storage.backend import Compacted, Precondition, StorageError, Write
from fairlead.storage.collection import Collection, Page
from fairlead.storage.delivery import CommitApplier, Delivery
from fairlead.storage.log import Log
from fairlead.storage.reads import HistoryReader, read_page
from fairlead.storage.selection import Selection
from fairlead.storage.state import History, State
from fairlead.storage.version import Change, Version, existing
from fairlead.storage.writes import Companion, Writes


class Store:
    """All collections at one revision: the cache over one log. Used on the event loop only.

    `Writes` checks each write against the newest version of its key, committed or pending;
    `CommitApplier` applies commits; `Compaction` drops history. Reads see commits only. The
    revision of a pending version is predicted here and assigned by the log.
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
        history = History(retention, history_memory, history_bytes)
        self._state = State(history, predicts_revisions=log.predicts_revisions)
        self._delivery = Delivery()
        self._applier = CommitApplier(self._state, log, self._delivery)
        self.writes = Writes(self._state, log)
        self._compaction = Compaction(self._state, log)
        self._history_reader = HistoryReader(log)
        self._is_ending = False

    @property
    def revision(self) -> int:
        """The revision up to which commits are applied."""
        return self._state.revision

    @property
    def floor(self) -> int:
        """The oldest revision whose state can be read."""
        return self._state.floor

    @property
    def next_revision(self) -> int:
        """The predicted revision of the next write. If the log predicts revisions, all pending
        writes have lower ones."""
        return self._state.next_revision

    @property
    def healthy(self) -> bool:
        return self.log.healthy

    @property
    def is_sole_writer(self) -> bool:
        """Whether this process is the only writer."""
        return self.log.is_sole_writer

    @property
    def delivered_revision(self) -> int:
        """The revision up to which watchers have received all changes."""
        return self._delivery.delivered_revision(self._state.revision)

    def collection(self, resource: str) -> Collection:
        return self._state.collection(resource)

    def collections(self) -> list[Collection]:
        return list(self._state.collections.values())

    def forget(self, resource: str) -> None:
        """Stop serving a resource: deliver what is committed, then end its watches and drop its
        followers. Remaining objects stay stored, for when it is served again."""
        collection = self._state.collections.get(resource)
        if collection is None:
            return
        self._delivery.deliver_all()
        collection.forget_readers()
        if not len(collection) and not collection.pending:
            del self._state.collections[resource]

    async def open(self) -> None:
        """Load the cache from the log and accept writes; raises StorageError."""
        await self.log.open(self._applier)

    def end_watches(self) -> None:
        """Close all watchers, present and future; they still send their pending events."""
        self._is_ending = True
        self._delivery.deliver_all()
        for collection in self.collections():
            for watcher in list(collection.audience):
                watcher.close()
        for watcher in tuple(self._delivery.global_watchers):
            watcher.close()

    async def close(self) -> None:
        self.end_watches()
        await self.log.flush()
        self._delivery.deliver_all()
        self._state.history.close()
        await self.log.close()

    async def catch_up(self) -> None:
        """Wait until the cache has all writes acknowledged before the call; raises StorageError.
        Waits only if there are other writers."""
        await self.log.catch_up()

    def put(
        self,
        collection: Collection,
        key: str,
        value: dict[str, Any],
        over: Version | None,
        requires: Sequence[Precondition] = (),
        companions: Sequence[Companion] = (),
    ) -> asyncio.Future[Version]:
        """Write an object (see `version.encode` for its form) over the version it was made from,
        None for a new one.

        Companions go into the same commit; `requires` should include their versions. The future
        completes with the commit; raises Conflict, ConditionFailed, Outdated.
        """
        return self.writes.put(collection, key, value, over, requires, companions).written()

    def check_conditions(self, conditions: Sequence[Precondition]) -> None:
        """Raise ConditionFailed if the cache shows that a precondition does not hold."""
        self.writes.check_conditions(conditions)

    def delete(
        self,
        collection: Collection,
        key: str,
        over: Version,
        requires: Sequence[Precondition] = (),
    ) -> asyncio.Future[Version]:
        """Delete an object, with the rules of `put`; returns the deletion."""
        return self.writes.delete(collection, key, over, requires).written()

    async def append(self, group: Sequence[Write]) -> list[int]:
        """Commit writes that another process prepared, all or none; returns their revisions. Raises
        Conflict, ConditionFailed, StorageError."""
        for write in group:
            earlier = self._state.collection(write.resource).pending.get(write.key)
            if earlier is not None and earlier.commit is not None:
                with suppress(Exception):
                    await earlier.commit.outcome()
        prepared = self.writes.append(group)
        await asyncio.gather(*(pending.outcome() for pending in prepared))
        return [write.revision or 0 for write in group]

    async def append_unchecked(self, writes: Sequence[Write]) -> list[Version]:
        """Commit writes that cannot be refused, all together; returns their versions.

        The caller derived them from committed state in this iteration of the event loop, with no
        write pending and no other writer. Raises StorageError.
        """
        prepared = self.writes.append_unchecked(writes)
        if prepared:
            await prepared[-1].outcome()
        return [pending.version for pending in prepared]

    async def wait_committed(self, version: Version) -> None:
        """Wait until a version is committed; raises StorageError if its commit fails. A version
        from `Collection.latest` may still be pending, so this is called before a client gets
        it."""
        if version.commit is not None:
            await version.commit.outcome()

    async def wait_all_committed(self) -> None:
        """Wait until no write is pending."""
        while busy := [collection for collection in self.collections() if collection.pending]:
            with suppress(Exception):
                await self.wait_committed(next(iter(busy[0].pending.values())))

    async def is_stale(self, collection: Collection, version: Version) -> bool:
        """Whether a write without changes would store the version differently, under another
        encryption key."""
        if version.commit is not None:  # the pending write uses the current key
            return False
        return await self.log.is_stale(collection.resource, version.key, version.revision)

    async def wait_for(self, revision: int, timeout: float) -> bool:
        """Wait until the cache is at least at this revision; False on timeout."""
        return await self._applier.wait_for(revision, timeout)

    def check_kept(self, revision: int) -> None:
        """Raise Compacted if the state at a revision can no longer be read."""
        if revision < self._state.floor:
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
        """Return up to `limit` objects (0: all) of the state at a revision, with keys above
        `after`; from memory, or from the log if older. Raises Compacted."""
        self.check_kept(revision)
        if revision >= collection.floor:
            return await read_page(collection, namespace, selection, revision, limit, after)
        return await self._history_reader.page(
            collection, namespace, selection, revision, limit, after
        )

    def follow(
        self,
        collection: Collection,
        listener: Follower,
        *,
        essential: bool,
        resync: Callable[[], None] | None = None,
        replay: bool = True,
    ) -> None:
        """Call a listener for every existing object as if it were added now (with `replay`), then
        for every change.

        Essential listeners run before the writer is acknowledged, and an exception in one stops the
        process. Others run afterwards; after an exception, which loses a change, `resync` is called
        soon.
        """
        for version in collection.current("") if replay else ():
            listener(existing(collection.resource, version))
        collection.followers.add(listener, self._state.revision, essential=essential, resync=resync)

    def unfollow(self, collection: Collection, listener: Follower) -> None:
        collection.followers.remove(listener)

    def watch(self, collection: Collection, watcher: Watcher) -> AsyncIterator[list[Change]]:
        """Register a watcher; returns an iterator over batches of the changes already committed
        after its revision. Raises Compacted, possibly during iteration."""
        after = watcher.after
        self.check_kept(after)
        recent = collection.events_after(max(after, collection.floor))
        # `recent` includes changes that are committed but not delivered yet.
        watcher.after = max(after, self._state.revision)
        collection.audience.add(watcher)
        if self._is_ending:
            watcher.close()
        return self._history_reader.replay(collection, after, collection.floor, recent)

    def watch_all(self, watcher: Watcher) -> None:
        """Deliver the changes of all resources to a watcher from now on, until `unwatch_all`.
        Ignores its scope and selection. Raises Compacted if changes after its revision are gone."""
        self.check_kept(watcher.after)
        watcher.after = max(watcher.after, self._state.revision)
        self._delivery.global_watchers.append(watcher)
        if self._is_ending:
            watcher.close()

    def unwatch_all(self, watcher: Watcher) -> None:
        if watcher in self._delivery.global_watchers:
            self._delivery.global_watchers.remove(watcher)

    async def keep_compacting(self) -> None:
        """Compact history older than the retention, periodically and forever."""
        await self._compaction.run()

    async def compact(self, floor: int) -> None:
        """Drop history up to a revision in small steps; on disk they run between commits."""
        await self._compaction.compact(floor)

    def drop_history(self, floor: int) -> None:
        """Drop history up to a revision in memory; the next compaction deletes it on disk."""
        self._compaction.drop_history(floor)

    def size(self) -> int:
        return self.log.size()


# Compaction: drops history older than the retention, or above the size limit.

logger = Logger("fairlead.storage")


class Compaction:
    """Raises the floor of a store, in memory and on disk."""

    def __init__(self, state: State, log: Log) -> None:
        self._state = state
        self._history = state.history
        self._log = log
        self._disk_is_behind = False  # dropped history is still on disk

    async def run(self) -> None:
        """Compact history older than the retention, periodically and forever."""
        state = self._state
        while True:
            await asyncio.sleep(self._history.interval)
            floor = self._history.due(state.revision)
            if floor > state.floor or self._disk_is_behind:
                try:
                    await self.compact(max(floor, state.floor))
                except StorageError as error:
                    logger.error("cannot compact the store; the next round tries again", err=error)

    async def compact(self, floor: int) -> None:
        """As `Store.compact`."""
        self._state.floor = floor
        while (step := self._history.step_to(floor)) < floor:
            self._drop_from_memory(step)
            await asyncio.sleep(0)
        self.drop_history(floor)
        await self._log.compact(floor)
        self._disk_is_behind = False

    def drop_history(self, floor: int) -> None:
        """As `Store.drop_history`."""
        self._state.floor = max(floor, self._state.floor)
        self._drop_from_memory(floor)
        self._disk_is_behind = True

    def _drop_from_memory(self, floor: int) -> None:
        self._history.compacted(floor)
        self._state.forget_in_memory(max(floor, self._history.floor))
