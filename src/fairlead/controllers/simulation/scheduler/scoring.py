"""Scores of the nodes that fit a pod."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from fairlead.controllers.simulation.scheduler.cluster import Cluster, NodeSummary
from fairlead.controllers.simulation.scheduler.facts import PendingPod
from fairlead.controllers.simulation.scheduler.pod_affinity import preferences
from fairlead.controllers.simulation.scheduler.selection import has_preferences, preference
from fairlead.controllers.simulation.scheduler.taints import untolerated_count
from fairlead.controllers.simulation.scheduler.topology_spread import spread_counts
from fairlead.operations.api import Object

_FULL = 100.0
_TAINTS, _AFFINITY, _SPREAD, _POD_AFFINITY = 3, 2, 2, 2  # weights relative to free capacity

Score = Callable[[NodeSummary], float]


def best(pending: PendingPod, nodes: Sequence[NodeSummary], cluster: Cluster) -> NodeSummary:
    """The node with the highest score; ties go to the fewest pods."""
    if len(nodes) == 1:
        return nodes[0]
    return nodes[min(range(len(nodes)), key=_order(pending, nodes, cluster))]


def ranked(
    pending: PendingPod, nodes: Sequence[NodeSummary], cluster: Cluster
) -> Sequence[NodeSummary]:
    """All nodes, the best first."""
    order = sorted(range(len(nodes)), key=_order(pending, nodes, cluster))
    return [nodes[index] for index in order]


def _order(
    pending: PendingPod, nodes: Sequence[NodeSummary], cluster: Cluster
) -> Callable[[int], tuple[float, int]]:
    """Sorts the indexes of nodes, the best first."""
    totals = [_room(pending, node) for node in nodes]
    for weight, score in _scores(pending, nodes, cluster):
        for index, points in enumerate(_normal([score(node) for node in nodes])):
            totals[index] += weight * points
    return lambda index: (-totals[index], len(nodes[index].pods))


def _room(pending: PendingPod, node: NodeSummary) -> float:
    """Score for free capacity and balance of CPU and memory with the pod on the node."""
    cpu = _share(node.cpu + pending.facts.cpu, node.allocatable.get("cpu", 0))
    memory = _share(node.memory + pending.facts.memory, node.allocatable.get("memory", 0))
    minimum = (2.0 - cpu - memory) / 2
    balanced = 1.0 - abs(cpu - memory) / 2
    return _FULL * (minimum + balanced)


def _share(used: int, offered: int) -> float:
    return min(used / offered, 1.0) if offered else 1.0


def prefers(spec: Object) -> bool:
    """Whether a pod prefers some nodes for more than their free room."""
    return has_preferences(spec) or bool(
        spec.get("topologySpreadConstraints") or _has_pod_affinity(spec)
    )


def _has_pod_affinity(spec: Object) -> bool:
    return bool((spec.get("affinity") or {}).keys() & {"podAffinity", "podAntiAffinity"})


def _scores(
    pending: PendingPod, nodes: Sequence[NodeSummary], cluster: Cluster
) -> list[tuple[int, Score]]:
    """The scores that apply to a pod, with weights."""
    scores: list[tuple[int, Score]] = []
    if any(node.taints for node in nodes):
        tolerations = pending.spec.get("tolerations") or ()
        scores.append((_TAINTS, lambda node: -float(untolerated_count(tolerations, node))))
    if has_preferences(pending.spec):
        scores.append((_AFFINITY, lambda node: float(preference(pending.spec, node))))
    if pending.spec.get("topologySpreadConstraints"):
        counts_by_key = spread_counts(pending, cluster)
        scores.append((_SPREAD, lambda node: -float(_matching_pods(node, counts_by_key))))
    if _has_pod_affinity(pending.spec):
        preferred = preferences(pending, cluster)
        scores.append((_POD_AFFINITY, lambda node: float(_pod_affinity(node, preferred))))
    return scores


def _matching_pods(node: NodeSummary, counts_by_key: Sequence[tuple[str, dict[str, int]]]) -> int:
    maximum = sum(max(counts.values(), default=0) + 1 for _, counts in counts_by_key)
    if not all(key in node.labels for key, _ in counts_by_key):
        return maximum  # nodes without the label rank last
    return sum(counts.get(node.labels[key], 0) for key, counts in counts_by_key)


def _pod_affinity(node: NodeSummary, preferred: Sequence[tuple[int, str, dict[str, int]]]) -> int:
    return sum(
        weight * counts.get(node.labels.get(topology, ""), 0)
        for weight, topology, counts in preferred
    )


def _normal(values: Sequence[float]) -> list[float]:
    """Values scaled to 0..100; all 0 if equal."""
    low, high = min(values, default=0.0), max(values, default=0.0)
    if low == high:
        return [0.0] * len(values)
    return [_FULL * (value - low) / (high - low) for value in values]
