"""The volume that a VolumeAttachment describes itself: a persistent volume's spec with a driver and
nothing that binds it to a claim or a class."""

from __future__ import annotations

from typing import Any

from fairlead.resources.causes import Causes
from fairlead.resources.context import Context
from fairlead.resources.core.volumes.claims import check_access_modes
from fairlead.resources.core.volumes.persistent import check_persistent_sources

NOT_INLINE = "may not be specified in the context of inline volumes"


def check_inline_volume(spec: dict[str, Any], path: str, causes: Causes, context: Context) -> None:
    """Causes are listed in the order of the rules of persistent volumes."""
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
