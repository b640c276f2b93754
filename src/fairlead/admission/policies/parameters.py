"""Finds the parameters of a policy for one of its bindings."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence

from fairlead.admission.plugins.version_facts import FindCollection
from fairlead.base.slices import TimeSlices
from fairlead.codec.types.model import Object
from fairlead.resources.registry import Resource, Resources
from fairlead.resources.rules import selector_matches
from fairlead.storage.version import Version

# Reads a stored object in the version of a resource, with its kind and apiVersion.
ReadObject = Callable[[Resource, Version], Awaitable[Object]]


class ConfigurationError(Exception):
    """A policy or a binding that cannot be used for a write; the text says why."""


class Parameters:
    def __init__(self, resources: Resources, collection: FindCollection, read: ReadObject) -> None:
        self._resources = resources
        self._collection = collection
        self._read = read

    def resource(self, kind: Object) -> Resource:
        """The resource of a kind of parameters; raises ConfigurationError."""
        api_version, name = kind.get("apiVersion", ""), kind.get("kind", "")
        found = param_resource(self._resources, kind)
        if found is None:
            group, _, version = api_version.rpartition("/")
            raise ConfigurationError(
                f"failed to find resource referenced by paramKind: '{group}/{version}, Kind={name}'"
            )
        return found

    async def collect(
        self, resource: Resource | None, ref: Object | None, namespace: str
    ) -> Sequence[Object | None]:
        """The parameters that a binding refers to, for a write in a namespace. A single None if
        the policy has no parameters or the binding refers to none. Raises ConfigurationError."""
        if resource is None or ref is None:
            return (None,)
        where = self._namespace(resource, ref, namespace)
        slices = TimeSlices()
        params = []
        async for version in self._find(resource, ref, where, slices):
            await slices.pause()
            params.append(await self._read(resource, version))
        if not params and ref.get("parameterNotFoundAction") == "Deny":
            raise ConfigurationError(
                "no params found for policy binding with `Deny` parameterNotFoundAction"
            )
        return params

    def _namespace(self, resource: Resource, ref: Object, namespace: str) -> str:
        """The namespace of the parameters: that of the reference, else that of the write."""
        chosen: str = ref.get("namespace", "")
        if not resource.namespaced:
            if chosen:
                raise ConfigurationError(
                    "paramRef.namespace must not be provided for a cluster-scoped `paramKind`"
                )
            return ""
        if not chosen and not namespace:
            raise ConfigurationError(
                "cannot use namespaced paramRef in policy binding that matches cluster-scoped"
                " resources"
            )
        return chosen or namespace

    async def _find(
        self, resource: Resource, ref: Object, namespace: str, slices: TimeSlices
    ) -> AsyncIterator[Version]:
        collection = self._collection(resource.key)
        name = ref.get("name")
        if name:
            version = collection.latest(resource.storage_key(namespace, name))
            if version is not None and not version.deleted:
                yield version
            return
        selector = ref.get("selector")
        for version in collection.newest(namespace):
            await slices.pause()
            if selector_matches(selector, version.labels):
                yield version


def param_resource(resources: Resources, kind: Object) -> Resource | None:
    """The resource whose objects are of a kind of parameters."""
    api_version, name = kind.get("apiVersion", ""), kind.get("kind", "")
    return next((resource for resource in resources.of_kind(api_version, name)), None)
