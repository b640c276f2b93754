"""Objects that have a controller, as it sees them."""

from __future__ import annotations

from fairlead.operations.api import Object
from fairlead.storage.version import Version


class Dependent:
    """An object that has a controller or may get one. Nobody changes it."""

    __slots__ = ("created", "deleting", "labels", "name", "namespace", "uid")

    def __init__(self, version: Version, value: Object) -> None:
        metadata = value["metadata"]
        self.namespace = version.namespace
        self.name: str = metadata["name"]
        self.uid: str = metadata["uid"]
        self.created: str = metadata["creationTimestamp"]
        self.labels: dict[str, str] = metadata.get("labels") or {}
        self.deleting = metadata.get("deletionTimestamp") is not None


class Whole(Dependent):
    """One of which everything may count."""

    __slots__ = ("value",)

    def __init__(self, version: Version, value: Object) -> None:
        super().__init__(version, value)
        self.value = value


def read_whole(version: Version) -> Whole:
    return Whole(version, version.object())
