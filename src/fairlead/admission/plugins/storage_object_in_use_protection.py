"""StorageObjectInUseProtection: adds the finalizer that delays the deletion of used volumes and
claims."""

from __future__ import annotations

from fairlead.admission.plugin import CREATE, Attributes
from fairlead.admission.plugins.base import PluginBase
from fairlead.base.dialect import Dialect


class StorageObjectInUseProtection(PluginBase):
    name = "StorageObjectInUseProtection"
    concerns: frozenset[str] | None = frozenset(
        {"core/v1/persistentvolumeclaims", "core/v1/persistentvolumes"}
    )

    def __init__(self, dialect: Dialect) -> None:
        self._finalizers = {
            "core/v1/persistentvolumeclaims": dialect.pvc_protection,
            "core/v1/persistentvolumes": dialect.pv_protection,
        }

    def admit(self, attributes: Attributes) -> None:
        finalizer = self._finalizers.get(attributes.resource.key)
        if finalizer is None or attributes.operation != CREATE:
            return
        assert attributes.value is not None
        metadata = attributes.value["metadata"]
        present = metadata.get("finalizers") or []
        if finalizer not in present:
            metadata["finalizers"] = [*present, finalizer]
