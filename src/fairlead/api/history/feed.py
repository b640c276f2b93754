"""The live feed: changes of all resources on one connection."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence

from fairlead.api.history.items import HistoryItems
from fairlead.api.history.rights import Rights, Served, ServedCollection
from fairlead.api.history.walk import Walk
from fairlead.api.negotiation import PLAIN_JSON
from fairlead.api.watch_frames import PIECES, Wire, json_event
from fairlead.operations.api import Object
from fairlead.storage.audience import Event, Watcher
from fairlead.storage.selection import EVERYTHING
from fairlead.storage.store import Store
from fairlead.storage.version import Change

BOOKMARK_EVERY = 30.0
_UNTIL_KNOWN = 0.02  # seconds until the author of a revision from a shared store is known


class _FeedWatcher(Watcher):
    """A watcher for changes in a namespace, or everywhere, of resources that the feed covers."""

    __slots__ = ("_prefix", "_served", "_with_noisy")

    def __init__(self, served: Served, namespace: str, after: int, *, noisy: bool) -> None:
        super().__init__("", EVERYTHING, after)
        self._served = served
        self._prefix = f"{namespace}/" if namespace else ""
        self._with_noisy = noisy

    def collection_of(self, change: Change) -> ServedCollection | None:
        if not change.key.startswith(self._prefix):
            return None
        collection = self._served.collections.get(change.resource)
        if collection is None or (collection.noisy and not self._with_noisy):
            return None
        return collection

    def deliver(self, kind: str, change: Change, unbatched: bool = False) -> None:
        if self.collection_of(change) is not None:
            super().deliver(kind, change, unbatched)


class Lines:
    """Encodes the events of a feed as lines of JSON (see `Frames`). `add` encodes an event before
    `frame` frames it."""

    representation = PLAIN_JSON
    keys: Mapping[str, str] = {}

    def __init__(self) -> None:
        self._events: dict[tuple[int, str, str], bytes] = {}
        self._wire = PIECES

    def begin(self, wire: Wire) -> None:
        self._wire = wire

    def add(self, kind: str, change: Change, item: Object) -> None:
        self._events[_key(change)] = json_event(kind, item)

    def clear(self) -> None:
        self._events.clear()

    def frame(self, kind: str, change: Change) -> bytes:
        return self._wrapped(self._events.pop(_key(change)))

    def bookmark(self, revision: int, *, initial: bool = False) -> bytes:
        return self._wrapped(json_event("BOOKMARK", {"resourceVersion": str(revision)}))

    def _wrapped(self, event: bytes) -> bytes:
        return self._wire.wrap(event)

    def last(self, event: bytes) -> bytes:
        return self._wire.last(event)

    def event(self, kind: str, value: Object) -> bytes:
        return json_event(kind, value)


class Feed:
    """The source of a feed's stream (see `WatchSource`). An event is an item without the object.
    Events of resources that the user may not watch at that time are omitted."""

    name = "everything"
    past: AsyncIterator[Sequence[Event]]

    def __init__(
        self,
        store: Store,
        served: Served,
        items: HistoryItems,
        rights: Rights,
        lines: Lines,
        *,
        namespace: str,
        after: int,
        noisy: bool,
        on_close: Callable[[], None],
    ) -> None:
        """Raises Compacted if changes after the revision are no longer stored. `after` 0 means
        now."""
        self._on_close = on_close
        self._store = store
        self._items = items
        self._rights = rights
        self._lines = lines
        self.watcher = _FeedWatcher(served, namespace, after or store.revision, noisy=noisy)
        collections = served.select(namespace, noisy=noisy)
        walk = Walk(
            store, {name: collection.collection for name, collection in collections.items()}
        )
        begins = self.watcher.after
        store.watch_all(self.watcher)
        self.past = self._past(walk, begins, store.revision)

    async def _past(self, walk: Walk, after: int, upto: int) -> AsyncIterator[Sequence[Event]]:
        if after < upto:
            async for changes in walk.forwards(after, upto):
                yield [
                    (change.kind, change)
                    for change in changes
                    if self.watcher.collection_of(change) is not None
                ]

    def are_prepared(self, events: Sequence[Event]) -> bool:
        """False: rights must be checked and items made first."""
        return False

    async def prepare(self, events: Sequence[Event]) -> Sequence[Event]:
        if not self._store.log.predicts_revisions:
            await asyncio.sleep(_UNTIL_KNOWN)
        prepared: list[Event] = []
        for kind, change in events:
            collection = self.watcher.collection_of(change)  # its resource may be gone by now
            if collection is None or not await self._rights.allows_change(
                collection.resource, change
            ):
                continue
            item = {**await self._items.item(change), **collection.names}
            self._lines.add(kind, change, item)
            prepared.append((kind, change))
        return prepared

    def close(self) -> None:
        self._store.unwatch_all(self.watcher)
        self._lines.clear()
        self._on_close()


def _key(change: Change) -> tuple[int, str, str]:
    return change.revision, change.resource, change.key
