"""Deletes events some time after their last write.

Deletes go directly to the store, as when an etcd lease expires: without admission and without
regard to finalizers. Watchers see DELETED.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping

from fairlead.base import clock
from fairlead.base.logs import Logger
from fairlead.codec.types.times import TimeError, parse_time
from fairlead.controllers.events import EVENTS
from fairlead.controllers.framework import Keys
from fairlead.operations.api import Api
from fairlead.operations.write_pipeline import check_fence
from fairlead.storage.backend import Conflict, StorageError
from fairlead.storage.collection import Collection
from fairlead.storage.version import Change, Version

logger = Logger("fairlead.controllers")

_BATCH_SIZE = 250  # deletes per batch, which share a commit
_GROUPING_SECONDS = (
    1.0  # seconds added to a timer so that events that expire close together share it
)
_TRY_AGAIN = 5.0


class EventExpiry:
    """There is one key. Events are kept in the order of their last write, which is also the order
    of expiry, so only the first is checked and one timer suffices."""

    name = "event-expiry"
    workers = 1

    def __init__(self, api: Api, seconds: float) -> None:
        self._api = api
        self._seconds = seconds
        self._first_of_ours = api.store.next_revision
        # By key: revision of the last write, and its time on the monotonic clock. The time is None
        # for writes before this process started; it is then read from the object.
        self._written: dict[str, tuple[int, float | None]] = {}
        self._newest = 0
        self._in_order = True
        self._waiting = False  # a timer is set

    def follows(self) -> Mapping[str, Keys]:
        return {EVENTS: self._note} if self._seconds > 0 else {}

    def _note(self, change: Change) -> Iterable[str]:
        previous = self._written.pop(change.key, None)
        if change.after is None:
            return ()
        revision = change.after.revision
        if previous is not None and previous[0] == revision:
            written = previous
        else:
            written = revision, clock.steady() if revision >= self._first_of_ours else None
        self._written[change.key] = written
        self._in_order = self._in_order and revision > self._newest
        self._newest = max(self._newest, revision)
        return () if self._waiting else (EVENTS,)

    async def sync(self, key: str) -> float | None:
        self._waiting = False
        try:
            while due := self._due():
                await asyncio.gather(*map(self._delete, due))
        except StorageError as error:
            logger.warning("events are not deleted yet", controller=self.name, err=error)
            self._waiting = True
            return _TRY_AGAIN
        first = next(iter(self._written), None)
        if first is None:
            return None
        self._waiting = True
        return max(self._end_of(first) - clock.steady(), 0.0) + _GROUPING_SECONDS

    def _due(self) -> list[str]:
        """The next batch of expired events."""
        if not self._in_order:
            self._written = dict(sorted(self._written.items(), key=lambda item: item[1][0]))
            self._in_order = True
        now = clock.steady()
        due: list[str] = []
        for key in self._written:
            if len(due) == _BATCH_SIZE or self._end_of(key) > now:
                break
            due.append(key)
        return due

    def _end_of(self, key: str) -> float:
        revision, written = self._written[key]
        if written is None:
            version = self._version(key)
            age = self._seconds if version is None else clock.time() - _last_written(version)
            written = clock.steady() - age
            self._written[key] = revision, written
        return written + self._seconds

    def _version(self, key: str) -> Version | None:
        return self._collection.latest(key)

    async def _delete(self, key: str) -> None:
        revision, written = self._written.pop(key)
        version = self._version(key)
        if version is None:
            return
        try:
            if version.revision != revision:
                raise Conflict(key)
            check_fence()
            await self._api.store.delete(self._collection, key, version)
        except Conflict:  # a write is in progress; if that fails the event stays a little longer
            self._written.setdefault(key, (revision, clock.steady()))
        except StorageError:
            self._written.setdefault(key, (revision, written))
            self._in_order = False
            raise

    @property
    def _collection(self) -> Collection:
        return self._api.collection(self._api.resources.named(EVENTS))


def _last_written(version: Version) -> float:
    """Wall-clock time of the last write of an event, read from its metadata, because the write came
    before this process started."""
    metadata = version.object()["metadata"]
    texts = [metadata.get("creationTimestamp")]
    texts += [entry.get("time") for entry in metadata.get("managedFields") or ()]
    moments = [0.0]
    for text in texts:
        try:
            moments.append(parse_time(text).timestamp() if text else 0.0)
        except TimeError:
            continue
    return min(max(moments), clock.time())
