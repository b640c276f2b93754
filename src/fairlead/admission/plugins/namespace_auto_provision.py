"""NamespaceAutoProvision: creates the namespace of a new object if it is missing."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from fairlead.admission.plugin import CREATE, Attributes
from fairlead.admission.plugins.base import PluginBase
from fairlead.admission.plugins.namespace_exists import NAMESPACES
from fairlead.admission.plugins.namespace_lifecycle import Find

# Creates a namespace; succeeds if it exists.
CreateNamespace = Callable[[str], Awaitable[None]]


class NamespaceAutoProvision(PluginBase):
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
