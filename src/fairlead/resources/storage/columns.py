"""Columns of storage classes, volume attachments and CSI objects."""

from __future__ import annotations

from fairlead.base.dialect import Dialect
from fairlead.resources.columns.cell_text import NONE, UNSET, count, field, items, joined
from fairlead.resources.columns.model import (
    AGE,
    NAME,
    Object,
    Printer,
    class_name,
    flag,
    number,
    table,
    text,
)


def _audiences(driver: Object) -> str:
    requests = field(driver, "spec.tokenRequests")
    if requests is None:
        return UNSET
    return joined(request.get("audience") for request in requests)


def _modes(driver: Object) -> str:
    return joined(items(driver, "spec.volumeLifecycleModes")) or NONE


def printers(dialect: Dialect) -> dict[str, Printer]:
    """The printers of the group; the default class is marked by an annotation."""
    return {
        "storage/v1/storageclasses": table(
            class_name(
                dialect, "storageclass.@/is-default-class", "storageclass.beta.@/is-default-class"
            ),
            text("Provisioner", "provisioner", "What makes the volumes"),
            text("ReclaimPolicy", "reclaimPolicy", "Fate after the claim", missing="Delete"),
            text("VolumeBindingMode", "volumeBindingMode", "When it binds", missing="Immediate"),
            text(
                "AllowVolumeExpansion",
                "allowVolumeExpansion",
                "Whether volumes may grow",
                missing=False,
            ),
            AGE,
        ),
        **_PLAIN,
    }


_PLAIN = {
    "storage/v1/volumeattributesclasses": table(
        NAME,
        text("DriverName", "driverName", "Driver of the volumes"),
        AGE,
    ),
    "storage/v1/volumeattachments": table(
        NAME,
        text("Attacher", "spec.attacher", "Driver that attaches the volume", format="name"),
        text("PV", "spec.source.persistentVolumeName", "Volume that is attached"),
        text("Node", "spec.nodeName", "Node it is attached to"),
        flag("Attached", "status.attached", "Whether it is attached"),
        AGE,
    ),
    "storage/v1/csinodes": table(
        NAME,
        number("Drivers", count("spec.drivers"), "Number of drivers on the node"),
        AGE,
    ),
    "storage/v1/csidrivers": table(
        NAME,
        flag("AttachRequired", "spec.attachRequired", "Whether volumes are attached", missing=True),
        flag(
            "PodInfoOnMount",
            "spec.podInfoOnMount",
            "Whether the driver gets information about the pod",
        ),
        flag("StorageCapacity", "spec.storageCapacity", "Whether the driver reports free space"),
        text("TokenRequests", _audiences, "Audiences of tokens the driver is given"),
        flag("RequiresRepublish", "spec.requiresRepublish", "Whether volumes are mounted again"),
        text("Modes", _modes, "Kinds of volume the driver offers"),
        AGE,
    ),
}
