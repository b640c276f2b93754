"""Draws persistent volume claims: as objects, in pod volumes and as templates."""

from __future__ import annotations

from fairlead.base.dialect import Dialect
from fairlead.cli.describe.fields import Fields
from fairlead.cli.describe.page import Page
from fairlead.cli.describe.parts.metadata import annotation_lines, draw_labels
from fairlead.cli.describe.parts.quantities import quantity_text
from fairlead.cli.describe.parts.values import NONE, age, listed

_CLASS = "volume.beta.@/storage-class"
_MODES = {
    "ReadWriteOnce": "RWO",
    "ReadOnlyMany": "ROX",
    "ReadWriteMany": "RWX",
    "ReadWriteOncePod": "RWOP",
}


def access_modes(modes: list[str]) -> str:
    return ",".join(short for name, short in _MODES.items() if name in modes)


def storage_class(value: Fields, dialect: Dialect) -> str:
    """The class of a claim or volume; the deprecated annotation takes precedence over the field."""
    annotated = value.map("metadata.annotations").get(dialect.label(_CLASS))
    return value.text("spec.storageClassName") if annotated is None else annotated


def draw_claim(page: Page, claim: Fields, dialect: Dialect) -> None:
    page.pairs(
        ("Name", claim.text("metadata.name")),
        ("Namespace", claim.text("metadata.namespace")),
        ("StorageClass", storage_class(claim, dialect)),
    )
    page.pairs_if(("VolumeAttributesClass", claim.text("spec.volumeAttributesClassName")))
    page.pairs(("Status", phase(claim)), ("Volume", claim.text("spec.volumeName")))
    draw_labels(page, "Labels", claim.map("metadata.labels"))
    page.entries("Annotations", annotation_lines(claim.map("metadata.annotations"), dialect))
    page.pair("Finalizers", listed(claim.texts("metadata.finalizers")))
    _draw_size(page, claim, 0)


def draw_claim_of_pod(page: Page, claim: Fields, dialect: Dialect) -> None:
    """Draw an ephemeral claim of a pod, which has neither name nor status."""
    page.pair("StorageClass", storage_class(claim, dialect), 2)
    page.pair("Volume", claim.text("spec.volumeName"), 2)
    labels = [f"{key}={value}" for key, value in claim.map("metadata.labels").items()]
    annotations = annotation_lines(claim.map("metadata.annotations"), dialect)
    for name, lines in (("Labels", labels), ("Annotations", annotations)):
        page.entries(name, [f"    {line}" for line in lines or [NONE]], 2)
    _draw_size(page, claim, 2)


def phase(value: Fields) -> str:
    """The phase of a claim or volume, or that it is terminating."""
    if value.has("metadata.deletionTimestamp"):
        return f"Terminating (lasts {age(value.at('metadata.deletionTimestamp'))})"
    return value.text("status.phase")


def _draw_size(page: Page, claim: Fields, level: int) -> None:
    is_bound = bool(claim.text("spec.volumeName"))
    size = quantity_text(claim.part("status.capacity.storage")) if is_bound else ""
    page.pair("Capacity", size, level)
    modes = access_modes(claim.texts("status.accessModes")) if is_bound else ""
    page.pair("Access Modes", modes, level)
    page.pairs_if(("VolumeMode", claim.text("spec.volumeMode")), level=level)
    source = claim.part("spec.dataSource")
    if source.has():
        page.write("DataSource:", level)
        page.pairs_if(("APIGroup", source.text("apiGroup")), level=level + 1)
        page.pair("Kind", source.text("kind"), level + 1)
        page.pair("Name", source.text("name"), level + 1)


def draw_claim_templates(page: Page, templates: list[Fields], dialect: Dialect) -> None:
    if not templates:
        page.pair("Volume Claims", NONE)
        return
    page.write("Volume Claims:")
    for template in templates:
        page.pair("Name", template.text("metadata.name"), 1)
        page.pair("StorageClass", storage_class(template, dialect), 1)
        draw_labels(page, "Labels", template.map("metadata.labels"), 1)
        draw_labels(page, "Annotations", template.map("metadata.annotations"), 1)
        size = template.part("spec.resources.requests.storage")
        page.pair("Capacity", quantity_text(size) if size.has() else "<default>", 1)
        page.pair("Access Modes", listed(template.texts("spec.accessModes")), 1)
