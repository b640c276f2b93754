"""The behaviour of VolumeAttachment: the spec is immutable; the attacher writes the status."""

from __future__ import annotations

from typing import Any

from fairlead.codec.types.model import struct_at
from fairlead.codec.types.names import dns_subdomain
from fairlead.resources.behaviour import Object
from fairlead.resources.causes import Causes, GoValue, go_composite, go_pointer, quote
from fairlead.resources.context import Context
from fairlead.resources.core.volumes.claims import check_access_modes
from fairlead.resources.core.volumes.persistent import check_persistent_sources
from fairlead.resources.core.volumes.sources import csi_driver_name
from fairlead.resources.internal_types import internal_value
from fairlead.resources.rules import IMMUTABLE
from fairlead.resources.storage.shared import OrderedBehaviour, Step, keep_metadata, same

MAX_METADATA_BYTES = 256 * 1024
MAX_MESSAGE_LENGTH = 1024
ONE_SOURCE = "must specify exactly one of inlineVolumeSpec and persistentVolumeName"


class VolumeAttachmentBehaviour(OrderedBehaviour):
    update_order = (Step.METADATA, Step.RULES, Step.METADATA, Step.RULES, Step.CHANGE)

    def check_update(self, value: Object, old: Object, causes: Causes, context: Context) -> None:
        if not context.gates["CheckedOnce"]:
            super().check_update(value, old, causes, context)
            return
        self.check_own_metadata(value, causes)
        self.check(value, causes, context)
        self.check_change(value, old, causes, context)

    def check_create(self, value: Object, causes: Causes, context: Context) -> None:
        super().check_create(value, causes, context)
        spec = value["spec"]
        if not context.gates["CheckedOnce"]:
            csi_driver_name(spec["attacher"], "spec.attacher", causes)
        name = spec["source"].get("persistentVolumeName")
        if name is not None:
            path = "spec.source.persistentVolumeName"
            causes.invalid_each(path, name, dns_subdomain(name))

    def check(self, value: Object, causes: Causes, context: Context) -> None:
        spec = value["spec"]
        if context.gates["CheckedOnce"]:
            csi_driver_name(spec["attacher"], "spec.attacher", causes)
        elif not spec["attacher"]:
            causes.required("spec.attacher")
        _check_source(spec["source"], causes, context)
        causes.invalid_each("spec.nodeName", spec["nodeName"], dns_subdomain(spec["nodeName"]))
        _check_status(value.get("status") or {}, causes)

    def check_change(self, value: Object, old: Object, causes: Causes, context: Context) -> None:
        if not same(value["spec"], old["spec"]):
            spec, spec_type = value["spec"], struct_at(self.resource.stored_struct, "spec")
            shown = GoValue(_format_spec(spec), internal_value(spec_type, spec))
            causes.invalid("spec", shown, IMMUTABLE)

    def prepare_subresource_update(
        self, subresource: str, value: Object, old: Object, context: Context
    ) -> None:
        super().prepare_subresource_update(subresource, value, old, context)
        keep_metadata(value, old)

    def check_subresource_update(
        self, subresource: str, value: Object, old: Object, causes: Causes, context: Context
    ) -> None:
        self.check_update(value, old, causes, context)


def _check_source(source: dict[str, Any], causes: Causes, context: Context) -> None:
    name, inline = source.get("persistentVolumeName"), source.get("inlineVolumeSpec")
    if name is None and inline is None:
        causes.required("spec.source", ONE_SOURCE)
    elif name is not None and inline is not None:
        causes.forbidden("spec.source", ONE_SOURCE)
    elif name == "":
        detail = "must specify non empty persistentVolumeName"
        causes.required("spec.source.persistentVolumeName", detail)
    elif inline is not None:
        check_inline_volume(inline, "spec.source.inlineVolumeSpec", causes, context)


def _check_status(status: dict[str, Any], causes: Causes) -> None:
    metadata = status.get("attachmentMetadata") or {}
    size = sum(len(key.encode()) + len(text.encode()) for key, text in metadata.items())
    if size > MAX_METADATA_BYTES:
        causes.too_long("status.attachmentMetadata", MAX_METADATA_BYTES)
    for name in ("attachError", "detachError"):
        error = status.get(name) or {}
        message, code = error.get("message", ""), error.get("errorCode")
        if len(message.encode()) > MAX_MESSAGE_LENGTH:
            # As in the reference, the message names the other limit.
            causes.too_long(f"status.{name}.message", MAX_METADATA_BYTES)
        if code is not None and code < 0:
            detail = "must be between 0 and 2147483647, inclusive"
            causes.invalid(f"status.{name}.errorCode", code, detail)


def _format_spec(spec: dict[str, Any]) -> GoValue:
    source = spec["source"]
    return go_composite(
        "storage.VolumeAttachmentSpec",
        {
            "Attacher": quote(spec["attacher"]),
            "Source": go_composite(
                "storage.VolumeAttachmentSource",
                {
                    "PersistentVolumeName": go_pointer(
                        "string", source.get("persistentVolumeName")
                    ),
                    "InlineVolumeSpec": go_pointer(
                        "core.PersistentVolumeSpec", source.get("inlineVolumeSpec")
                    ),
                },
            ),
            "NodeName": quote(spec["nodeName"]),
        },
    )


# The inline volume of a VolumeAttachment: the spec of a persistent volume with a CSI driver,
# without claim or class

NOT_INLINE = "may not be specified in the context of inline volumes"


def check_inline_volume(spec: dict[str, Any], path: str, causes: Causes, context: Context) -> None:
    """Lists causes in the order of the rules of persistent volumes."""
    if spec.get("claimRef") is not None:
        causes.forbidden(f"{path}.claimRef", NOT_INLINE)
    if spec.get("capacity"):
        causes.forbidden(f"{path}.capacity", NOT_INLINE)
    if spec.get("csi") is None:
        causes.required(f"{path}.csi", "has to be specified in the context of inline volumes")
    modes = spec.get("accessModes") or []
    if not modes:
        causes.required(f"{path}.accessModes")
    single_pod = context.gates["ReadWriteOncePod"]
    check_access_modes(modes, f"{path}.accessModes", causes, single_pod=single_pod)
    if spec.get("persistentVolumeReclaimPolicy") not in (None, "", "Retain"):
        causes.forbidden(
            f"{path}.persistentVolumeReclaimPolicy",
            "may only be Retain in the context of inline volumes",
        )
    if spec.get("nodeAffinity") is not None:
        causes.forbidden(f"{path}.nodeAffinity", NOT_INLINE)
    check_persistent_sources(spec, "", path, causes, context)
    if spec.get("storageClassName"):
        causes.forbidden(f"{path}.storageClassName", NOT_INLINE)
    if spec.get("volumeMode") not in (None, "Filesystem"):
        causes.forbidden(
            f"{path}.volumeMode",
            "may not specify volumeMode other than Filesystem in the context of inline volumes",
        )
