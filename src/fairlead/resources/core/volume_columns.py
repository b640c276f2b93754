"""Columns of persistent volumes and claims."""

from __future__ import annotations

from typing import Any

from fairlead.base.dialect import Dialect
from fairlead.resources.columns.cell_text import UNSET, field, items, mapping
from fairlead.resources.columns.model import AGE, NAME, Object, Printer, Value, since, table, text

_MODES = {
    "ReadWriteOnce": "RWO",
    "ReadOnlyMany": "ROX",
    "ReadWriteMany": "RWX",
    "ReadWriteOncePod": "RWOP",
}


def _modes(modes: list[Any]) -> str:
    return ",".join(short for mode, short in _MODES.items() if mode in modes)


def _phase(obj: Object) -> str:
    if field(obj, "metadata.deletionTimestamp") is not None:
        return "Terminating"
    return field(obj, "status.phase") or ""


def _claim(volume: Object) -> str:
    claim = field(volume, "spec.claimRef")
    if claim is None:
        return ""
    return f"{claim.get('namespace') or ''}/{claim.get('name') or ''}"


def _claim_capacity(claim: Object) -> str:
    if not field(claim, "spec.volumeName"):
        return ""
    return str(field(claim, "status.capacity.storage") or "0")


def _claim_modes(claim: Object) -> str:
    if not field(claim, "spec.volumeName"):
        return ""
    return _modes(items(claim, "status.accessModes"))


def _storage_class(dialect: Dialect) -> Value:
    """The storage class; the annotation that preceded the field wins."""
    annotation = dialect.label("volume.beta.@/storage-class")

    def cell(obj: Object) -> str:
        annotations = mapping(obj, "metadata.annotations")
        if annotation in annotations:
            return str(annotations[annotation])
        return field(obj, "spec.storageClassName") or ""

    return cell


def _attributes_class(obj: Object) -> str:
    name = field(obj, "spec.volumeAttributesClassName")
    return UNSET if name is None else str(name)


def printers(dialect: Dialect) -> dict[str, Printer]:
    """The printers of volumes and claims; the class annotation depends on the dialect."""
    storage_class = text("StorageClass", _storage_class(dialect), "Storage class it belongs to")
    attributes_class = since(
        36,
        text(
            "VolumeAttributesClass",
            _attributes_class,
            "Volume attributes class it belongs to",
        ),
    )
    mode = text(
        "VolumeMode",
        "spec.volumeMode",
        "Used as a file system or a block",
        missing=UNSET,
        wide=True,
    )
    return {
        "core/v1/persistentvolumes": table(
            NAME,
            text("Capacity", "spec.capacity.storage", "Size of the volume", missing="0"),
            text("Access Modes", lambda obj: _modes(items(obj, "spec.accessModes")), "Allowed use"),
            text("Reclaim Policy", "spec.persistentVolumeReclaimPolicy", "Fate after its claim"),
            text("Status", _phase, "Where the volume is in its life"),
            text("Claim", _claim, "Claim the volume is bound to"),
            storage_class,
            attributes_class,
            text("Reason", "status.reason", "Why the volume failed"),
            AGE,
            mode,
        ),
        "core/v1/persistentvolumeclaims": table(
            NAME,
            text("Status", _phase, "Where the claim is in its life"),
            text("Volume", "spec.volumeName", "Volume bound to the claim"),
            text("Capacity", _claim_capacity, "Size of the bound volume"),
            text("Access Modes", _claim_modes, "Ways the bound volume may be used"),
            storage_class,
            attributes_class,
            AGE,
            mode,
        ),
    }
