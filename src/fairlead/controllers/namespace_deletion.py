"""A namespace that is being deleted is emptied, and goes when it is empty."""

from __future__ import annotations

from collections.abc import Mapping

from fairlead.controllers.framework import Keys
from fairlead.controllers.namespaces import NAMESPACES, name_of
from fairlead.kinds.core.namespaces import CONTENT_FINALIZER
from fairlead.operations.api import Api, Object
from fairlead.operations.client import Client

_LOOK_AGAIN = 0.5


class NamespaceDeletion:
    """Keys are names of namespaces. What finalizers or grace periods hold back is looked at again
    until it is gone."""

    name = "namespace-controller"
    workers = 2

    def __init__(self, api: Api, objects: Client) -> None:
        self._api = api
        self._objects = objects

    def follows(self) -> Mapping[str, Keys]:
        return {NAMESPACES: name_of}

    async def sync(self, key: str) -> float | None:
        namespace = self._objects.find(NAMESPACES, "", key)
        if namespace is None or not namespace["metadata"].get("deletionTimestamp"):
            return None
        if await self._empty(key):
            return _LOOK_AGAIN
        await self._objects.change(NAMESPACES, "", key, _finalized, "finalize")
        return None

    async def _empty(self, namespace: str) -> int:
        """Delete all content; gives how much of it is left."""
        left = 0
        for resource in self._content():
            collection = self._api.collection(self._api.resources.named(resource))
            for entry in collection.current(namespace):
                if not entry.object()["metadata"].get("deletionTimestamp"):
                    await self._objects.delete(resource, namespace, entry.name)
            left += len(collection.current(namespace))
        return left

    def _content(self) -> list[str]:
        """The resources that lie in namespaces, each in the version that is stored."""
        return [
            resource.key
            for found in self._api.resources.group_versions()
            for resource in found.resources.values()
            if resource.namespaced
            and "delete" in resource.verbs
            and resource.stored_version == found.table_name
        ]


def _finalized(namespace: Object) -> Object:
    spec = namespace.get("spec") or {}
    left = [name for name in spec.get("finalizers") or () if name != CONTENT_FINALIZER]
    return {**namespace, "spec": {**spec, "finalizers": left}}
