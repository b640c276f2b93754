"""The scheduler's model of the cluster, updated by commits and by its own decisions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from enum import Flag, auto
from typing import NamedTuple

from fairlead.base.dialect import Dialect
from fairlead.controllers.simulation.scheduler.facts import (
    LabelsOf,
    PendingPod,
    PodSummary,
    Port,
    amounts,
)
from fairlead.operations.api import Object


class NodeSummary:
    """Capacity and usage of a node. `present`: the Node object exists; pods are tracked
    regardless."""

    __slots__ = (
        "allocatable",
        "cpu",
        "labels",
        "memory",
        "name",
        "pods",
        "present",
        "requested",
        "taints",
        "unschedulable",
    )

    def __init__(self, name: str) -> None:
        self.name = name
        self.present = False
        self.labels: dict[str, str] = {}
        self.taints: list[Object] = []
        self.unschedulable = False
        self.allocatable: dict[str, int] = {}
        self.pods: dict[str, PodSummary] = {}
        self.requested: dict[str, int] = {}
        self.cpu = self.memory = 0

    def describe(self, node: Object | None) -> bool:
        """Update from the Node object; returns whether anything changed."""
        before = self._offer()
        self.present = node is not None
        if node is not None:
            spec, status = node["spec"], node["status"]
            self.labels = node["metadata"].get("labels") or {}
            self.taints = spec.get("taints") or []
            self.unschedulable = bool(spec.get("unschedulable"))
            self.allocatable = amounts(status.get("allocatable"))
        return before != self._offer()

    def _offer(self) -> tuple[object, ...]:
        return self.present, self.labels, self.taints, self.unschedulable, self.allocatable

    def add(self, pod: PodSummary) -> None:
        self.pods[pod.key] = pod
        self._count(pod, 1)

    def remove(self, key: str) -> PodSummary:
        pod = self.pods.pop(key)
        self._count(pod, -1)
        return pod

    def _count(self, pod: PodSummary, step: int) -> None:
        for name, amount in pod.requests.items():
            self.requested[name] = self.requested.get(name, 0) + step * amount
        self.cpu += step * pod.cpu
        self.memory += step * pod.memory

    def ports(self) -> Iterator[Port]:
        for pod in self.pods.values():
            yield from pod.ports


class Cluster:
    """All nodes and their pods. `repelling` are pods with required anti-affinity; `nominated` are
    pods waiting for preempted room on a node."""

    def __init__(self, names: Iterable[str], dialect: Dialect, labels_of: LabelsOf) -> None:
        self.dialect = dialect
        self.labels_of = labels_of
        self.summaries = {name: NodeSummary(name) for name in names}
        self.nodes: list[NodeSummary] = []
        self.repelling: dict[str, PodSummary] = {}
        self.nominated: dict[str, tuple[str, PodSummary]] = {}
        self._node_of: dict[str, str] = {}

    def put_node(self, name: str, node: Object | None) -> bool:
        """Update or remove a node; returns whether anything changed."""
        changed = self.summaries[name].describe(node)
        if changed:
            self.nodes = [summary for summary in self.summaries.values() if summary.present]
        return changed

    def node_of(self, key: str) -> NodeSummary | None:
        """The node of a pod, or None."""
        name = self._node_of.get(key)
        return self.summaries[name] if name is not None else None

    def place(self, pod: PodSummary, name: str) -> None:
        """Assign a pod to a node, bound or planned; replaces its earlier entry."""
        self.remove(pod.key)
        self.summaries[name].add(pod)
        self._node_of[pod.key] = name
        if pod.repels:
            self.repelling[pod.key] = pod

    def remove(self, key: str) -> PodSummary | None:
        name = self._node_of.pop(key, None)
        if name is None:
            return None
        self.repelling.pop(key, None)
        return self.summaries[name].remove(key)

    def nominated_on(self, name: str, priority: int, but: str) -> list[PodSummary]:
        """Pods nominated to a node with at least this priority, except `but`."""
        return [
            pod
            for node, pod in self.nominated.values()
            if node == name and pod.priority >= priority and pod.key != but
        ]

    @contextmanager
    def without(self, pods: Sequence[PodSummary]) -> Iterator[None]:
        """Temporarily remove these pods."""
        nodes = [(pod, self._node_of[pod.key]) for pod in pods]
        for pod in pods:
            self.remove(pod.key)
        try:
            yield
        finally:
            for pod, name in nodes:
                self.place(pod, name)

    @contextmanager
    def with_placed(self, pods: Sequence[PodSummary], name: str) -> Iterator[None]:
        """Temporarily place these pods on a node."""
        added = [pod for pod in pods if pod.key not in self._node_of]
        for pod in added:
            self.place(pod, name)
        try:
            yield
        finally:
            for pod in added:
                self.remove(pod.key)


# Filters and their results.


class Event(Flag):
    """Events that may make an unschedulable pod schedulable."""

    NOTHING = 0
    NODE = auto()
    POD_PLACED = auto()
    POD_GONE = auto()
    VOLUME = auto()
    DEVICE = auto()


class Refusal(NamedTuple):
    """Why a node is rejected. `final`: preemption cannot help; `until`: events that may change
    it."""

    reasons: tuple[str, ...]
    final: bool
    until: Event


Filter = Callable[[NodeSummary], Refusal | None]
# Prepares a filter for a pod; None if the rule does not apply to it.
Rule = Callable[[PendingPod, Cluster], Filter | None]
