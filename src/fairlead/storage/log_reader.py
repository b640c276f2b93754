"""Reads history that memory no longer has from the log, in bounded pieces."""

from __future__ import annotations

from collections.abc import AsyncIterator

from fairlead.storage.backend import Row, Step
from fairlead.storage.change import Change
from fairlead.storage.collection import Collection, Page, key_range
from fairlead.storage.log import Log
from fairlead.storage.selection import Selection
from fairlead.storage.version import Version, body_of


class Past:
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
        """As `Collection.page`."""
        low, below = key_range(namespace)
        at = after if after is not None else low
        found: list[Version] = []
        while True:
            wanted = limit + 1 - len(found) if limit and not selection else 0
            rows, more = await self._log.state(collection.resource, revision, at, below, wanted)
            versions = [version_of(collection, row) for row in rows]
            found += [
                version for version in versions if not selection or selection.matches(version)
            ]
            if not rows or not more or (limit and len(found) > limit):
                break
            at = rows[-1].key
        if not limit or len(found) <= limit:
            return Page(found, None, None)
        remaining = None if selection else more + len(found) - limit
        return Page(found[:limit], found[limit - 1].key, remaining)


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
