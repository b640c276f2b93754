"""What the scheduler knows of the nodes: a cheap summary, kept by commits and by its own plans."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from enum import Flag, auto
from typing import NamedTuple

from fairlead.base.dialect import Dialect
from fairlead.controllers.simulation.scheduler.facts import LabelsOf, Placed, Port, Wish, amounts
from fairlead.operations.api import Object


class NodeSummary:
    """What a node offers, and what of it is taken. It is `present` while there is a Node object;
    its pods are known before and after."""

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
        self.pods: dict[str, Placed] = {}
        self.requested: dict[str, int] = {}
        self.cpu = self.memory = 0

    def describe(self, node: Object | None) -> bool:
        """Take in the Node object; gives whether anything is different."""
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

    def add(self, pod: Placed) -> None:
        self.pods[pod.key] = pod
        self._count(pod, 1)

    def remove(self, key: str) -> Placed:
        pod = self.pods.pop(key)
        self._count(pod, -1)
        return pod

    def _count(self, pod: Placed, step: int) -> None:
        for name, amount in pod.requests.items():
            self.requested[name] = self.requested.get(name, 0) + step * amount
        self.cpu += step * pod.cpu
        self.memory += step * pod.memory

    def ports(self) -> Iterator[Port]:
        for pod in self.pods.values():
            yield from pod.ports


class Cluster:
    """All nodes and the pods on them. `repelling` are the pods that keep others away, `nominated`
    those for which room was made on a node that they do not have yet."""

    def __init__(self, names: Iterable[str], dialect: Dialect, labels_of: LabelsOf) -> None:
        self.dialect = dialect
        self.labels_of = labels_of
        self.summaries = {name: NodeSummary(name) for name in names}
        self.nodes: list[NodeSummary] = []
        self.repelling: dict[str, Placed] = {}
        self.nominated: dict[str, tuple[str, Placed]] = {}
        self._node_of: dict[str, str] = {}

    def put_node(self, name: str, node: Object | None) -> bool:
        """Take in a node, or that it is gone; gives whether anything is different."""
        changed = self.summaries[name].describe(node)
        if changed:
            self.nodes = [one for one in self.summaries.values() if one.present]
        return changed

    def node_of(self, key: str) -> NodeSummary | None:
        """Where a pod is placed."""
        name = self._node_of.get(key)
        return self.summaries[name] if name is not None else None

    def place(self, pod: Placed, name: str) -> None:
        """A pod is, or shall be, on a node; what was known of it before is forgotten."""
        self.remove(pod.key)
        self.summaries[name].add(pod)
        self._node_of[pod.key] = name
        if pod.repels:
            self.repelling[pod.key] = pod

    def remove(self, key: str) -> Placed | None:
        name = self._node_of.pop(key, None)
        if name is None:
            return None
        self.repelling.pop(key, None)
        return self.summaries[name].remove(key)

    def nominated_on(self, name: str, priority: int, but: str) -> list[Placed]:
        """The pods of at least a priority, other than one, for which room was made on a node."""
        return [
            pod
            for node, pod in self.nominated.values()
            if node == name and pod.priority >= priority and pod.key != but
        ]

    @contextmanager
    def without(self, pods: Sequence[Placed]) -> Iterator[None]:
        """For the time being these pods are not there."""
        homes = [(pod, self._node_of[pod.key]) for pod in pods]
        for pod in pods:
            self.remove(pod.key)
        try:
            yield
        finally:
            for pod, name in homes:
                self.place(pod, name)

    @contextmanager
    def with_placed(self, pods: Sequence[Placed], name: str) -> Iterator[None]:
        """For the time being these pods are on a node."""
        added = [pod for pod in pods if pod.key not in self._node_of]
        for pod in added:
            self.place(pod, name)
        try:
            yield
        finally:
            for pod in added:
                self.remove(pod.key)


# What rules say: whether a node will do for a pod, and if not why.


class Event(Flag):
    """What happens that may make room for a pod that found none."""

    NOTHING = 0
    NODE = auto()
    POD_PLACED = auto()
    POD_GONE = auto()
    VOLUME = auto()


class Refusal(NamedTuple):
    """Why a node will not do. `final`: no pod that goes away changes that; `until`: what might."""

    reasons: tuple[str, ...]
    final: bool
    until: Event


Filter = Callable[[NodeSummary], Refusal | None]
# Reads a pod once, and gives what judges each node; None if the rule has nothing to say about it.
Rule = Callable[[Wish, Cluster], Filter | None]
