"""Reading history that memory no longer has: off the loop, a bounded piece at a time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from fairlead.storage.backend import Backend, Row, Step
from fairlead.storage.change import Change
from fairlead.storage.collection import Collection, Page, key_range
from fairlead.storage.selection import Selection
from fairlead.storage.version import Version, body_of

Result = TypeVar("Result")


class Past:
    """Older states and changes, from the backend."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._reader = ThreadPoolExecutor(1, "fairlead-reader")

    def close(self) -> None:
        self._reader.shutdown(cancel_futures=True)

    async def read(self, call: Callable[[], Result]) -> Result:
        return await asyncio.get_running_loop().run_in_executor(self._reader, call)

    async def replay(
        self, collection: Collection, after: int, upto: int, recent: list[Change]
    ) -> AsyncIterator[list[Change]]:
        """The changes after a revision up to another one, then the recent ones."""
        resource = collection.resource
        while after < upto:
            steps = await self.read(_changes(self._backend, resource, after, upto))
            if not steps:
                break
            yield [_change(collection, step) for step in steps]
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
            rows, more = await self.read(
                _state(self._backend, collection.resource, revision, at, below, wanted)
            )
            versions = [_version(collection, row) for row in rows]
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


def _changes(backend: Backend, resource: str, after: int, upto: int) -> Callable[[], list[Step]]:
    return lambda: backend.changes(resource, after, upto)


def _state(
    backend: Backend, resource: str, revision: int, after: str, below: str | None, limit: int
) -> Callable[[], tuple[list[Row], int]]:
    return lambda: backend.state(resource, revision, after, below, limit)


def _version(collection: Collection, row: Row) -> Version:
    body = body_of(row.value, row.revision) if row.value is not None else None
    return Version(row.key, row.revision, row.api_version, body, collection.fields_of)


def _change(collection: Collection, step: Step) -> Change:
    row = step.row
    return Change(
        row.resource,
        row.key,
        row.revision,
        row.api_version,
        _version(collection, step.before) if step.before is not None else None,
        _version(collection, row) if row.value is not None else None,
    )
