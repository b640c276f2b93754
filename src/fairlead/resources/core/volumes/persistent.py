"""Validation of the sources of persistent volumes: those of pods, with namespaces for secrets."""

from __future__ import annotations

from fairlead.codec.types.names import dns_label, dns_subdomain
from fairlead.resources.behaviour import Object
from fairlead.resources.causes import Causes
from fairlead.resources.context import Context
from fairlead.resources.core.volumes import PATHS_BESIDE, PATHS_INSIDE, SOURCES
from fairlead.resources.core.volumes.iscsi import check_iscsi
from fairlead.resources.core.volumes.projections import MORE_THAN_ONE
from fairlead.resources.core.volumes.sources import (
    Check,
    check_local,
    cinder,
    csi_driver_name,
    requires,
    storage_os,
)
from fairlead.resources.metadata import NameRule


def _glusterfs(source: Object, path: str, causes: Causes, context: Context) -> None:
    requires("endpoints", "path")(source, path, causes, context)
    namespace = source.get("endpointsNamespace")
    if namespace is None:
        return
    field = f"{path}.endpointsNamespace"
    if not namespace:
        detail = "if the endpointnamespace is set, it must be a valid namespace name"
        causes.invalid(field, namespace, detail)
    else:
        causes.invalid_each(field, namespace, dns_label(namespace))


def _azure_file(source: Object, path: str, causes: Causes, context: Context) -> None:
    requires("secretName", "shareName")(source, path, causes, context)
    if source.get("secretNamespace") == "":
        causes.required(f"{path}.secretNamespace")


_CSI_SECRETS = (
    "controllerPublishSecretRef",
    "controllerExpandSecretRef",
    "nodePublishSecretRef",
    "nodeExpandSecretRef",
)


def _check_csi(source: Object, path: str, causes: Causes, *, long_names: bool) -> None:
    csi_driver_name(source["driver"], f"{path}.driver", causes)
    if not source["volumeHandle"]:
        causes.required(f"{path}.volumeHandle")
    name_rule = dns_subdomain if long_names else dns_label
    for name in _CSI_SECRETS:
        if source.get(name) is not None:
            _check_secret(source[name], name_rule, f"{path}.{name}", causes)


def _check_secret(reference: Object, name_rule: NameRule, path: str, causes: Causes) -> None:
    for name, rule in (("name", name_rule), ("namespace", dns_label)):
        value = reference.get(name, "")
        if not value:
            causes.required(f"{path}.{name}")
        else:
            causes.invalid_each(f"{path}.{name}", value, rule(value))


def has_long_secret_name(spec: Object) -> bool:
    """Whether the name of a volume's secret is a DNS subdomain but not a label; allowed only if the
    old volume has one."""
    source: Object = spec.get("csi") or {}
    names = ((source.get(name) or {}).get("name", "") for name in _CSI_SECRETS)
    return any(dns_label(name) and not dns_subdomain(name) for name in names)


# The reference accepts this source beside others.
_BESIDE_OTHERS = "flexVolume"

PERSISTENT_SOURCES: dict[str, Check | None] = {
    "hostPath": SOURCES["hostPath"],
    "gcePersistentDisk": SOURCES["gcePersistentDisk"],
    "awsElasticBlockStore": SOURCES["awsElasticBlockStore"],
    "glusterfs": _glusterfs,
    "flocker": SOURCES["flocker"],
    "nfs": SOURCES["nfs"],
    "rbd": SOURCES["rbd"],
    "quobyte": SOURCES["quobyte"],
    "cephfs": SOURCES["cephfs"],
    "iscsi": None,  # checked with the volume's name
    "cinder": cinder(with_namespace=True),
    "fc": SOURCES["fc"],
    "flexVolume": SOURCES["flexVolume"],
    "azureFile": _azure_file,
    "vsphereVolume": SOURCES["vsphereVolume"],
    "photonPersistentDisk": SOURCES["photonPersistentDisk"],
    "portworxVolume": SOURCES["portworxVolume"],
    "azureDisk": SOURCES["azureDisk"],
    "scaleIO": SOURCES["scaleIO"],
    "local": check_local,
    "storageos": storage_os(with_namespace=True),
    "csi": None,  # checked with the old volume's secret names
}


def check_persistent_sources(
    spec: Object,
    volume_name: str,
    path: str,
    causes: Causes,
    context: Context,
    *,
    long_names: bool = False,
) -> None:
    """Check the sources of a PersistentVolumeSpec. `long_names`: the names of secrets may be DNS
    subdomains, not only labels."""
    names = [name for name in PERSISTENT_SOURCES if spec.get(name) is not None]
    if not names:
        causes.required(path, "must specify a volume type")
    for index, name in enumerate(names):
        inside = f"{path}.{PATHS_INSIDE.get(name, name)}"
        check = PERSISTENT_SOURCES[name]
        if index and name != _BESIDE_OTHERS:
            causes.forbidden(f"{path}.{PATHS_BESIDE.get(name, name)}", MORE_THAN_ONE)
        elif check is not None:
            check(spec[name], inside, causes, context)
            if name == "local" and spec.get("nodeAffinity") is None:
                causes.required(f"{path}.nodeAffinity", "Local volume requires node affinity")
        elif name == "iscsi":
            check_iscsi(spec[name], inside, causes, persistent_name=volume_name)
        else:
            _check_csi(spec[name], inside, causes, long_names=long_names)
