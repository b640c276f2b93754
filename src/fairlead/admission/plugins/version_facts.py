"""Facts derived from stored objects, cached per version of the object, and waiting for objects."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import Generic, TypeVar

from fairlead.base import budget
from fairlead.storage.collection import Collection
from fairlead.storage.version import Version

Fact = TypeVar("Fact")

# The watch cache of a resource, by its internal name.
FindCollection = Callable[[str], Collection]
# The newest version of a namespace, for plugins whose decision depends on the write's own
# namespace.
FindNamespace = Callable[[str], Version | None]
MAX_CACHED = 4096
_RETRY_SECONDS = 0.02


async def wait_for_object(
    find: Callable[[], Version | None], seconds: float, use: Callable[[Version | None], None]
) -> None:
    """Pass an object to `use` as soon as it is stored, or None if it is not there in time."""
    loop = asyncio.get_running_loop()
    end = loop.time() + seconds
    entry = None
    while entry is None and loop.time() < end:
        await asyncio.sleep(_RETRY_SECONDS)
        entry = find()
    use(entry)


class PerObjectCache(Generic[Fact]):
    """One fact per object of a resource. The cache is cleared when it has MAX_CACHED entries."""

    def __init__(self, compute: Callable[[Version], Fact]) -> None:
        self._compute = compute
        self._cache: dict[str, tuple[int, Fact]] = {}

    def of(self, entry: Version) -> Fact:
        cached = self._cache.get(entry.key)
        if cached is not None and cached[0] == entry.revision:
            return cached[1]
        return self._keep(entry, self._compute(entry))

    async def of_large(self, entry: Version) -> Fact:
        """Like `of`, but computes the fact of a large object in a thread."""
        cached = self._cache.get(entry.key)
        if cached is not None and cached[0] == entry.revision:
            return cached[1]
        return self._keep(entry, await budget.run(len(entry.body or b""), self._compute, entry))

    def _keep(self, entry: Version, fact: Fact) -> Fact:
        if len(self._cache) >= MAX_CACHED:
            self._cache.clear()
        self._cache[entry.key] = (entry.revision, fact)
        return fact


class PerCollectionCache(Generic[Fact]):
    """One fact about all objects of a resource, recomputed when the collection changes."""

    def __init__(
        self, find: FindCollection, key: str, compute: Callable[[Iterable[Version]], Fact]
    ) -> None:
        self._collection = find(key)
        self._compute = compute
        self._revision = -1
        self._fact: Fact | None = None

    def get(self) -> Fact | None:
        collection = self._collection
        if collection.last_revision != self._revision:
            self._fact = self._compute(collection.current(""))
            self._revision = collection.last_revision
        return self._fact
