"""NamespaceAutoProvision and NamespaceExists, and facts about namespaces for other plugins."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

from fairlead.admission.plugin import CONNECT, CREATE, Attributes
from fairlead.admission.plugins.base import PluginBase
from fairlead.admission.plugins.namespace_lifecycle import Find
from fairlead.admission.plugins.version_facts import FindNamespace, PerObjectCache
from fairlead.base.errors import ResourceRef, not_found
from fairlead.codec.types.model import Object
from fairlead.storage.version import Version

# Creates a namespace; succeeds if it exists.
CreateNamespace = Callable[[str], Awaitable[None]]


class NamespaceAutoProvision(PluginBase):
    """Creates the namespace of a new object if it is missing."""

    name = "NamespaceAutoProvision"

    def __init__(self, find: Find, create: CreateNamespace) -> None:
        self._find = find
        self._create = create

    async def admit(self, attributes: Attributes) -> None:
        namespace = attributes.namespace
        if attributes.operation != CREATE or not attributes.resource.namespaced or not namespace:
            return
        if attributes.context.dry_run or self._find(NAMESPACES, "", namespace) is not None:
            return
        await self._create(namespace)


NAMESPACES = "core/v1/namespaces"


class NamespaceExists(PluginBase):
    """Rejects writes in a missing namespace."""

    name = "NamespaceExists"

    def __init__(self, find: Find) -> None:
        self._find = find

    def validate(self, attributes: Attributes) -> None:
        namespace = attributes.namespace
        if not attributes.resource.namespaced or not namespace or attributes.operation == CONNECT:
            return
        if self._find(NAMESPACES, "", namespace) is None:
            raise not_found(ResourceRef("", "namespaces", namespace))


Fact = TypeVar("Fact")


class NamespaceFacts(Generic[Fact]):
    """One fact per namespace, computed from its annotations once per version."""

    def __init__(self, find: FindNamespace, compute: Callable[[Object], Fact]) -> None:
        def of(entry: Version) -> Fact:
            return compute(entry.object()["metadata"].get("annotations") or {})

        self._find = find
        self._facts = PerObjectCache(of)

    def of(self, namespace: str) -> Fact:
        """The fact about a namespace; raises NotFound if the namespace is missing."""
        entry = self._find(namespace)
        if entry is None:
            raise not_found(ResourceRef("", "namespaces", namespace))
        return self._facts.of(entry)
