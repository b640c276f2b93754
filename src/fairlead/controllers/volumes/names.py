"""Names shared by the volume controllers: resources, phases, and annotations in a dialect."""

from __future__ import annotations

from dataclasses import dataclass

from fairlead.base.dialect import Dialect
from fairlead.operations.api import Object
from fairlead.resources.core.persistent_volumes import CLASS_ANNOTATION

CLAIMS, VOLUMES, PODS, CLASSES = (
    "core/v1/persistentvolumeclaims",
    "core/v1/persistentvolumes",
    "core/v1/pods",
    "storage/v1/storageclasses",
)
PENDING, BOUND, LOST = "Pending", "Bound", "Lost"
AVAILABLE, RELEASED, FAILED = "Available", "Released", "Failed"


@dataclass(frozen=True, slots=True)
class Annotations:
    """Names of annotations, and the prefix of built-in plugins."""

    bind_completed: str
    bound_by_controller: str
    provisioned_by: str
    migrated_to: str
    selected_node: str
    provisioner: str
    beta_provisioner: str
    resizer: str
    storage_class: str
    built_in: str  # prefix of the reference's built-in provisioners

    @classmethod
    def of(cls, dialect: Dialect) -> Annotations:
        label = dialect.label
        return cls(
            bind_completed=label("pv.@/bind-completed"),
            bound_by_controller=label("pv.@/bound-by-controller"),
            provisioned_by=label("pv.@/provisioned-by"),
            migrated_to=label("pv.@/migrated-to"),
            selected_node=label("volume.@/selected-node"),
            provisioner=label("volume.@/storage-provisioner"),
            beta_provisioner=label("volume.beta.@/storage-provisioner"),
            resizer=label("volume.@/storage-resizer"),
            storage_class=label(CLASS_ANNOTATION),
            built_in=label("@/"),
        )


def annotations_of(value: Object) -> dict[str, str]:
    annotations: dict[str, str] = value["metadata"].get("annotations") or {}
    return annotations


def with_annotations(value: Object, changes: dict[str, str | None]) -> Object:
    """The object with annotations set; None removes one."""
    changed = {**annotations_of(value), **changes}
    left = {name: text for name, text in changed.items() if text is not None}
    metadata = {name: part for name, part in value["metadata"].items() if name != "annotations"}
    if left:
        metadata["annotations"] = left
    return {**value, "metadata": metadata}


def phase_of(value: Object) -> str:
    phase: str = (value.get("status") or {}).get("phase") or ""
    return phase
