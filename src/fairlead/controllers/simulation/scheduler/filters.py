"""Applies all filters: which nodes fit a pod, and the message if none does."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import chain, islice
from typing import NamedTuple

from fairlead.controllers.simulation.scheduler.cluster import (
    Cluster,
    Event,
    Filter,
    NodeSummary,
    Refusal,
    Rule,
)
from fairlead.controllers.simulation.scheduler.facts import PendingPod
from fairlead.controllers.simulation.scheduler.pod_affinity import far, near, without_anti_affinity
from fairlead.controllers.simulation.scheduler.scoring import prefers
from fairlead.controllers.simulation.scheduler.selection import selected
from fairlead.controllers.simulation.scheduler.taints import cordoned, untolerated
from fairlead.controllers.simulation.scheduler.topology_spread import even
from fairlead.controllers.simulation.scheduler.volumes import VolumeRule

# Clusters of up to 100 nodes are searched whole. In larger ones the search ends when enough nodes
# fit: 100 for pods with preferences, 20 where only free room counts.
_MAX_FITTING, _MAX_FOR_ROOM = 100, 20


class FilterResult(NamedTuple):
    """The nodes that fit, and why each other is rejected."""

    nodes: Sequence[NodeSummary]
    refusals: dict[str, Refusal]

    @property
    def until(self) -> Event:
        """Events that may change the result."""
        event = Event.NODE
        for refusal in self.refusals.values():
            event |= refusal.until
        return event


class FilterChain:
    """Applies the rules in order; the first rejection of a node is reported."""

    def __init__(self, cluster: Cluster, volumes: VolumeRule) -> None:
        self._cluster = cluster
        self._first = 0  # the index of the node that the last search began with
        self._rules: tuple[Rule, ...] = (
            weighable,
            cordoned,
            untolerated,
            selected,
            free_ports,
            enough,
            volumes.reachable,
            even,
            near,
            far,
            without_anti_affinity,
        )
        # Rules that depend on the pods of nodes.
        self._of_pods: tuple[Rule, ...] = (
            free_ports,
            enough,
            even,
            near,
            far,
            without_anti_affinity,
        )

    def search(self, pending: PendingPod) -> FilterResult:
        """Judge the nodes until enough of them fit."""
        nodes = self._cluster.nodes
        if len(nodes) <= _MAX_FITTING:
            return self.judge(pending)
        most = _MAX_FITTING if prefers(pending.spec) else _MAX_FOR_ROOM
        self._first = (self._first + most) % len(nodes)
        return self.judge(pending, self._candidates(pending), most)

    def _candidates(self, pending: PendingPod) -> Iterable[NodeSummary]:
        """The node that preemption made room on, then all nodes. Each search starts after the nodes
        of the last one, so that pods spread over all nodes."""
        nodes, first = self._cluster.nodes, self._first
        candidates = chain(islice(nodes, first, None), islice(nodes, first))
        nominated = self._cluster.summaries.get(pending.nominated)
        if nominated is None or not nominated.present:
            return candidates
        return chain([nominated], (node for node in candidates if node is not nominated))

    def judge(
        self,
        pending: PendingPod,
        candidates: Iterable[NodeSummary] | None = None,
        most: int | None = None,
    ) -> FilterResult:
        """Judge the candidates, by default all nodes, until `most` of them fit."""
        cluster = self._cluster
        filters = self._filters(pending, self._rules)
        nodes: list[NodeSummary] = []
        refusals = {}
        for node in cluster.nodes if candidates is None else candidates:
            refusal = _first(filters, node)
            if refusal is None and cluster.nominated:
                refusal = self._beside_nominated(pending, node)
            if refusal is None:
                nodes.append(node)
                if len(nodes) == most:
                    break
            else:
                refusals[node.name] = refusal
        return FilterResult(nodes, refusals)

    def judge_room(self, pending: PendingPod, node: NodeSummary) -> Refusal | None:
        """Check the rules that depend on pods, after the pods of a node were changed by
        preemption."""
        refusal = _first(self._filters(pending, self._of_pods), node)
        return refusal or self._beside_nominated(pending, node)

    def _beside_nominated(self, pending: PendingPod, node: NodeSummary) -> Refusal | None:
        """Check the node as if the pods that are nominated to it ran there, except those of lower
        priority."""
        facts = pending.facts
        others = self._cluster.nominated_on(node.name, facts.priority, facts.key)
        if not others:
            return None
        with self._cluster.with_placed(others, node.name):
            return _first(self._filters(pending, self._of_pods), node)

    def _filters(self, pending: PendingPod, rules: Sequence[Rule]) -> list[Filter]:
        built = (rule(pending, self._cluster) for rule in rules)
        return [filter_ for filter_ in built if filter_ is not None]


def _first(filters: Iterable[Filter], node: NodeSummary) -> Refusal | None:
    for filter_ in filters:
        refusal = filter_(node)
        if refusal is not None:
            return refusal
    return None


def explained(nodes: int, reasons: Iterable[Sequence[str]]) -> str:
    """The message for `nodes` rejected nodes, from the reasons of each."""
    counts = Counter(reason for group in reasons for reason in group)
    listed = ", ".join(sorted(f"{count} {reason}" for reason, count in counts.items()))
    return f"0/{nodes} nodes are available: {listed}."


# Filters for requests, number of pods and host ports.

_UNTIL = Event.NODE | Event.POD_GONE
_PORTS = Refusal(("node(s) didn't have free ports for the requested pod ports",), False, _UNTIL)


def enough(pending: PendingPod, cluster: Cluster) -> Filter | None:
    requests = [(name, amount) for name, amount in pending.facts.requests.items() if amount]
    delegated = pending.delegated

    def judge(node: NodeSummary) -> Refusal | None:
        offered, requested = node.allocatable, node.requested
        missing = []
        if len(node.pods) >= offered.get("pods", 0):
            missing.append("Too many pods")
        for name, amount in requests:
            if name in delegated and not offered.get(name):
                continue
            if amount > offered.get(name, 0) - requested.get(name, 0):
                missing.append(f"Insufficient {name}")
        return Refusal(tuple(missing), False, _UNTIL) if missing else None

    return judge


def free_ports(pending: PendingPod, cluster: Cluster) -> Filter | None:
    ports = pending.facts.ports
    if not ports:
        return None

    def judge(node: NodeSummary) -> Refusal | None:
        clash = any(port.clashes_with(used) for used in node.ports() for port in ports)
        return _PORTS if clash else None

    return judge


# Filter for pods with too many scheduling terms, which would block the event loop.

_PARTS = ("tolerations", "nodeSelector", "affinity", "topologySpreadConstraints")
_OF_PODS = ("podAffinity", "podAntiAffinity")
# Terms are evaluated per node; pod affinity terms also per pod.
_MAX_LEAVES, _MAX_OF_PODS = 5_000, 400


def weighable(pending: PendingPod, cluster: Cluster) -> Filter | None:
    """Rejects all nodes for pods with too many terms."""
    spec = pending.spec
    weight = sum(_leaves(spec.get(name), _MAX_LEAVES + 1) for name in _PARTS)
    affinity = spec.get("affinity") or {}
    of_pods = sum(_leaves(affinity.get(name), _MAX_OF_PODS + 1) for name in _OF_PODS)
    if weight <= _MAX_LEAVES and of_pods <= _MAX_OF_PODS:
        return None
    text = "pod has more scheduling terms than the simulated scheduler weighs"
    refusal = Refusal((text,), True, Event.NOTHING)
    return lambda node: refusal


def _leaves(value: object, maximum: int) -> int:
    """The number of scalar values in a structure, counted up to `maximum`."""
    count, rest = 0, [value]
    while rest and count < maximum:
        item = rest.pop()
        if isinstance(item, dict):
            rest.extend(item.values())
        elif isinstance(item, list):
            rest.extend(item)
        elif item is not None:
            count += 1
    return count
