"""NamespaceLifecycle: rejects creates in a missing or terminating namespace, and the deletion of
system namespaces."""

from __future__ import annotations

from collections.abc import Callable

from fairlead.admission.plugin import CREATE, DELETE, Attributes, PluginBase
from fairlead.admission.plugins.base import mutation_error
from fairlead.base.dialect import Dialect
from fairlead.base.errors import Cause, ResourceRef, forbidden, not_found
from fairlead.storage.backend import Precondition
from fairlead.storage.version import Version

# The newest version of an object, by internal resource name, namespace and name.
Find = Callable[[str, str, str], Version | None]


class NamespaceLifecycle(PluginBase):
    name = "NamespaceLifecycle"

    def __init__(self, dialect: Dialect, find: Find) -> None:
        self._find = find
        self._undeletable = ("default", dialect.system_namespace, dialect.public_namespace)

    def admit(self, attributes: Attributes) -> None:
        resource = attributes.resource
        if attributes.operation == DELETE and resource.key == "core/v1/namespaces":
            if attributes.name in self._undeletable:
                raise forbidden(resource.ref(attributes.name), "this namespace may not be deleted")
            return
        if attributes.operation != CREATE or not resource.namespaced:
            return
        if resource.key == "authorization/v1/localsubjectaccessreviews":
            return
        self._check_alive(attributes)

    def _check_alive(self, attributes: Attributes) -> None:
        namespace = attributes.namespace
        entry = self._find("core/v1/namespaces", "", namespace)
        if entry is None:
            raise not_found(ResourceRef("", "namespaces", namespace))
        unchanged = Precondition("core/namespaces", namespace, entry.revision)
        attributes.context.requires.append(unchanged)
        if entry.fields["status.phase"] == "Terminating":
            cause = Cause(
                "NamespaceTerminating",
                f"namespace {namespace} is being terminated",
                "metadata.namespace",
            )
            raise mutation_error(
                attributes,
                f"unable to create new content in namespace {namespace} because it is being"
                " terminated",
                [cause],
            )
