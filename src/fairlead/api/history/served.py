"""Which served resource the objects of a collection are told as."""

from __future__ import annotations

from collections.abc import Mapping

from fairlead.operations.api import Api
from fairlead.resources.registry import Resource
from fairlead.storage.collection import Collection

_NOISY = ("events", "leases")  # written all the time, and by nobody's wish


class Told:
    """A collection, and the resource under which clients hear of it."""

    __slots__ = ("collection", "names", "noisy", "resource")

    def __init__(self, resource: Resource, collection: Collection) -> None:
        self.resource = resource
        self.collection = collection
        self.noisy = resource.name in _NOISY and resource.custom is None
        self.names = {
            "group": resource.group,
            "version": resource.group_version.version,
            "kind": resource.kind,
            "resource": resource.name,
        }


class Served:
    """All collections of what is served, by their names in the store; worked out again when
    something else is served."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self._generation = -1
        self._told: dict[str, Told] = {}

    @property
    def told(self) -> Mapping[str, Told]:
        resources = self._api.resources
        if self._generation != resources.generation:
            self._generation = resources.generation
            self._told = {}
            for found in resources.group_versions():  # the preferred versions come first
                for resource in found.resources.values():
                    if "list" in resource.verbs and "watch" in resource.verbs:
                        collection = self._api.collection(resource)
                        told = Told(resource, collection)
                        self._told.setdefault(collection.resource, told)
        return self._told

    def chosen(self, namespace: str, *, noisy: bool) -> dict[str, Told]:
        """Those that have something in a namespace, or anywhere."""
        return {
            name: one
            for name, one in self.told.items()
            if (noisy or not one.noisy) and (not namespace or one.resource.namespaced)
        }
