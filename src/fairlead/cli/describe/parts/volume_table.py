"""The table of volume types and their displayed fields."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from fairlead.cli.describe.fields import Fields
from fairlead.cli.describe.page import Page
from fairlead.cli.describe.parts.quantities import amount_of, quantity_text
from fairlead.cli.describe.parts.values import NONE, UNSET, listed, shown

Value = Callable[[Fields], str]


class Source(NamedTuple):
    """A volume type: its name, explanation, and fields in display order."""

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
    """A reference to a secret in the pod's namespace."""
    if not source.has("secretRef"):
        return "nil"
    return f"&LocalObjectReference{{Name:{source.text('secretRef.name')},}}"


def _secret_reference(source: Fields) -> str:
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

SOURCES: dict[str, Source] = {
    "hostPath": Source(
        "HostPath",
        "a folder or file of the node",
        {
            "Path:": _text("path"),
            "HostPathType:": lambda source: source.text("type") if source.has("type") else NONE,
        },
    ),
    "emptyDir": Source(
        "EmptyDir",
        "an empty folder, deleted with the pod",
        {"Medium:": _text("medium"), "SizeLimit:": _size_limit},
    ),
    "gcePersistentDisk": Source(
        "GCEPersistentDisk",
        "a disk of Google Compute Engine",
        {"PDName:": _text("pdName"), **_DISK},
    ),
    "awsElasticBlockStore": Source(
        "AWSElasticBlockStore",
        "a disk of AWS",
        {"VolumeID:": _text("volumeID"), **_DISK},
    ),
    "gitRepo": Source(
        "GitRepo",
        "a copy of a git repository",
        {"Repository:": _text("repository"), "Revision:": _text("revision")},
    ),
    "secret": Source(
        "Secret",
        "the values of a Secret as files",
        {"SecretName:": _text("secretName"), "Optional:": _flag("optional")},
    ),
    "configMap": Source(
        "ConfigMap",
        "the values of a ConfigMap as files",
        {"Name:": _text("name"), "Optional:": _flag("optional")},
    ),
    "image": Source(
        "Image",
        "a container image or OCI artifact",
        {"Reference:": _text("reference"), "PullPolicy:": _text("pullPolicy")},
    ),
    "nfs": Source(
        "NFS",
        "a folder of an NFS server",
        {"Server:": _text("server"), "Path:": _text("path"), **_READ_ONLY},
    ),
    "iscsi": Source(
        "ISCSI",
        "a disk that the node reaches over iSCSI",
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
        "a folder in GlusterFS",
        {"EndpointsName:": _text("endpoints"), "Path:": _text("path"), **_READ_ONLY},
    ),
    "persistentVolumeClaim": Source(
        "PersistentVolumeClaim",
        "what a claim of the namespace is bound to",
        {"ClaimName:": _text("claimName"), **_READ_ONLY},
    ),
    "rbd": Source(
        "RBD",
        "a block device of Ceph",
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
        "a volume of Quobyte",
        {"Registry:": _text("registry"), "Volume:": _text("volume"), **_READ_ONLY},
    ),
    "azureDisk": Source(
        "AzureDisk",
        "a data disk of Azure",
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
        "a disk of vSphere",
        {
            "VolumePath:": _text("volumePath"),
            **_FS_TYPE,
            "StoragePolicyName:": _text("storagePolicyName"),
        },
    ),
    "cinder": Source(
        "Cinder",
        "a disk of OpenStack",
        {"VolumeID:": _text("volumeID"), **_FS_TYPE, **_READ_ONLY, "SecretRef:": _local},
    ),
    "photonPersistentDisk": Source(
        "PhotonPersistentDisk",
        "a disk of Photon",
        {"PdID:": _text("pdID"), **_FS_TYPE},
    ),
    "portworxVolume": Source(
        "PortworxVolume", "a volume of Portworx", {"VolumeID:": _text("volumeID")}
    ),
    "scaleIO": Source(
        "ScaleIO",
        "a block device of ScaleIO",
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
        "a folder in CephFS",
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
        "a volume of StorageOS",
        {
            "VolumeName:": _text("volumeName"),
            "VolumeNamespace:": _text("volumeNamespace"),
            **_FS_TYPE,
            **_READ_ONLY,
        },
    ),
    "fc": Source(
        "FC",
        "a disk that the node reaches over Fibre Channel",
        {
            "TargetWWNs:": lambda source: ", ".join(source.texts("targetWWNs")),
            "LUN:": _text("lun", NONE),
            **_FS_TYPE,
            **_READ_ONLY,
        },
    ),
    "azureFile": Source(
        "AzureFile",
        "a share of Azure Files",
        {"SecretName:": _text("secretName"), "ShareName:": _text("shareName"), **_READ_ONLY},
    ),
    "flexVolume": Source(
        "FlexVolume",
        "whatever a program on the node attaches",
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
        "a data set of Flocker",
        {"DatasetName:": _text("datasetName"), "DatasetUUID:": _text("datasetUUID")},
    ),
    "csi": Source(
        "CSI",
        "whatever a CSI driver attaches",
        {"Driver:": _text("driver"), **_FS_TYPE, **_READ_ONLY},
    ),
    "local": Source(
        "LocalVolume",
        "a disk or folder of one node",
        {"Path:": _text("path")},
    ),
}


def _persistent(name: str, *changed: tuple[str, Value], before: str = "") -> Source:
    """The variant of the type in persistent volumes, with changed fields, or with more fields
    inserted before `before`."""
    source = SOURCES[name]
    fields = dict(source.fields)
    more = dict(changed)
    if not before:
        return source._replace(fields={**fields, **more})
    index = list(fields).index(before)
    entries = list(fields.items())
    return source._replace(fields=dict((*entries[:index], *more.items(), *entries[index:])))


_SECRET: tuple[str, Value] = ("SecretRef:", _secret_reference)
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
