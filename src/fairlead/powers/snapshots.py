"""Going back to what was: all that is stored at one moment, and the way back to it."""

from __future__ import annotations

from collections.abc import Iterator

from fairlead.errors import StatusError
from fairlead.operations.api import Object
from fairlead.operations.operation import Operation
from fairlead.powers.kept import Handlers, Shelf, acting
from fairlead.storage.backend import Compacted, ConditionFailed, Conflict, Write
from fairlead.storage.collection import Collection
from fairlead.storage.store import Store
from fairlead.storage.version import Version, encoded_of

KEY = "testing/v1/snapshots"
_MOST = 100
_TRIES = 20


class Snapshot:
    """Versions are never altered: keeping them in mind is all that it takes."""

    def __init__(self, store: Store, value: Object) -> None:
        self._metadata = value["metadata"]
        self._revision = store.revision
        self.state = {
            collection.resource: {version.key: version for version in collection.current("")}
            for collection in store.collections()
        }

    def shown(self) -> Object:
        count = sum(map(len, self.state.values()))
        status = {"resourceVersion": str(self._revision), "objects": count}
        return {"metadata": self._metadata, "status": status}


class Snapshots:
    """Takes them and goes back to them."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._shelf = Shelf[Snapshot](lambda value: Snapshot(store, value), _MOST)

    def handlers(self) -> Handlers:
        restore = {(f"{KEY}/restore", "create"): acting(self._restore)}
        return {**self._shelf.handlers(KEY), **restore}

    async def _restore(self, operation: Operation, value: Object) -> Object:
        snapshot = self._shelf.find(operation)
        for _ in range(_TRIES):
            self._end_watches()
            writes = list(self._way_back(snapshot))
            try:
                if writes:
                    await self._store.append(writes)
            except (Conflict, ConditionFailed):
                continue  # somebody has written meanwhile
            await self._store.compact(self._store.revision)
            status = {"resourceVersion": str(self._store.revision), "changed": len(writes)}
            return {"metadata": {"name": operation.name}, "status": status}
        raise StatusError(409, "Conflict", "others keep writing: the state cannot be put back")

    def _end_watches(self) -> None:
        """As after a restore of a real store: whoever watches has to list again."""
        gone = Compacted(self._store.revision)
        for collection in self._store.collections():
            for watcher in list(collection.watchers()):
                watcher.expire(gone)

    def _way_back(self, snapshot: Snapshot) -> Iterator[Write]:
        for collection in self._store.collections():
            was = snapshot.state.get(collection.resource, {})
            now = {version.key: version for version in self._newest(collection)}
            for key, version in was.items():
                current = now.get(key)
                if current is not version:
                    yield _put(collection, version, current)
            for key, version in now.items():
                if key not in was:
                    yield Write(
                        collection.resource, key, version.api_version, None, version.revision, ()
                    )

    @staticmethod
    def _newest(collection: Collection) -> list[Version]:
        return collection.current("")


def _put(collection: Collection, version: Version, current: Version | None) -> Write:
    assert version.body is not None
    revision = current.revision if current is not None else 0
    return Write(
        collection.resource,
        version.key,
        version.api_version,
        encoded_of(version.body),
        revision,
        (),
    )
