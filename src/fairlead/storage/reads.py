"""Reads that may take long: scans of the cache, which yield to the event loop every few
milliseconds, and history that memory no longer has, which is read from the log in bounded
pieces."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from itertools import islice

from fairlead.base.slices import TimeSlices
from fairlead.storage.backend import Compacted, Row, Step
from fairlead.storage.collection import FEW, Collection, Indexes, Page, key_range
from fairlead.storage.log import Log
from fairlead.storage.selection import EVERYTHING, Fact, Selection
from fairlead.storage.version import Change, Version, body_of

_BATCH = 64  # versions between two looks at the clock


async def in_batches(versions: Sequence[Version]) -> AsyncIterator[Sequence[Version]]:
    """Yield batches of 64 versions, in slices of time on the event loop."""
    slices = TimeSlices()
    for start in range(0, len(versions), _BATCH):
        await slices.pause()
        yield versions[start : start + _BATCH]


async def filter_versions(
    versions: Sequence[Version], selection: Selection, limit: int = 0
) -> list[Version]:
    """Return the selected versions in their order, at most `limit` (0: all)."""
    selected: list[Version] = []
    async for batch in in_batches(versions):
        selected += filter(selection.matches, batch)
        if limit and len(selected) >= limit:
            return selected[:limit]
    return selected


async def select(collection: Collection, namespace: str, selection: Selection) -> list[Version]:
    """As `Collection.current`, of the state at the call. Call `prepare_index` first to use an
    index."""
    within = namespace or selection.namespace or ""
    if not selection or (within and selection.name is not None):
        return collection.current(namespace, selection)
    return await filter_versions(collection.candidates(within, selection), selection)


async def read_page(
    collection: Collection,
    namespace: str,
    selection: Selection,
    revision: int,
    limit: int,
    after: str | None,
) -> Page:
    """Return up to `limit` versions (0: all) of the state at `revision` with keys above `after`.
    Raises Compacted for revisions below the floor; see `Store.page`."""
    if revision < collection.floor:
        raise Compacted(revision)
    keys = collection.keys_at(namespace, selection, revision, after)
    state = collection.state_at(keys, revision)
    if selection:
        versions = await filter_versions(list(state), selection, limit)
        return _selected_page(collection, namespace, selection, revision, limit, versions)
    versions = list(islice(state, min(limit, len(collection.keys)) + 1 if limit else None))
    if not limit or len(versions) <= limit:
        return Page(versions, None, None)
    last = versions[limit - 1].key
    return Page(versions[:limit], last, collection.count_after(namespace, last, revision))


def _selected_page(
    collection: Collection,
    namespace: str,
    selection: Selection,
    revision: int,
    limit: int,
    versions: list[Version],
) -> Page:
    """A full page continues if any object follows, selected or not, as in the reference: it does
    not look further than the last object of a page."""
    if not limit or len(versions) < limit or _is_single(namespace, selection):
        return Page(versions, None, None)
    last = versions[-1].key
    keys = collection.keys_at(namespace, EVERYTHING, revision, last)
    follows = next(collection.state_at(keys, revision), None) is not None
    return Page(versions, last if follows else None, None)


def _is_single(namespace: str, selection: Selection) -> bool:
    """Whether a selection names one object, which is read instead of listed."""
    return selection.name is not None and bool(namespace)


async def prepare_index(collection: Collection, namespace: str, selection: Selection) -> None:
    """Build an index for a selection that would otherwise scan many objects."""
    within = namespace or selection.namespace or ""
    is_named = bool(within) and selection.name is not None
    if not selection or is_named or collection.count_in(within) <= FEW:
        return
    indexes, hints = collection.indexes, selection.hints
    while hints and not any(hint.fact in indexes.built for hint in hints):
        fact = hints[0].fact
        if fact in indexes.building:
            await indexes.building[fact].ready.wait()
        else:
            await _build_index(indexes, fact, collection.heads)


async def _build_index(indexes: Indexes, fact: Fact, heads: Mapping[str, Version]) -> None:
    index, complete = indexes.begin(fact), False
    try:
        async for versions in in_batches(list(heads.values())):
            if indexes.building.get(fact) is not index:
                return
            for version in versions:
                # `changed` has already indexed objects that changed meanwhile.
                if version.body is not None and heads.get(version.key) is version:
                    index.put(version)
        complete = True
    finally:
        indexes.end(index, complete=complete)


class HistoryReader:
    """Reads older states and changes from the log."""

    def __init__(self, log: Log) -> None:
        self._log = log

    async def replay(
        self, collection: Collection, after: int, upto: int, recent: list[Change]
    ) -> AsyncIterator[list[Change]]:
        """Yield the changes after a revision up to another one, then the recent ones."""
        resource = collection.resource
        while after < upto:
            steps = await self._log.changes(resource, after, upto)
            if not steps:
                break
            yield [change_of(collection, step) for step in steps]
            after = steps[-1].row.revision
        if recent:
            yield recent

    async def page(
        self,
        collection: Collection,
        namespace: str,
        selection: Selection,
        revision: int,
        limit: int,
        after: str | None,
    ) -> Page:
        """As `read_page`."""
        low, below = key_range(namespace)
        last_key = after if after is not None else low
        selected: list[Version] = []
        while True:
            page_size = limit + 1 - len(selected) if limit and not selection else 0
            rows, more = await self._log.state(
                collection.resource, revision, last_key, below, page_size
            )
            versions = [version_of(collection, row) for row in rows]
            selected += [
                version for version in versions if not selection or selection.matches(version)
            ]
            if not rows or not more or (limit and len(selected) >= limit + (not selection)):
                break
            last_key = rows[-1].key
        if not limit or len(selected) < limit or _is_single(namespace, selection):
            return Page(selected, None, None)
        last = selected[limit - 1].key
        follows = bool(more) or (bool(rows) and rows[-1].key > last)
        remaining = None if selection else more + len(selected) - limit
        return Page(selected[:limit], last if follows else None, remaining)


def version_of(collection: Collection, row: Row) -> Version:
    """Convert a row to a version."""
    body = body_of(row.value, row.revision) if row.value is not None else None
    return Version(row.key, row.revision, row.api_version, body, collection.fields_of)


def change_of(collection: Collection, step: Step) -> Change:
    """Convert a step to a change."""
    row = step.row
    return Change(
        row.resource,
        row.key,
        row.revision,
        row.api_version,
        version_of(collection, step.before) if step.before is not None else None,
        version_of(collection, row) if row.value is not None else None,
    )
