"""The volume that a VolumeAttachment describes itself: a persistent volume's spec with a driver and
nothing that binds it to a claim or a class."""

from __future__ import annotations

from typing import Any

from fairlead.kinds.causes import Causes
from fairlead.kinds.storage.driver_names import check_driver_name
from fairlead.schema.names import dns_label

ACCESS_MODES = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce")
NOT_INLINE = "may not be specified in the context of inline volumes"

# Everything in the spec of a volume that is not its source.
_NOT_SOURCES = {
    "capacity",
    "accessModes",
    "claimRef",
    "persistentVolumeReclaimPolicy",
    "storageClassName",
    "mountOptions",
    "volumeMode",
    "nodeAffinity",
}
_SECRETS = (
    "controllerPublishSecretRef",
    "controllerExpandSecretRef",
    "nodePublishSecretRef",
    "nodeExpandSecretRef",
)


def check_inline_volume(spec: dict[str, Any], path: str, causes: Causes) -> None:
    """Causes are listed in the order of the rules of persistent volumes."""
    for name in ("claimRef", "capacity"):
        if spec.get(name):
            causes.forbidden(f"{path}.{name}", NOT_INLINE)
    if spec.get("csi") is None:
        causes.required(f"{path}.csi", "has to be specified in the context of inline volumes")
    _check_access_modes(spec.get("accessModes") or [], f"{path}.accessModes", causes)
    if spec.get("persistentVolumeReclaimPolicy", "Retain") not in ("", "Retain"):
        causes.forbidden(
            f"{path}.persistentVolumeReclaimPolicy",
            "may only be Retain in the context of inline volumes",
        )
    if spec.get("nodeAffinity") is not None:
        causes.forbidden(f"{path}.nodeAffinity", NOT_INLINE)
    _check_sources(spec, path, causes)
    if spec.get("storageClassName"):
        causes.forbidden(f"{path}.storageClassName", NOT_INLINE)
    if spec.get("volumeMode", "Filesystem") != "Filesystem":
        causes.forbidden(
            f"{path}.volumeMode",
            "may not specify volumeMode other than Filesystem in the context of inline volumes",
        )


def _check_access_modes(modes: list[str], path: str, causes: Causes) -> None:
    if not modes:
        causes.required(path)
    for mode in modes:
        if mode not in ACCESS_MODES:
            causes.unsupported(path, mode, ACCESS_MODES)


def _check_sources(spec: dict[str, Any], path: str, causes: Causes) -> None:
    sources = sorted(
        (name for name in spec if name not in _NOT_SOURCES and spec[name] is not None),
        key=lambda name: name == "csi",  # the reference looks at the driver last
    )
    if not sources:
        causes.required(path, "must specify a volume type")
    for name in sources[1:]:
        causes.forbidden(f"{path}.{name}", "may not specify more than 1 volume type")
    if sources == ["csi"]:
        check_csi_volume(spec["csi"], f"{path}.csi", causes)


def check_csi_volume(source: dict[str, Any], path: str, causes: Causes) -> None:
    """A persistent volume's driver, its handle and the secrets it needs."""
    check_driver_name(source["driver"], f"{path}.driver", causes)
    if not source["volumeHandle"]:
        causes.required(f"{path}.volumeHandle")
    for name in _SECRETS:
        secret = source.get(name)
        for part in ("name", "namespace") if secret is not None else ():
            here, text = f"{path}.{name}.{part}", secret.get(part, "")
            if not text:
                causes.required(here)
            else:
                causes.invalid_each(here, text, dns_label(text))
