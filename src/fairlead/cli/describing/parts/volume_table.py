"""The kinds of volumes, and which of their fields are shown."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from fairlead.cli.describing.fields import Fields
from fairlead.cli.describing.page import Page
from fairlead.cli.describing.parts.quantities import amount_of, quantity_text
from fairlead.cli.describing.parts.words import NONE, UNSET, listed, shown

Value = Callable[[Fields], str]


class Source(NamedTuple):
    """A kind of volume: its name, what it is, and its fields in the order in which they come."""

    name: str
    what: str
    fields: Mapping[str, Value]

    def draw(self, page: Page, volume: Fields) -> None:
        page.pair("Type", f"{self.name} ({self.what})", 2)
        for name, value in self.fields.items():
            page.write(f"{name}\t{value(volume)}", 2)


def _text(path: str, missing: str = "") -> Value:
    return lambda source: source.text(path, missing)


def _number(path: str) -> Value:
    return lambda source: str(source.number(path))


def _flag(path: str) -> Value:
    return lambda source: shown(source.flag(path))


def _list(path: str) -> Value:
    return lambda source: listed(source.texts(path))


def _local(source: Fields) -> str:
    """A reference to a secret beside the pod."""
    if not source.has("secretRef"):
        return "nil"
    return f"&LocalObjectReference{{Name:{source.text('secretRef.name')},}}"


def _distant(source: Fields) -> str:
    """A reference to a secret in any namespace."""
    if not source.has("secretRef"):
        return "nil"
    name, namespace = source.text("secretRef.name"), source.text("secretRef.namespace")
    return f"&SecretReference{{Name:{name},Namespace:{namespace},}}"


def _options(source: Fields) -> str:
    return shown(source.map("options"))


def _size_limit(source: Fields) -> str:
    limit = source.part("sizeLimit")
    return quantity_text(limit) if amount_of(limit).value > 0 else UNSET


_READ_ONLY: dict[str, Value] = {"ReadOnly:": _flag("readOnly")}
_FS_TYPE: dict[str, Value] = {"FSType:": _text("fsType")}
_DISK: dict[str, Value] = {**_FS_TYPE, "Partition:": _number("partition"), **_READ_ONLY}
_LIFETIME = "mount on the host that shares a pod's lifetime"

SOURCES: dict[str, Source] = {
    "hostPath": Source(
        "HostPath",
        "bare host directory volume",
        {
            "Path:": _text("path"),
            "HostPathType:": lambda source: source.text("type") if source.has("type") else NONE,
        },
    ),
    "emptyDir": Source(
        "EmptyDir",
        "a temporary directory that shares a pod's lifetime",
        {"Medium:": _text("medium"), "SizeLimit:": _size_limit},
    ),
    "gcePersistentDisk": Source(
        "GCEPersistentDisk",
        "a Persistent Disk resource in Google Compute Engine",
        {"PDName:": _text("pdName"), **_DISK},
    ),
    "awsElasticBlockStore": Source(
        "AWSElasticBlockStore",
        "a Persistent Disk resource in AWS",
        {"VolumeID:": _text("volumeID"), **_DISK},
    ),
    "gitRepo": Source(
        "GitRepo",
        "a volume that is pulled from git when the pod is created",
        {"Repository:": _text("repository"), "Revision:": _text("revision")},
    ),
    "secret": Source(
        "Secret",
        "a volume populated by a Secret",
        {"SecretName:": _text("secretName"), "Optional:": _flag("optional")},
    ),
    "configMap": Source(
        "ConfigMap",
        "a volume populated by a ConfigMap",
        {"Name:": _text("name"), "Optional:": _flag("optional")},
    ),
    "nfs": Source(
        "NFS",
        "an NFS mount that lasts the lifetime of a pod",
        {"Server:": _text("server"), "Path:": _text("path"), **_READ_ONLY},
    ),
    "iscsi": Source(
        "ISCSI",
        "an ISCSI Disk resource that is attached to a kubelet's host machine and then exposed to"
        " the pod",
        {
            "TargetPortal:": _text("targetPortal"),
            "IQN:": _text("iqn"),
            "Lun:": _number("lun"),
            "ISCSIInterface": _text("iscsiInterface"),
            **_FS_TYPE,
            **_READ_ONLY,
            "Portals:": _list("portals"),
            "DiscoveryCHAPAuth:": _flag("chapAuthDiscovery"),
            "SessionCHAPAuth:": _flag("chapAuthSession"),
            "SecretRef:": _local,
            "InitiatorName:": _text("initiatorName", NONE),
        },
    ),
    "glusterfs": Source(
        "Glusterfs",
        f"a Glusterfs {_LIFETIME}",
        {"EndpointsName:": _text("endpoints"), "Path:": _text("path"), **_READ_ONLY},
    ),
    "persistentVolumeClaim": Source(
        "PersistentVolumeClaim",
        "a reference to a PersistentVolumeClaim in the same namespace",
        {"ClaimName:": _text("claimName"), **_READ_ONLY},
    ),
    "rbd": Source(
        "RBD",
        f"a Rados Block Device {_LIFETIME}",
        {
            "CephMonitors:": _list("monitors"),
            "RBDImage:": _text("image"),
            **_FS_TYPE,
            "RBDPool:": _text("pool"),
            "RadosUser:": _text("user"),
            "Keyring:": _text("keyring"),
            "SecretRef:": _local,
            **_READ_ONLY,
        },
    ),
    "quobyte": Source(
        "Quobyte",
        f"a Quobyte {_LIFETIME}",
        {"Registry:": _text("registry"), "Volume:": _text("volume"), **_READ_ONLY},
    ),
    "azureDisk": Source(
        "AzureDisk",
        "an Azure Data Disk mount on the host and bind mount to the pod",
        {
            "DiskName:": _text("diskName"),
            "DiskURI:": _text("diskURI"),
            "Kind: ": _text("kind"),
            **_FS_TYPE,
            "CachingMode:": _text("cachingMode"),
            **_READ_ONLY,
        },
    ),
    "vsphereVolume": Source(
        "vSphereVolume",
        "a Persistent Disk resource in vSphere",
        {
            "VolumePath:": _text("volumePath"),
            **_FS_TYPE,
            "StoragePolicyName:": _text("storagePolicyName"),
        },
    ),
    "cinder": Source(
        "Cinder",
        "a Persistent Disk resource in OpenStack",
        {"VolumeID:": _text("volumeID"), **_FS_TYPE, **_READ_ONLY, "SecretRef:": _local},
    ),
    "photonPersistentDisk": Source(
        "PhotonPersistentDisk",
        "a Persistent Disk resource in photon platform",
        {"PdID:": _text("pdID"), **_FS_TYPE},
    ),
    "portworxVolume": Source(
        "PortworxVolume", "a Portworx Volume resource", {"VolumeID:": _text("volumeID")}
    ),
    "scaleIO": Source(
        "ScaleIO",
        "a persistent volume backed by a block device in ScaleIO",
        {
            "Gateway:": _text("gateway"),
            "System:": _text("system"),
            "Protection Domain:": _text("protectionDomain"),
            "Storage Pool:": _text("storagePool"),
            "Storage Mode:": _text("storageMode"),
            "VolumeName:": _text("volumeName"),
            **_FS_TYPE,
            **_READ_ONLY,
        },
    ),
    "cephfs": Source(
        "CephFS",
        f"a CephFS {_LIFETIME}",
        {
            "Monitors:": _list("monitors"),
            "Path:": _text("path"),
            "User:": _text("user"),
            "SecretFile:": _text("secretFile"),
            "SecretRef:": _local,
            **_READ_ONLY,
        },
    ),
    "storageos": Source(
        "StorageOS",
        "a StorageOS Persistent Disk resource",
        {
            "VolumeName:": _text("volumeName"),
            "VolumeNamespace:": _text("volumeNamespace"),
            **_FS_TYPE,
            **_READ_ONLY,
        },
    ),
    "fc": Source(
        "FC",
        "a Fibre Channel disk",
        {
            "TargetWWNs:": lambda source: ", ".join(source.texts("targetWWNs")),
            "LUN:": _text("lun", NONE),
            **_FS_TYPE,
            **_READ_ONLY,
        },
    ),
    "azureFile": Source(
        "AzureFile",
        "an Azure File Service mount on the host and bind mount to the pod",
        {"SecretName:": _text("secretName"), "ShareName:": _text("shareName"), **_READ_ONLY},
    ),
    "flexVolume": Source(
        "FlexVolume",
        "a generic volume resource that is provisioned/attached using an exec based plugin",
        {
            "Driver:": _text("driver"),
            **_FS_TYPE,
            "SecretRef:": _local,
            **_READ_ONLY,
            "Options:": _options,
        },
    ),
    "flocker": Source(
        "Flocker",
        "a Flocker volume mounted by the Flocker agent",
        {"DatasetName:": _text("datasetName"), "DatasetUUID:": _text("datasetUUID")},
    ),
    "csi": Source(
        "CSI",
        "a Container Storage Interface (CSI) volume source",
        {"Driver:": _text("driver"), **_FS_TYPE, **_READ_ONLY},
    ),
    "local": Source(
        "LocalVolume",
        "a persistent volume backed by local storage on a node",
        {"Path:": _text("path")},
    ),
}


def _persistent(name: str, *changed: tuple[str, Value], before: str = "") -> Source:
    """The kind as persistent volumes have it: with other fields, or more in front of one."""
    source = SOURCES[name]
    fields = dict(source.fields)
    more = dict(changed)
    if not before:
        return source._replace(fields={**fields, **more})
    at = list(fields).index(before)
    entries = list(fields.items())
    return source._replace(fields=dict((*entries[:at], *more.items(), *entries[at:])))


_SECRET: tuple[str, Value] = ("SecretRef:", _distant)
PERSISTENT_SOURCES: dict[str, Source] = {
    **SOURCES,
    **{name: _persistent(name, _SECRET) for name in ("iscsi", "rbd", "cinder", "cephfs")},
    "flexVolume": _persistent("flexVolume", _SECRET),
    "glusterfs": _persistent(
        "glusterfs", ("EndpointsNamespace:", _text("endpointsNamespace", UNSET)), before="Path:"
    ),
    "scaleIO": _persistent(
        "scaleIO",
        ("SecretName:", _text("secretRef.name")),
        ("SecretNamespace:", _text("secretRef.namespace")),
        before="FSType:",
    ),
    "azureFile": _persistent(
        "azureFile", ("SecretNamespace:", _text("secretNamespace")), before="ShareName:"
    ),
    "csi": _persistent("csi", ("VolumeHandle:", _text("volumeHandle")), before="ReadOnly:"),
}
