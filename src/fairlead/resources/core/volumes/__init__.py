"""Validation of the volumes of a pod: each has a name and exactly one source."""

from __future__ import annotations

from typing import Final

from fairlead.codec.types.names import dns_label, dns_subdomain, is_dns_label
from fairlead.resources.behaviour import Object
from fairlead.resources.causes import Causes
from fairlead.resources.context import Context
from fairlead.resources.core.volumes.claims import check_claim_template
from fairlead.resources.core.volumes.iscsi import TOO_LONG, check_iscsi, is_too_long
from fairlead.resources.core.volumes.projections import (
    MORE_THAN_ONE,
    check_downward_api,
    check_projected,
    keyed_files,
)
from fairlead.resources.core.volumes.sources import (
    Check,
    check_azure_disk,
    check_empty_dir,
    check_fc,
    check_flex,
    check_flocker,
    check_git_repo,
    check_host_path,
    check_local,
    check_nfs,
    check_quobyte,
    cinder,
    csi_driver_name,
    partitioned,
    requires,
    storage_os,
)


def _iscsi(source: Object, path: str, causes: Causes, context: Context) -> None:
    check_iscsi(source, path, causes)


def _csi(source: Object, path: str, causes: Causes, context: Context) -> None:
    csi_driver_name(source["driver"], f"{path}.driver", causes)
    secret = source.get("nodePublishSecretRef")
    if secret is None:
        return
    name = secret.get("name", "")
    if not name:
        causes.required(f"{path}.nodePublishSecretRef.name")
    else:
        causes.invalid_each(f"{path}.name", name, dns_subdomain(name))


_PULL_POLICIES = ("Always", "IfNotPresent", "Never")


def _image(source: Object, path: str, causes: Causes, context: Context) -> None:
    policy = source.get("pullPolicy", "")
    if not policy:
        causes.required(f"{path}.pullPolicy")
    elif policy not in _PULL_POLICIES:
        causes.unsupported(f"{path}.pullPolicy", policy, _PULL_POLICIES)


def _ephemeral(source: Object, path: str, causes: Causes, context: Context) -> None:
    template = source.get("volumeClaimTemplate")
    check_claim_template(template, f"{path}.volumeClaimTemplate", causes, context)


# In the order of lookup: the first source that is set is the volume's.
SOURCES: Final[dict[str, Check]] = {
    "emptyDir": check_empty_dir,
    "hostPath": check_host_path,
    "gitRepo": check_git_repo,
    "gcePersistentDisk": partitioned("pdName"),
    "awsElasticBlockStore": partitioned("volumeID"),
    "secret": keyed_files("secretName"),
    "nfs": check_nfs,
    "iscsi": _iscsi,
    "glusterfs": requires("endpoints", "path"),
    "flocker": check_flocker,
    "persistentVolumeClaim": requires("claimName"),
    "rbd": requires("monitors", "image"),
    "cinder": cinder(with_namespace=False),
    "cephfs": requires("monitors"),
    "quobyte": check_quobyte,
    "downwardAPI": check_downward_api,
    "fc": check_fc,
    "flexVolume": check_flex,
    "configMap": keyed_files("name"),
    "azureFile": requires("secretName", "shareName"),
    "vsphereVolume": requires("volumePath"),
    "photonPersistentDisk": requires("pdID"),
    "portworxVolume": requires("volumeID"),
    "azureDisk": check_azure_disk,
    "storageos": storage_os(with_namespace=False),
    "projected": check_projected,
    "scaleIO": requires("gateway", "system", "volumeName"),
    "csi": _csi,
    "ephemeral": _ephemeral,
    "local": check_local,
    "image": _image,
}
# Path names in the reference's errors that differ from the field: for errors inside a source, and
# for a surplus source.
PATHS_INSIDE: Final[dict[str, str]] = {"gcePersistentDisk": "persistentDisk"}
PATHS_BESIDE: Final[dict[str, str]] = {"cephfs": "cephFS", "downwardAPI": "downwarAPI"}


def check_volumes(
    volumes: list[Object], pod_name: str, path: str, causes: Causes, context: Context
) -> dict[str, Object]:
    """Check volumes and return the valid ones by name. `pod_name` is empty in templates, where the
    claims of ephemeral volumes have no names yet."""
    volumes_by_name: dict[str, Object] = {}
    own_claims = _ephemeral_claims(volumes, pod_name)
    for index, volume in enumerate(volumes):
        volume_path = f"{path}[{index}]"
        name: str = volume["name"]
        before = len(causes)
        _check_source(volume, pod_name, volume_path, causes, context)
        if not name:
            causes.required(f"{volume_path}.name")
        elif not is_dns_label(name):
            causes.invalid_each(f"{volume_path}.name", name, dns_label(name))
        if name in volumes_by_name:
            causes.duplicate(f"{volume_path}.name", name)
        if len(causes) == before:
            volumes_by_name[name] = volume
        claim: Object | None = volume.get("persistentVolumeClaim")
        if claim is not None and claim["claimName"] in own_claims:
            detail = "must not reference a PVC that gets created for an ephemeral volume"
            field = f"{volume_path}.persistentVolumeClaim.claimName"
            causes.invalid(field, claim["claimName"], detail)
    return volumes_by_name


def _ephemeral_claims(volumes: list[Object], pod_name: str) -> set[str]:
    if not pod_name:
        return set()
    return {f"{pod_name}-{volume['name']}" for volume in volumes if "ephemeral" in volume}


def sources_of(volume: Object) -> list[str]:
    """The names of the sources that a volume sets, in the order of lookup."""
    if len(volume) == 2:  # a name and one source, as nearly always
        return [name for name in volume if name in SOURCES]
    return [name for name in SOURCES if name in volume]


def has_source(volume: Object) -> bool:
    """Whether a volume sets a source."""
    return any(name in SOURCES for name in volume)


def _check_source(
    volume: Object, pod_name: str, path: str, causes: Causes, context: Context
) -> None:
    names = sources_of(volume)
    if not names:
        causes.required(path, "must specify a volume type")
    for index, name in enumerate(names):
        if index:
            causes.forbidden(f"{path}.{PATHS_BESIDE.get(name, name)}", MORE_THAN_ONE)
        else:
            inside = f"{path}.{PATHS_INSIDE.get(name, name)}"
            if name == "image" and pod_name and not volume[name].get("reference"):
                causes.required(f"{inside}.reference")
            SOURCES[name](volume[name], inside, causes, context)
        if name == "iscsi" and is_too_long(volume[name], volume["name"]):
            causes.invalid(f"{path}.name", volume["name"], TOO_LONG)
        if name == "ephemeral" and not index:
            _check_claim_name(volume["name"], pod_name, path, causes)


def _check_claim_name(name: str, pod_name: str, path: str, causes: Causes) -> None:
    if not pod_name or not name:
        return
    claim = f"{pod_name}-{name}"
    for error in dns_subdomain(claim):
        causes.invalid(f"{path}.name", name, f'PVC name "{claim}": {error}')
