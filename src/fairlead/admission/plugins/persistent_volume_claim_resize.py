"""PersistentVolumeClaimResize: a claim may grow only if its class allows expansion."""

from __future__ import annotations

from decimal import Decimal

from fairlead.admission.plugin import UPDATE, Attributes
from fairlead.admission.plugins.base import Object, PluginBase, refusal
from fairlead.admission.plugins.default_storage_class import CLAIMS, CLASSES
from fairlead.admission.plugins.namespace_lifecycle import Find
from fairlead.base.dialect import Dialect
from fairlead.codec.types.quantity import quantity
from fairlead.resources.core.persistent_volumes import CLASS_ANNOTATION

_NOT_BOUND = "only bound persistent volume claims can be expanded"
_NOT_GROWING = (
    "only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc"
    " must support resize"
)


class PersistentVolumeClaimResize(PluginBase):
    name = "PersistentVolumeClaimResize"
    concerns: frozenset[str] | None = frozenset({CLAIMS})

    def __init__(self, dialect: Dialect, find: Find) -> None:
        self._find = find
        self._class_annotation = dialect.label(CLASS_ANNOTATION)

    def validate(self, attributes: Attributes) -> None:
        if attributes.resource.key != CLAIMS or attributes.operation != UPDATE:
            return
        value, old = attributes.value, attributes.old
        assert value is not None
        assert old is not None
        if _size(value) <= _size(old):
            return
        if (old.get("status") or {}).get("phase") != "Bound":
            raise refusal(attributes, _NOT_BOUND)
        name = self._class_name(value)
        if not name or name != self._class_name(old) or not self._grows(name):
            raise refusal(attributes, _NOT_GROWING)

    def _class_name(self, claim: Object) -> str:
        annotations = claim["metadata"].get("annotations") or {}
        named: str = annotations.get(
            self._class_annotation, claim["spec"].get("storageClassName") or ""
        )
        return named

    def _grows(self, name: str) -> bool:
        entry = self._find(CLASSES, "", name)
        return entry is not None and bool(entry.object().get("allowVolumeExpansion"))


def _size(claim: Object) -> Decimal:
    requests = (claim["spec"].get("resources") or {}).get("requests") or {}
    return quantity(requests.get("storage", "0"))
