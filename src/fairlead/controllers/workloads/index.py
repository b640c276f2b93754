"""Indexes for workload controllers: objects by their controller, and owners by selector.

An index reads committed changes when it is queried, so a controller that awaited a write finds it
there. That replaces the expectations that other implementations keep.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import Generic, TypeVar

from fairlead.base import budget
from fairlead.base.slices import TimeSlices
from fairlead.controllers.workloads.owners import controller_of
from fairlead.operations.api import Object
from fairlead.resources.rules import selector_matches
from fairlead.storage.collection import Collection
from fairlead.storage.version import Change, Version

T = TypeVar("T")


class Index(ABC):
    """An index of a collection that updates itself on each query."""

    def __init__(self, collection: Collection) -> None:
        self._collection = collection
        self._position = -1

    def _catch_up(self) -> None:
        collection = self._collection
        if collection.last_revision > self._position:
            if self._position < collection.floor:
                self._put_all(collection.current(""))
            else:
                for change in collection.events_after(self._position):
                    self._put(change.key, change.after)
        self._position = max(collection.last_revision, collection.floor)

    @abstractmethod
    def _put(self, key: str, version: Version | None) -> None:
        """Set the version of a key, or remove it."""

    @abstractmethod
    def _keys(self) -> Iterable[str]:
        """All indexed keys."""

    def _put_all(self, versions: list[Version]) -> None:
        """The event history does not reach back far enough: rebuild from current versions."""
        for key in set(self._keys()) - {version.key for version in versions}:
            self._put(key, None)
        for version in versions:
            self._put(version.key, version)


class Cell(Generic[T]):
    """A version and its lazily decoded value."""

    __slots__ = ("value", "version")

    def __init__(self, version: Version) -> None:
        self.version = version
        self.value: T | None = None


class Owned(Index, Generic[T]):
    """Objects of a resource by controller. `read` decodes a version; the result is cached and
    shared, so callers must not modify it."""

    def __init__(self, collection: Collection, read: Callable[[Version], T]) -> None:
        super().__init__(collection)
        self._read = read
        self._group_of: dict[str, str] = {}
        self._groups: dict[str, dict[str, Cell[T]]] = {}

    async def read_ahead(self, owner: Object) -> None:
        """Decode the objects of this controller and those without one, yielding to the event loop,
        since there may be many. `of` and `orphans` then use the cache."""
        self._catch_up()
        metadata, slices = owner["metadata"], TimeSlices()
        for uid in (metadata["uid"], ""):
            cells = self._groups.get(f"{metadata['namespace']}/{uid}", {}).values()
            for cell in [cell for cell in cells if cell.value is None]:
                await slices.pause()
                size = len(cell.version.body or b"")
                cell.value = await budget.run(size, self._read, cell.version)

    def of(self, owner: Object) -> list[T]:
        """The objects in the owner's namespace that it controls."""
        metadata = owner["metadata"]
        return self._members(f"{metadata['namespace']}/{metadata['uid']}")

    def orphans(self, namespace: str) -> list[T]:
        """The objects of a namespace without a controller."""
        return self._members(f"{namespace}/")

    def _members(self, group: str) -> list[T]:
        self._catch_up()
        return [self._value(cell) for cell in self._groups.get(group, {}).values()]

    def _value(self, cell: Cell[T]) -> T:
        if cell.value is None:
            cell.value = self._read(cell.version)
        return cell.value

    def _keys(self) -> Iterable[str]:
        return self._group_of

    def _put(self, key: str, version: Version | None) -> None:
        before = self._group_of.get(key)
        if version is None:
            if before is not None:
                del self._group_of[key]
                self._leave(before, key)
            return
        controller = controller_of(version)
        group = f"{version.namespace}/{controller['uid'] if controller else ''}"
        if before is not None and before != group:
            self._leave(before, key)
        members = self._groups.setdefault(group, {})
        previous = members.get(key)
        if previous is None or previous.version is not version:
            members[key] = Cell(version)
        self._group_of[key] = group

    def _leave(self, group: str, key: str) -> None:
        members = self._groups[group]
        del members[key]
        if not members:
            del self._groups[group]


class Selectors(Index):
    """The selectors of the owners of a kind; `selector_of` reads the selector of an owner."""

    def __init__(
        self, collection: Collection, selector_of: Callable[[Object], Object | None]
    ) -> None:
        super().__init__(collection)
        self._selector_of = selector_of
        self._spaces: dict[str, dict[str, Cell[Object]]] = {}

    def selecting(self, version: Version) -> list[str]:
        """Keys of the owners in the object's namespace that select it."""
        self._catch_up()
        selectors = self._spaces.get(version.namespace)
        if not selectors or not version.labels:
            return []
        labels = dict(version.labels)
        return [
            key for key, cell in selectors.items() if selector_matches(self._value(cell), labels)
        ]

    def _value(self, cell: Cell[Object]) -> Object | None:
        if cell.value is None:
            cell.value = self._selector_of(cell.version.object())
        return cell.value

    def _keys(self) -> Iterable[str]:
        return [key for selectors in self._spaces.values() for key in selectors]

    def _put(self, key: str, version: Version | None) -> None:
        namespace = key.rpartition("/")[0]
        selectors = self._spaces.setdefault(namespace, {})
        if version is not None:
            selectors[key] = Cell(version)
            return
        selectors.pop(key, None)
        if not selectors:
            del self._spaces[namespace]


def owners_concerned(change: Change, kind: str, selectors: Selectors) -> set[str]:
    """Keys of the owners of a kind to sync after a change of a dependent: its controller before and
    after, and, if it has none, the owners that may adopt it."""
    owners = set()
    for version in (change.before, change.after):
        controller = controller_of(version) if version is not None else None
        if controller is not None:
            if controller["kind"] == kind:
                owners.add(f"{change.namespace}/{controller['name']}")
        elif version is not None and version is change.after:
            owners.update(selectors.selecting(version))
    return owners


# The view that controllers have of dependent objects.


class Dependent:
    """The metadata of an object that has a controller or may be adopted. Immutable."""

    __slots__ = ("created", "deleting", "labels", "name", "namespace", "uid")

    def __init__(self, version: Version, value: Object) -> None:
        metadata = value["metadata"]
        self.namespace = version.namespace
        self.name: str = metadata["name"]
        self.uid: str = metadata["uid"]
        self.created: str = metadata["creationTimestamp"]
        self.labels: dict[str, str] = metadata.get("labels") or {}
        self.deleting = metadata.get("deletionTimestamp") is not None


class FullDependent(Dependent):
    """A dependent with its complete value."""

    __slots__ = ("value",)

    def __init__(self, version: Version, value: Object) -> None:
        super().__init__(version, value)
        self.value = value


def read_full(version: Version) -> FullDependent:
    return FullDependent(version, version.object())
