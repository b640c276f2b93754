"""Snapshots: the whole stored state at a revision, and restoring it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

from fairlead.api.testing.memory_objects import Handlers, ObjectTable, create_handler
from fairlead.operations.api import Object
from fairlead.operations.operation import Operation
from fairlead.storage.backend import Compacted, Write
from fairlead.storage.collection import Collection
from fairlead.storage.store import Store
from fairlead.storage.version import Version, encoded_of

KEY = "testing/v1/snapshots"
_MAX_SNAPSHOTS = 100


class Snapshot:
    """The state of all collections. Versions are immutable, so it suffices to keep references to
    them."""

    def __init__(self, store: Store, value: Object) -> None:
        self._metadata = value["metadata"]
        self._revision = store.revision
        self._store = store
        self._state = {
            collection.resource: {version.key: version for version in collection.current("")}
            for collection in store.collections()
        }

    def document(self) -> Object:
        count = sum(map(len, self._state.values()))
        status = {"resourceVersion": str(self._revision), "objects": count}
        return {"metadata": self._metadata, "status": status}

    async def restore(self) -> int:
        """Restore the state in one commit; returns the number of objects that changed. Raises
        StorageError."""
        store = self._store
        await store.wait_all_committed()
        self._end_watches()
        writes = [
            write for collection in store.collections() for write in self._writes_of(collection)
        ]
        versions = await store.append_unchecked(writes)
        for write, version in zip(writes, versions, strict=True):
            if write.value is not None:  # the same object under its new revision
                self._state[write.resource][write.key] = version
        store.drop_history(store.revision)
        return len(writes)

    def _end_watches(self) -> None:
        """End all watches, as restoring a real store does: clients must list again."""
        error = Compacted(self._store.revision)
        for collection in self._store.collections():
            for watcher in list(collection.audience):
                watcher.expire(error)

    def _writes_of(self, collection: Collection) -> Iterator[Write]:
        old_versions = self._state.get(collection.resource, {})
        new_versions = {version.key: version for version in collection.current("")}
        for key, version in old_versions.items():
            current = new_versions.get(key)
            if current is not version:
                yield _restoring_write(collection, version, current)
        for key, version in new_versions.items():
            if key not in old_versions:
                yield Write(collection.resource, key, version.api_version, None, version.revision)


def _restoring_write(collection: Collection, version: Version, current: Version | None) -> Write:
    assert version.body is not None
    revision = current.revision if current is not None else 0
    value = encoded_of(version.body)
    return Write(collection.resource, version.key, version.api_version, value, revision)


class Snapshots:
    """The snapshots of a server."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._restoring = asyncio.Lock()
        self._table = ObjectTable[Snapshot](lambda value: Snapshot(store, value), _MAX_SNAPSHOTS)

    def handlers(self) -> Handlers:
        restore = {(f"{KEY}/restore", "create"): create_handler(self._restore)}
        return {**self._table.handlers(KEY), **restore}

    async def wait_for_restore(self) -> None:
        """Wait while a restore runs: constant writes would delay it forever."""
        if self._restoring.locked():
            async with self._restoring:
                pass

    async def _restore(self, operation: Operation, value: Object) -> Object:
        async with self._restoring:
            changed = await self._table.find(operation).restore()
        status = {"resourceVersion": str(self._store.revision), "changed": changed}
        return {"metadata": {"name": operation.name}, "status": status}
