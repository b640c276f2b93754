"""The Node objects of simulated nodes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple
from uuid import NAMESPACE_DNS, uuid5

from fairlead.base.dialect import Dialect
from fairlead.base.release import Release
from fairlead.codec.types.times import now
from fairlead.controllers.simulation.addresses import node_address, pod_network
from fairlead.controllers.simulation.behaviour import PREFIX
from fairlead.controllers.simulation.cloud.volumes import DRIVER as VOLUME_DRIVER
from fairlead.controllers.simulation.node_behaviour import (
    HEALTHY,
    NOT_READY,
    REBOOTING,
    NodeBehaviour,
)
from fairlead.operations.api import Object
from fairlead.resources.core.pods.resources import is_extended
from fairlead.resources.gates import Gates

CAPACITY = {"cpu": "16", "ephemeral-storage": "100Gi", "memory": "64Gi", "pods": "110"}
AGENT_PORT = 10250
_ZONES = "abc"
_SYSTEM, _MACHINE = "linux", "amd64"


# What simulated agents do of the features that agents declare, in the order of their names.
_DECLARED = (
    "InPlacePodLevelResourcesVerticalScaling",
    "InPlacePodVerticalScalingInitContainers",
    "RestartAllContainersOnContainerExits",
)


def declared_features(gates: Gates) -> list[str]:
    """The features that nodes declare; none in releases in which nodes declare nothing."""
    return [name for name in _DECLARED if gates["NodeDeclaredFeatures"] and gates[name]]


def new_node(
    name: str, number: int, dialect: Dialect, version: str, features: Sequence[str]
) -> Object:
    """A node as it registers. Later changes by other clients are kept, also of its capacity."""
    network = str(pod_network(number))
    return {
        "metadata": {
            "name": name,
            "labels": _labels(name, number, dialect),
            "annotations": {
                dialect.label("volumes.@/controller-managed-attach-detach"): "true",
            },
        },
        "spec": {
            "podCIDR": network,
            "podCIDRs": [network],
            "providerID": f"simulation://{name}",
        },
        "status": {
            "capacity": dict(CAPACITY),
            "allocatable": dict(CAPACITY),
            "conditions": node_conditions((), HEALTHY),
            "addresses": [
                {"type": "InternalIP", "address": node_address(number)},
                {"type": "Hostname", "address": name},
            ],
            "daemonEndpoints": {"kubeletEndpoint": {"Port": AGENT_PORT}},
            "nodeInfo": {**_information(name, version), "bootID": boot_id(name)},
            **({"declaredFeatures": list(features)} if features else {}),
        },
    }


def _labels(name: str, number: int, dialect: Dialect) -> dict[str, str]:
    label = dialect.label
    return {
        label("@/hostname"): name,
        label("@/os"): _SYSTEM,
        label("@/arch"): _MACHINE,
        label("beta.@/os"): _SYSTEM,
        label("beta.@/arch"): _MACHINE,
        label("topology.@/region"): "simulated",
        label("topology.@/zone"): f"simulated-{_ZONES[number % len(_ZONES)]}",
        f"{PREFIX}node": "true",
    }


def _information(name: str, version: str) -> Object:
    identity = str(uuid5(NAMESPACE_DNS, name))
    return {
        "machineID": identity.replace("-", ""),
        "systemUUID": identity,
        "kernelVersion": "simulated",
        "osImage": "Fairlead simulation",
        "containerRuntimeVersion": "simulated://1.0",
        "kubeletVersion": version,
        "kubeProxyVersion": version,
        "operatingSystem": _SYSTEM,
        "architecture": _MACHINE,
    }


def owner_of_own(node: Object) -> Object:
    """The reference to a node in the objects that its agent makes for it."""
    metadata = node["metadata"]
    return {"apiVersion": "v1", "kind": "Node", "name": metadata["name"], "uid": metadata["uid"]}


# In-tree volume plugins that a CSI driver stands in for.
_MIGRATED = """\
@/aws-ebs
@/azure-disk
@/azure-file
@/cinder
@/gce-pd
@/portworx-volume since=1.36
@/vsphere-volume"""
# The CSI drivers of every simulated node.
_DRIVERS = (VOLUME_DRIVER,)


def new_csi_node(node: Object, dialect: Dialect, release: Release) -> Object:
    """The CSI drivers of a node, as its agent registers them."""
    migrated = dialect.label(release.select(_MIGRATED)).split("\n")
    return {
        "metadata": {
            "name": node["metadata"]["name"],
            "annotations": {
                dialect.label("storage.alpha.@/migrated-plugins"): ",".join(migrated),
            },
            "ownerReferences": [owner_of_own(node)],
        },
        "spec": {
            "drivers": [
                {"name": driver, "nodeID": node["metadata"]["name"], "topologyKeys": None}
                for driver in _DRIVERS
            ]
        },
    }


def with_drivers(current: Object, new: Object) -> Object:
    """A CSINode that exists, with the owner and the drivers of a new one; the same object if it has
    them."""
    metadata = {**current["metadata"], "ownerReferences": new["metadata"]["ownerReferences"]}
    drivers = current["spec"].get("drivers") or []
    names = {driver["name"] for driver in drivers}
    more = [driver for driver in new["spec"]["drivers"] if driver["name"] not in names]
    changed = {**current, "metadata": metadata, "spec": {"drivers": [*drivers, *more]}}
    return current if changed == current else changed


def boot_id(name: str, booted: int | None = None) -> str:
    """The `bootID` of a node, derived from the time of the boot."""
    return str(uuid5(NAMESPACE_DNS, name if booted is None else f"{name}/{booted}"))


class _Told(NamedTuple):
    """Status, reason and message of a condition, and the reason of the event when it comes to
    that."""

    status: str
    reason: str
    message: str
    event: str


# The conditions of a node by type: as long as it is well, and otherwise.
_CONDITIONS = {
    "MemoryPressure": (
        _Told(
            "False",
            "KubeletHasSufficientMemory",
            "kubelet has sufficient memory available",
            "NodeHasSufficientMemory",
        ),
        _Told(
            "True",
            "KubeletHasInsufficientMemory",
            "kubelet has insufficient memory available",
            "NodeHasInsufficientMemory",
        ),
    ),
    "DiskPressure": (
        _Told(
            "False",
            "KubeletHasNoDiskPressure",
            "kubelet has no disk pressure",
            "NodeHasNoDiskPressure",
        ),
        _Told("True", "KubeletHasDiskPressure", "kubelet has disk pressure", "NodeHasDiskPressure"),
    ),
    "PIDPressure": (
        _Told(
            "False",
            "KubeletHasSufficientPID",
            "kubelet has sufficient PID available",
            "NodeHasSufficientPID",
        ),
        _Told(
            "True",
            "KubeletHasInsufficientPID",
            "kubelet has insufficient PID available",
            "NodeHasInsufficientPID",
        ),
    ),
    "Ready": (
        _Told("True", "KubeletReady", "kubelet is posting ready status", "NodeReady"),
        _Told(
            "False", "KubeletNotReady", "the node simulates that it is not ready", "NodeNotReady"
        ),
    ),
}
_SHUTTING_DOWN = "node is shutting down"
OWN_CONDITIONS = tuple(_CONDITIONS)


def _told(kind: str, behaviour: NodeBehaviour) -> _Told:
    well, unwell = _CONDITIONS[kind]
    if kind in behaviour.pressures:
        return unwell
    if kind == "Ready" and behaviour.state in (NOT_READY, REBOOTING):
        is_down = behaviour.state == REBOOTING
        return unwell._replace(message=_SHUTTING_DOWN) if is_down else unwell
    return well


def node_allocatable(status: Object, dialect: Dialect) -> dict[str, str]:
    """The allocatable resources: includes the full capacity of extended resources that a client
    added."""
    capacity = status.get("capacity") or {}
    extended = {name: amount for name, amount in capacity.items() if is_extended(name, dialect)}
    return {**(status.get("allocatable") or {}), **extended}


def node_conditions(old: Sequence[Object] | None, behaviour: NodeBehaviour) -> list[Object]:
    """The conditions of a node with the current time, and foreign ones. An unchanged status keeps
    its transition time."""
    before = {condition["type"]: condition for condition in old or ()}
    moment = now()
    conditions = []
    for kind in OWN_CONDITIONS:
        told = _told(kind, behaviour)
        previous = before.pop(kind, None)
        since = moment
        if previous is not None and previous["status"] == told.status:
            since = previous.get("lastTransitionTime") or moment
        conditions.append(
            {
                "type": kind,
                "status": told.status,
                "lastHeartbeatTime": moment,
                "lastTransitionTime": since,
                "reason": told.reason,
                "message": told.message,
            }
        )
    return [*before.values(), *conditions]


def node_events(old: Sequence[Object], behaviour: NodeBehaviour) -> list[str]:
    """The reasons of the events when conditions change."""
    before = {condition["type"]: condition["status"] for condition in old}
    told = ((kind, _told(kind, behaviour)) for kind in OWN_CONDITIONS)
    return [each.event for kind, each in told if before.get(kind, each.status) != each.status]
