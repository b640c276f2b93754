"""NamespaceExists: rejects writes in a missing namespace."""

from __future__ import annotations

from fairlead.admission.plugin import CONNECT, Attributes
from fairlead.admission.plugins.base import PluginBase
from fairlead.admission.plugins.namespace_lifecycle import Find
from fairlead.base.errors import ResourceRef, not_found

NAMESPACES = "core/v1/namespaces"


class NamespaceExists(PluginBase):
    name = "NamespaceExists"

    def __init__(self, find: Find) -> None:
        self._find = find

    def validate(self, attributes: Attributes) -> None:
        namespace = attributes.namespace
        if not attributes.resource.namespaced or not namespace or attributes.operation == CONNECT:
            return
        if self._find(NAMESPACES, "", namespace) is None:
            raise not_found(ResourceRef("", "namespaces", namespace))
