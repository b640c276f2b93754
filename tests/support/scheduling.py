"""A few nodes for the rules of the scheduler."""

from __future__ import annotations

from typing import Any

from fairlead.base.dialect import KUBERNETES
from fairlead.controllers.simulation.scheduler.cluster import Cluster
from fairlead.controllers.simulation.scheduler.facts import PendingPod, pending_pod
from fairlead.controllers.simulation.scheduler.filters import FilterChain, FilterResult, explained
from fairlead.controllers.simulation.scheduler.scoring import best
from support.client import Object

ZONE, HOST = "topology.kubernetes.io/zone", "kubernetes.io/hostname"
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
APP = {"matchLabels": {"app": "web"}}


class _NoVolumes:
    def reachable(self, pending: PendingPod, cluster: Cluster) -> None:
        return None


class Nodes:
    """Four nodes in two zones, the pods on them, and the nodes that fit another pod."""

    def __init__(self) -> None:
        names = ("n0", "n1", "n2", "n3")
        spaces = {"red": {"colour": "red"}}
        self.cluster = Cluster(names, KUBERNETES, lambda name: spaces.get(name, {}))
        no_volumes: Any = _NoVolumes()  # in place of a VolumeRule, which needs a server
        self.judge = FilterChain(self.cluster, no_volumes)
        for number, name in enumerate(names):
            self.describe(name, {ZONE: f"z{number % 2}", HOST: name})

    def describe(self, name: str, labels: dict[str, str], **fields: Any) -> None:
        allocatable = {"cpu": "2", "memory": "4Gi", "pods": "3", "example.com/gpu": "1"}
        status = {"allocatable": fields.pop("allocatable", allocatable)}
        metadata = {"name": name, "labels": labels}
        self.cluster.put_node(name, {"metadata": metadata, "spec": fields, "status": status})

    def relabel(self, name: str, **labels: str) -> None:
        self.describe(name, {**self.cluster.summaries[name].labels, **labels})

    def place(self, name: str, node: str, **fields: Any) -> None:
        self.cluster.place(pod(name, **fields).facts, node)

    def result(self, pending: PendingPod) -> FilterResult:
        return self.judge.judge(pending)

    def fitting(self, pending: PendingPod) -> list[str]:
        return [node.name for node in self.result(pending).nodes]

    def best(self, pending: PendingPod) -> str:
        return best(pending, self.result(pending).nodes, self.cluster).name

    def why(self, pending: PendingPod) -> str:
        refusals = self.result(pending).refusals.values()
        return explained(len(self.cluster.nodes), (refusal.reasons for refusal in refusals))


def pod(
    name: str = "p",
    labels: dict[str, str] | None = None,
    namespace: str = "default",
    requests: dict[str, str] | None = None,
    **spec: Any,
) -> PendingPod:
    container = {"name": "c", "resources": {"requests": requests} if requests else {}}
    ports = spec.pop("ports", None)
    if ports:
        container["ports"] = ports
    metadata = {
        "name": name,
        "namespace": namespace,
        "labels": labels or {},
        "creationTimestamp": "2024-01-01T00:00:00Z",
    }
    value = {"metadata": metadata, "spec": {"containers": [container], **spec}, "status": {}}
    return pending_pod(f"{namespace}/{name}", value)


def term(topology: str = ZONE, **fields: Any) -> Object:
    return {"topologyKey": topology, "labelSelector": APP, **fields}


def near(*terms: Object) -> Object:
    return {"podAffinity": {REQUIRED: list(terms)}}


def far(*terms: Object) -> Object:
    return {"podAntiAffinity": {REQUIRED: list(terms)}}
