"""The store that a server works with: writes go to the log, reads come from the watch cache."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import suppress
from typing import Any

from fairlead.storage.audience import Watcher
from fairlead.storage.backend import Compacted, Precondition, StorageError, Write
from fairlead.storage.change import Change, existing
from fairlead.storage.collection import Collection, Page, State
from fairlead.storage.companion import Companion
from fairlead.storage.delivery import Delivery, Intake
from fairlead.storage.followers import Listener
from fairlead.storage.history import History
from fairlead.storage.log import Log
from fairlead.storage.past import Past
from fairlead.storage.selection import Selection
from fairlead.storage.version import Version
from fairlead.storage.writes import Writes


class Store:
    """All collections at one revision: the cache over one log. Lives on the event loop.

    `Writes` makes writes over the newest version of their keys, committed or still on its way to
    the log, `Intake` takes in what was committed, `Compaction` forgets. Reads see commits only. The
    revision of a version that is not committed yet is foreseen here and given by the log.
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
        self._state = State(history, foresees=log.foresees)
        self._delivery = Delivery()
        self._intake = Intake(self._state, log, self._delivery)
        self._writes = Writes(self._state, log)
        self._compaction = Compaction(self._state, log)
        self._past = Past(log)
        self._is_ending = False

    @property
    def revision(self) -> int:
        """Up to where commits are taken in."""
        return self._state.revision

    @property
    def floor(self) -> int:
        """The oldest revision whose state can be told."""
        return self._state.floor

    @property
    def next_revision(self) -> int:
        """What the next write is foreseen to get. All that are under way have lower ones, if that
        can be foreseen."""
        return self._state.next_revision

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
        return self._delivery.told(self._state.revision)

    def collection(self, resource: str) -> Collection:
        return self._state.collection(resource)

    def collections(self) -> list[Collection]:
        return list(self._state.collections.values())

    def forget(self, resource: str) -> None:
        """The resource is no longer served: its watches end and nobody follows it, once they have
        heard of what is committed. Objects that are left stay, for when it is served again."""
        collection = self._state.collections.get(resource)
        if collection is None:
            return
        self._delivery.all()
        collection.forget_readers()
        if not len(collection) and not collection.pending:
            del self._state.collections[resource]

    async def open(self) -> None:
        """Load what the log keeps and start to write; raises StorageError."""
        await self.log.open(self._intake)

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
        return collection.latest(key)

    def put(
        self,
        collection: Collection,
        key: str,
        value: dict[str, Any],
        over: Version | None,
        requires: Sequence[Precondition] = (),
        alongside: Sequence[Companion] = (),
    ) -> Coroutine[Any, Any, Version]:
        """Write an object (see `version.encode` for its form) over the version that it was made
        from, None for a new one, in one commit with its companions, whose versions should be among
        what it requires. Returns after the commit; raises Conflict, ConditionFailed, Outdated."""
        return self._writes.put(collection, key, value, over, requires, alongside)

    def delete(
        self,
        collection: Collection,
        key: str,
        over: Version,
        requires: Sequence[Precondition] = (),
    ) -> Coroutine[Any, Any, Version]:
        """Delete an object as `put` writes it; gives the deletion."""
        return self._writes.delete(collection, key, over, requires)

    def append(self, group: Sequence[Write]) -> Coroutine[Any, Any, list[int]]:
        """Take writes that another process prepared, all in one commit or none; gives their
        revisions. Raises Conflict, ConditionFailed, StorageError."""
        return self._writes.append(group)

    def append_unopposed(self, writes: Sequence[Write]) -> Coroutine[Any, Any, list[Version]]:
        """Take writes, all in one commit, that were made from what is committed while nothing is
        under way, in this very turn of the loop and where nobody else writes: none can be refused.
        Gives what they became; raises StorageError."""
        return self._writes.append_unopposed(writes)

    async def settled(self, version: Version) -> None:
        """Wait until a version that `latest` gave is on disk; raises StorageError if it never
        gets there. Whoever tells a client about a version must have waited for it."""
        if version.commit is not None:
            await version.commit.settled()

    async def all_settled(self) -> None:
        """Wait for a moment at which nothing is under way."""
        while under_way := [one for one in self.collections() if one.pending]:
            with suppress(Exception):
                await self.settled(next(iter(under_way[0].pending.values())))

    async def is_stale(self, collection: Collection, version: Version) -> bool:
        """Whether a write that changes nothing would keep a version in another way, under another
        key of encryption."""
        if version.commit is not None:  # it is being written
            return False
        return await self.log.is_stale(collection.resource, version.key, version.revision)

    async def wait_for(self, revision: int, timeout: float) -> bool:
        """Wait until the cache is at least this new; False when the time is up."""
        return await self._intake.wait_for(revision, timeout)

    def check_kept(self, revision: int) -> None:
        """Raise Compacted if the state at a revision can no longer be told."""
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
        collection.followers.add(listener, self._state.revision, essential=essential, resync=resync)

    def unfollow(self, collection: Collection, listener: Listener) -> None:
        collection.followers.remove(listener)

    def watch(self, collection: Collection, watcher: Watcher) -> AsyncIterator[list[Change]]:
        """Register a watcher; gives the changes after its revision that were already made, some
        at a time. Raises Compacted, also while they are read: then some are gone."""
        after = watcher.after
        self.check_kept(after)
        recent = collection.events_after(max(after, collection.floor))
        # What is committed but not handed out yet is among them.
        watcher.after = max(after, self._state.revision)
        collection.audience.add(watcher)
        if self._is_ending:
            watcher.close()
        return self._past.replay(collection, after, collection.floor, recent)

    def watch_all(self, watcher: Watcher) -> None:
        """Let a watcher hear of what happens to all resources from now on, until `unwatch_all`. Its
        scope and selection do not count. Raises Compacted if what happened after its revision
        cannot be told."""
        self.check_kept(watcher.after)
        watcher.after = max(watcher.after, self._state.revision)
        self._delivery.everywhere.append(watcher)
        if self._is_ending:
            watcher.close()

    def unwatch_all(self, watcher: Watcher) -> None:
        if watcher in self._delivery.everywhere:
            self._delivery.everywhere.remove(watcher)

    async def keep_compacting(self) -> None:
        """Forget what is older than the retention, for ever."""
        await self._compaction.keep_up()

    async def compact(self, floor: int) -> None:
        """Forget history up to a revision, in small steps: on disk they are between commits."""
        await self._compaction.compact(floor)

    def tell_no_more(self, floor: int) -> None:
        """Forget history up to a revision; on disk the next compaction does."""
        self._compaction.tell_no_more(floor)

    def size(self) -> int:
        return self.log.size()


# Forgetting history that has been kept long enough, or that there is too much of.

logger = logging.getLogger("fairlead.storage")


class Compaction:
    """Raises the floor of a store, in memory and on disk."""

    def __init__(self, state: State, log: Log) -> None:
        self._state = state
        self._history = state.history
        self._log = log
        self._unswept = False  # the disk still has what can no longer be told

    async def keep_up(self) -> None:
        """Forget what is older than the retention, for ever."""
        state = self._state
        while True:
            await asyncio.sleep(self._history.interval)
            floor = self._history.due(state.revision)
            if floor > state.floor or self._unswept:
                try:
                    await self.compact(max(floor, state.floor))
                except StorageError as error:
                    logger.error("cannot compact the store: %s; the next round tries again", error)

    async def compact(self, floor: int) -> None:
        """Forget history up to a revision, in small steps: on disk they are between commits."""
        self._state.floor = floor
        while (step := self._history.step_to(floor)) < floor:
            self._let_go(step)
            await asyncio.sleep(0)
        self.tell_no_more(floor)
        await self._log.compact(floor)
        self._unswept = False

    def tell_no_more(self, floor: int) -> None:
        """Forget history up to a revision; on disk the next compaction does."""
        self._state.floor = max(floor, self._state.floor)
        self._let_go(floor)
        self._unswept = True

    def _let_go(self, floor: int) -> None:
        self._history.compacted(floor)
        self._state.forget_in_memory(max(floor, self._history.floor))
