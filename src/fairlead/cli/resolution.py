"""Resolves objects of files to their resource and namespace on the server, and orders them."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from time import monotonic
from typing import Any, NamedTuple

from fairlead.cli.errors import CommandError
from fairlead.cli.invocation import Invocation
from fairlead.cli.manifests import Manifest, Object, manifests
from fairlead.cli.targets import checked_name
from fairlead.client import Resource, UnknownKind

_DEFINITION = "CustomResourceDefinition"
_DISCOVERY_TIMEOUT = 30.0  # seconds until a new kind must be served
_PAUSE = 0.05


class ResolvedObject(NamedTuple):
    """An object, its resource and its namespace (empty if it is cluster-scoped)."""

    resource: Resource
    value: Object
    namespace: str
    origin: str = ""

    @property
    def name(self) -> str:
        return str(self.value["metadata"].get("name") or "")


def files_of(invocation: Invocation, doing: str) -> list[Manifest]:
    """The objects of the files in -f; raises CommandFailed."""
    if not invocation.options.filename:
        raise CommandError("a file is missing: -f FILE, or -k FOLDER for a kustomization")
    found_manifests = manifests(invocation.options.filename, invocation.options.recursive)
    if not found_manifests:
        raise CommandError(f"no objects passed to {doing}")
    return found_manifests


class Resolver:
    """Resolves manifests to resources. A kind whose definition the same command passed to
    `remember` may not be served yet: discovery is repeated for up to 30 seconds."""

    def __init__(self, invocation: Invocation) -> None:
        self._invocation = invocation
        self._defined: set[tuple[str, str]] = set()

    def remember(self, value: Object) -> None:
        self._defined |= defined_kinds(value)

    async def of(self, manifest: Manifest) -> ResolvedObject:
        """Raises CommandFailed."""
        value = {**manifest.value, "metadata": dict(manifest.value.get("metadata") or {})}
        try:
            resource = await self._resource(value)
        except UnknownKind as error:
            metadata = value["metadata"]
            raise CommandError(
                f'{manifest.origin}: "{metadata.get("name") or ""}" cannot be sent: {error}\n'
                "if a CustomResourceDefinition defines this kind, create it first"
            ) from None
        namespace = ""
        if resource.type.namespaced:
            namespace = _namespace_of(self._invocation, value)
            value["metadata"]["namespace"] = namespace
        return ResolvedObject(resource, value, namespace, manifest.origin)

    async def _resource(self, value: Object) -> Resource:
        client = self._invocation.client
        ends = monotonic() + _DISCOVERY_TIMEOUT
        while True:
            try:
                return await client.resource_of(value)
            except UnknownKind:
                group = value["apiVersion"].rpartition("/")[0]
                if (group, value["kind"]) not in self._defined or monotonic() > ends:
                    raise
            await asyncio.sleep(_PAUSE)
            client.discovery.forget()


def _namespace_of(invocation: Invocation, value: Object) -> str:
    namespace = value["metadata"].get("namespace")
    if not namespace:
        return invocation.namespace
    if invocation.options.namespace and namespace != invocation.options.namespace:
        raise CommandError(
            f"the file says namespace {namespace} and -n {invocation.options.namespace}:"
            f" leave out -n, or give -n {namespace}"
        )
    return str(namespace)


def defined_kinds(value: Object) -> set[tuple[str, str]]:
    """The group and kind of a CustomResourceDefinition; empty for other objects."""
    if value["kind"] != _DEFINITION:
        return set()
    spec: Any = value.get("spec") or {}
    names: Any = spec.get("names") or {} if isinstance(spec, dict) else {}
    if not isinstance(names, dict):
        return set()
    return {(str(spec.get("group")), str(names.get("kind")))}


def require_name(resolved: ResolvedObject, doing: str = "") -> str:
    """The name of the object; raises CommandFailed if it has none."""
    if not resolved.name:
        generated = resolved.value["metadata"].get("generateName")
        if generated and doing:
            raise CommandError(f"{generated}: {doing} needs a name, not generateName")
    return checked_name(resolved.name)


# The order in which objects of files are applied.


def order_manifests(manifests: Sequence[Manifest], default_namespace: str) -> list[Manifest]:
    """Keep the order of the files, but move objects to the end if their definition or namespace
    comes later in the files. `default_namespace` is that of objects that name none."""
    kinds = set[tuple[str, str]]().union(*(defined_kinds(manifest.value) for manifest in manifests))
    namespaces = {_name(manifest) for manifest in manifests if _is_namespace(manifest)}
    early: list[Manifest] = []
    late: list[Manifest] = []
    for manifest in manifests:
        if _is_namespace(manifest):
            namespaces.discard(_name(manifest))
            early.append(manifest)
        elif defined_kinds(manifest.value):
            kinds -= defined_kinds(manifest.value)
            early.append(manifest)
        else:
            namespace = (manifest.value.get("metadata") or {}).get("namespace") or default_namespace
            (late if _kind(manifest) in kinds or namespace in namespaces else early).append(
                manifest
            )
    return early + late


def _kind(manifest: Manifest) -> tuple[str, str]:
    return manifest.value["apiVersion"].rpartition("/")[0], manifest.value["kind"]


def _is_namespace(manifest: Manifest) -> bool:
    return _kind(manifest) == ("", "Namespace")


def _name(manifest: Manifest) -> str:
    return str((manifest.value.get("metadata") or {}).get("name") or "")
