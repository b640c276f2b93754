"""The Node objects of simulated nodes."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import NAMESPACE_DNS, uuid5

from fairlead.base.dialect import Dialect
from fairlead.codec.types.times import now
from fairlead.controllers.simulation.addresses import node_address, pod_network
from fairlead.controllers.simulation.behaviour import NOT_READY, PREFIX, READY
from fairlead.operations.api import Object
from fairlead.resources.core.pods.resources import is_extended

CAPACITY = {"cpu": "16", "ephemeral-storage": "100Gi", "memory": "64Gi", "pods": "110"}
AGENT_PORT = 10250
_ZONES = "abc"
_SYSTEM, _MACHINE = "linux", "amd64"


def new_node(name: str, number: int, dialect: Dialect, version: str) -> Object:
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
            "conditions": node_conditions((), READY),
            "addresses": [
                {"type": "InternalIP", "address": node_address(number)},
                {"type": "Hostname", "address": name},
            ],
            "daemonEndpoints": {"kubeletEndpoint": {"Port": AGENT_PORT}},
            "nodeInfo": _information(name, version),
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
        "bootID": identity,
        "kernelVersion": "simulated",
        "osImage": "Fairlead simulation",
        "containerRuntimeVersion": "simulated://1.0",
        "kubeletVersion": version,
        "kubeProxyVersion": version,
        "operatingSystem": _SYSTEM,
        "architecture": _MACHINE,
    }


# Type, reason and message of the conditions of a healthy node; all except Ready are False.
_WELL = (
    ("MemoryPressure", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
    ("DiskPressure", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
    ("PIDPressure", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
    ("Ready", "KubeletReady", "kubelet is posting ready status"),
)
_UNWELL = ("KubeletNotReady", "the node simulates that it is not ready")
OWN_CONDITIONS = tuple(kind for kind, _, _ in _WELL)


def node_allocatable(status: Object, dialect: Dialect) -> dict[str, str]:
    """The allocatable resources: includes the full capacity of extended resources that a client
    added."""
    capacity = status.get("capacity") or {}
    extended = {name: amount for name, amount in capacity.items() if is_extended(name, dialect)}
    return {**(status.get("allocatable") or {}), **extended}


def node_conditions(old: Sequence[Object] | None, state: str) -> list[Object]:
    """The conditions for a state with the current time, and foreign ones. An unchanged status keeps
    its transition time."""
    before = {condition["type"]: condition for condition in old or ()}
    moment = now()
    conditions = []
    for kind, reason, message in _WELL:
        status = "True" if kind == "Ready" else "False"
        if kind == "Ready" and state == NOT_READY:
            status, (reason, message) = "False", _UNWELL
        previous = before.pop(kind, None)
        since = moment
        if previous is not None and previous["status"] == status:
            since = previous.get("lastTransitionTime") or moment
        conditions.append(
            {
                "type": kind,
                "status": status,
                "lastHeartbeatTime": moment,
                "lastTransitionTime": since,
                "reason": reason,
                "message": message,
            }
        )
    return [*before.values(), *conditions]
