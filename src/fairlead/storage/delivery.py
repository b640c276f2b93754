"""Applies commits to the cache, delivers changes after the writers are acknowledged, and lets
requests wait for a revision."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Iterable, Sequence
from operator import attrgetter
from typing import Final

from sortedcontainers import SortedList

from fairlead.base.logs import Logger
from fairlead.storage.audience import FollowerFailed, Watcher
from fairlead.storage.backend import Compacted, Outcome, Row
from fairlead.storage.collection import Collection
from fairlead.storage.log import Log
from fairlead.storage.metrics import FEED_LAG
from fairlead.storage.reads import version_of
from fairlead.storage.state import PLACEHOLDER_REVISION, State
from fairlead.storage.version import Change, Version, body_of
from fairlead.storage.writes import Pending

logger: Final = Logger("fairlead.storage")

CollectionChange = tuple[Collection, Change]
Waiter = tuple[int, int, asyncio.Future[bool]]  # revision, tie-breaker, result

_CHANGES_PER_BATCH: Final = 500  # delivered before yielding to the event loop


class Delivery:
    """Delivers applied changes to non-essential followers and to watchers."""

    def __init__(self) -> None:
        self.global_watchers: list[Watcher] = []  # watchers of all resources
        self._queue: list[CollectionChange] = []
        self._delivering = False
        self._committed_at = 0.0  # time of the oldest undelivered change

    def delivered_revision(self, revision: int) -> int:
        """Return the revision up to which all changes are delivered, given the newest applied
        one."""
        return self._queue[0][1].revision - 1 if self._queue else revision

    def schedule(self, changes: list[CollectionChange]) -> None:
        """Schedule delivery behind the tasks of the writers, which were woken first."""
        self._queue += changes
        if changes and not self._delivering:
            loop = asyncio.get_running_loop()
            self._delivering, self._committed_at = True, loop.time()
            loop.call_soon(self._deliver)

    def _deliver(self) -> None:
        batch, self._queue = self._queue, []
        if len(batch) > _CHANGES_PER_BATCH:
            batch, self._queue = batch[:_CHANGES_PER_BATCH], batch[_CHANGES_PER_BATCH:]
        loop = asyncio.get_running_loop()
        try:
            self._publish(batch)
            if batch:
                FEED_LAG.observe(loop.time() - self._committed_at)
        finally:
            self._delivering = bool(self._queue)
            if self._delivering:
                loop.call_soon(self._deliver)

    def _publish(self, batch: list[CollectionChange]) -> None:
        unbatched = len(batch) == 1
        for collection, change in batch:
            try:
                collection.publish(change, unbatched=unbatched)
            except Exception as error:
                logger.exception(
                    "cannot deliver a change", resource=change.resource, key=change.key
                )
                for watcher in tuple(collection.audience):  # some missed the change
                    watcher.fail(error)
        for watcher in tuple(self.global_watchers):
            for _, change in batch:
                watcher.deliver(change.kind, change)

    def deliver_all(self) -> None:
        """Deliver everything now."""
        while self._queue:
            self._deliver()


class RevisionWaiters:
    """Requests that wait for a revision, ordered by it."""

    def __init__(self) -> None:
        self.waiting: SortedList[Waiter] = SortedList()
        self._count = 0  # numbers the waiters, so that futures are never compared

    def wait(self, revision: int, timeout: float) -> asyncio.Future[bool]:
        """Return a future: True once the revision is reached, False on timeout."""
        loop = asyncio.get_running_loop()
        reached: asyncio.Future[bool] = loop.create_future()
        self._count += 1
        waiter = revision, self._count, reached
        self.waiting.add(waiter)
        timer = loop.call_later(timeout, _resolve, reached, False)

        def forget(_: asyncio.Future[bool]) -> None:  # also on timeout or cancellation
            timer.cancel()
            self.waiting.discard(waiter)

        reached.add_done_callback(forget)
        return reached

    def announce(self, reached: int) -> None:
        waiting = self.waiting
        while waiting and waiting[0][0] <= reached:
            _resolve(waiting.pop(0)[2], True)


def _resolve(future: asyncio.Future[bool], answer: bool) -> None:
    if not future.done():
        future.set_result(answer)


# Application of commits.

_ROW_FIELDS: Final = attrgetter("resource", "key", "revision", "api_version", "value")


class CommitApplier:
    """The cache side of a log (see `log.Cache`): advances the state of a store and acknowledges
    writers."""

    def __init__(self, state: State, log: Log, delivery: Delivery) -> None:
        self._state = state
        self._history = state.history
        self._log = log
        self._delivery = delivery
        self._waiters = RevisionWaiters()

    @property
    def revision(self) -> int:
        return self._state.revision

    def load(self, rows: Iterable[Row], revision: int, floor: int) -> None:
        loaded, state = self._versions(rows), self._state
        state.begin(revision, floor)
        for collection, versions in loaded.items():
            collection.load(versions)
        live = sum(collection.bytes for collection in state.collections.values())
        # Older history is read from the log; memory keeps changes from now on.
        self._history.begin(revision, self._log.size() - live)
        state.forget_in_memory(revision)

    def _versions(self, rows: Iterable[Row]) -> dict[Collection, list[Version]]:
        versions: dict[Collection, list[Version]] = defaultdict(list)
        for resource, key, revision, api_version, value in map(_ROW_FIELDS, rows):
            collection = self._state.collection(resource)
            body = body_of(value or b"", revision)
            version = Version(key, revision, api_version, body, collection.fields_of)
            versions[collection].append(version)
        return versions

    def apply_batch(self, batch: Sequence[Pending], outcomes: Sequence[Outcome]) -> None:
        """Update the cache, then notify essential followers, then writers; schedule the others."""
        changes: list[CollectionChange] = []
        for pending, outcome in zip(batch, outcomes, strict=True):
            _release(pending)
            if isinstance(outcome, int):
                changes.append((pending.collection, self._apply(pending, outcome)))
        self._state.advance_prediction()
        self._notify_essential(changes)
        for pending, outcome in zip(batch, outcomes, strict=True):
            pending.answer(None if isinstance(outcome, int) else outcome)
        self._notify_others(changes)

    def _apply(self, pending: Pending, revision: int) -> Change:
        version, collection = pending.version, pending.collection
        if version.revision != revision:
            version.set_revision(revision)
        change = collection.add(version)
        self._state.revision = revision
        written = len(pending.write.value) if pending.write.value is not None else 0
        self._history.note(change, written, framed=bool(collection.audience))
        return change

    def _notify_essential(self, changes: list[CollectionChange]) -> None:
        try:
            for collection, change in changes:
                collection.followers.notify_essential(change)
        except FollowerFailed as error:
            self._log.give_up(f"what the server acts on is out of date: {error}")

    def _notify_others(self, changes: list[CollectionChange]) -> None:
        """Schedule delivery to all but the essential followers, and wake requests that wait for a
        revision."""
        self._delivery.schedule(changes)
        if self._history.is_too_large:
            self._state.forget_in_memory(self._history.shrink())
        if self._waiters.waiting:
            self._waiters.announce(self._state.revision)

    def apply_feed(self, rows: Sequence[Row], revision: int) -> None:
        state = self._state
        changes: list[CollectionChange] = []
        for row in rows:
            collection = state.collection(row.resource)
            if row.revision <= state.revision:
                continue
            if row.value is None:
                before = collection.get(row.key)
                if before is None:
                    continue
                row = row._replace(api_version=before.api_version)  # etcd does not know it
            change = collection.add(
                _matching_pending(collection, row) or version_of(collection, row)
            )
            self._history.note(change, len(row.value or b""), framed=bool(collection.audience))
            changes.append((collection, change))
        state.revision = max(revision, state.revision)
        state.floor = max(state.floor, self._log.floor)
        self._notify_essential(changes)
        self._notify_others(changes)

    def acknowledge(self, group: Sequence[Pending], revisions: Sequence[int]) -> None:
        for pending, revision in zip(group, revisions, strict=True):
            _release(pending)
            version = pending.version
            if version.revision >= PLACEHOLDER_REVISION:
                version.set_revision(revision)
            elif version.revision != revision:  # an identical write of another process was applied
                pending.version = version.with_revision(revision)
            pending.answer(None)

    def fail(self, group: Sequence[Pending], error: Exception) -> None:
        for pending in group:
            _release(pending)
            pending.answer(error)
        self._state.reset_prediction()

    def rebuild(self, rows: Iterable[Row], revision: int) -> None:
        """As `Cache.rebuild`. Followers receive the difference, which is enough for them. Watchers
        expire instead: they would take the difference for the real sequence of events."""
        self._delivery.deliver_all()
        versions, state = self._versions(rows), self._state
        changes: list[CollectionChange] = []
        for collection in list(state.collections.values()):
            differences = collection.rebuild(versions.get(collection, []), revision)
            changes += ((collection, change) for change in differences)
        for watcher in tuple(self._delivery.global_watchers):
            watcher.expire(Compacted(revision))
        state.revision = state.floor = revision
        self._history.compacted(revision)
        self._history.floor = revision
        self._notify_essential(changes)
        self._notify_others(changes)

    def wait_for(self, revision: int, timeout: float) -> asyncio.Future[bool]:
        """Return a future: True once the revision is reached, False on timeout."""
        if revision > self._state.revision:
            return self._waiters.wait(revision, timeout)
        reached: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        reached.set_result(True)
        return reached


def _release(pending: Pending) -> None:
    version, write = pending.version, pending.write
    write.expected, write.requires = 0, ()  # frees the chain of earlier writes of a hot key
    version.commit = None
    if pending.collection.pending.get(version.key) is version:
        del pending.collection.pending[version.key]


def _matching_pending(collection: Collection, row: Row) -> Version | None:
    """Return the pending version of this process that equals a row of the feed, which saves parsing
    the row. Each pending version matches one row only."""
    version = collection.pending.get(row.key)
    if version is None or version.commit is None or row.value is None:
        return None
    if version.revision < PLACEHOLDER_REVISION:
        return None
    if version.api_version != row.api_version or version.commit.write.value != row.value:
        return None
    version.set_revision(row.revision)
    return version
