"""The view that controllers have of dependent objects."""

from __future__ import annotations

from fairlead.operations.api import Object
from fairlead.storage.version import Version


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
