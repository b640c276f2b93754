"""Iterates over past changes, newest first, back to the oldest stored one."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from heapq import merge
from operator import attrgetter
from typing import NamedTuple

from fairlead.operations.api import Object
from fairlead.storage.backend import Compacted
from fairlead.storage.collection import Collection
from fairlead.storage.reads import change_of
from fairlead.storage.store import Store
from fairlead.storage.version import Change

_CHANGES_A_BATCH = 200
_NARROWEST, _WIDEST = 500, 64_000  # revisions read from disk at once
_revision = attrgetter("revision")

# Makes an item from a change; None to skip it.
MakeItem = Callable[[Change], Awaitable[Object | None]]


class Item(NamedTuple):
    revision: int
    document: Object


class Batch(NamedTuple):
    """The items of all changes after revision `after` and before the previous batch, oldest
    first."""

    after: int
    items: list[Item]
    examined: int


class Walk:
    """Iterates over the changes of some collections, by their names in the store, or of a single
    key. Changes that are not in memory are read from the log in bounded parts and not cached."""

    def __init__(self, store: Store, collections: Mapping[str, Collection], key: str = "") -> None:
        self._store = store
        self._collections = collections
        self._key = key

    async def backwards(self, upto: int, since: int, make_item: MakeItem) -> AsyncIterator[Batch]:
        """Yield batches from revision `upto` back to `since`, or to the oldest stored change."""
        memory_floor = self._memory_floor()
        for after, changes in self._recent(upto, max(since, memory_floor)):
            items = [item for change in changes if (item := await _item(make_item, change))]
            await asyncio.sleep(0)
            yield Batch(after, items, len(changes))
        upto = min(upto, memory_floor)
        width = _NARROWEST
        while upto > (floor := max(since, self._store.floor)):
            after = max(upto - width, floor)
            items, examined = [], 0
            try:
                async for change in self._stored(after, upto):
                    examined += 1
                    if item := await _item(make_item, change):
                        items.append(item)
            except Compacted:
                return
            yield Batch(after, items, examined)
            upto = after
            if examined < _CHANGES_A_BATCH:
                width = min(width * 2, _WIDEST)

    async def first_stored(self, after: int) -> Change | None:
        """The first change after a revision if it is in the log and not in memory, else None;
        raises Compacted."""
        width = _NARROWEST
        while after < (memory_floor := self._memory_floor()):
            upto = min(after + width, memory_floor)
            async for change in self._stored(after, upto):
                return change
            after, width = upto, min(width * 2, _WIDEST)
        return None

    async def forwards(self, after: int, upto: int) -> AsyncIterator[list[Change]]:
        """Yield changes from one revision to another in parts; raises Compacted."""
        part: list[Change] = []
        async for change in self._changes_after(after, upto):
            # Keep changes of one commit together: they may share a revision.
            if len(part) >= _CHANGES_A_BATCH and change.revision != part[-1].revision:
                yield part
                part = []
            part.append(change)
        yield part

    async def _changes_after(self, after: int, upto: int) -> AsyncIterator[Change]:
        while after < (memory_floor := min(self._memory_floor(), upto)):
            async for change in self._stored(after, memory_floor):
                yield change
            after = memory_floor
        parts = [collection.events_after(after) for collection in self._collections.values()]
        for change in merge(*parts, key=_revision):
            if change.revision > upto:
                return
            yield change

    def _memory_floor(self) -> int:
        """The revision after which memory has all changes."""
        return max(
            (collection.floor for collection in self._collections.values()),
            default=self._store.revision,
        )

    def _recent(self, upto: int, since: int) -> Iterator[tuple[int, list[Change]]]:
        batch: list[Change] = []
        for change in self._in_memory(since):
            if change.revision > upto:
                continue
            # Keep changes of one commit together: they may share a revision.
            if len(batch) >= _CHANGES_A_BATCH and change.revision != batch[-1].revision:
                yield change.revision, batch[::-1]
                batch = []
            batch.append(change)
        yield since, batch[::-1]

    def _in_memory(self, since: int) -> Iterator[Change]:
        """The changes in memory, newest first."""
        if self._key:
            [collection] = self._collections.values()
            changes = [
                change for change in collection.changes_of(self._key) if change.revision > since
            ]
            return reversed(changes)
        parts = [
            reversed(collection.events_after(since)) for collection in self._collections.values()
        ]
        return merge(*parts, key=_revision, reverse=True)

    async def _stored(self, after: int, upto: int) -> AsyncIterator[Change]:
        resource = next(iter(self._collections)) if len(self._collections) == 1 else ""
        while after < upto:
            steps = await self._store.log.changes(resource, after, upto, self._key)
            if not steps:
                return
            for step in steps:
                collection = self._collections.get(step.row.resource)
                if collection is not None:
                    yield change_of(collection, step)
            after = steps[-1].row.revision


async def _item(make_item: MakeItem, change: Change) -> Item | None:
    document = await make_item(change)
    return Item(change.revision, document) if document is not None else None
