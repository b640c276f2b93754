"""Which of the nodes that will do is the best."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from fairlead.controllers.simulation.scheduler.cluster import Cluster, NodeSummary
from fairlead.controllers.simulation.scheduler.facts import Wish
from fairlead.controllers.simulation.scheduler.pod_affinity import preferences
from fairlead.controllers.simulation.scheduler.selection import has_preferences, preference
from fairlead.controllers.simulation.scheduler.taints import unwelcome
from fairlead.controllers.simulation.scheduler.topology_spread import crowding

_FULL = 100.0
_TAINTS, _AFFINITY, _SPREAD, _COMPANY = 3, 2, 2, 2  # what weighs more than room

Score = Callable[[NodeSummary], float]


def best(wish: Wish, nodes: Sequence[NodeSummary], cluster: Cluster) -> NodeSummary:
    """The node with the highest score; of several the one with the fewest pods."""
    if len(nodes) == 1:
        return nodes[0]
    totals = [_room(wish, node) for node in nodes]
    for weight, score in _scores(wish, nodes, cluster):
        for index, points in enumerate(_normal([score(node) for node in nodes])):
            totals[index] += weight * points
    order = range(len(nodes))
    return nodes[min(order, key=lambda index: (-totals[index], len(nodes[index].pods)))]


def _room(wish: Wish, node: NodeSummary) -> float:
    """How much is left of a node, and how evenly, with the pod on it."""
    cpu = _share(node.cpu + wish.facts.cpu, node.allocatable.get("cpu", 0))
    memory = _share(node.memory + wish.facts.memory, node.allocatable.get("memory", 0))
    least = (2.0 - cpu - memory) / 2
    balanced = 1.0 - abs(cpu - memory) / 2
    return _FULL * (least + balanced)


def _share(taken: int, offered: int) -> float:
    return min(taken / offered, 1.0) if offered else 1.0


def _scores(wish: Wish, nodes: Sequence[NodeSummary], cluster: Cluster) -> list[tuple[int, Score]]:
    """What a pod has preferences about, and how much each of these counts."""
    found: list[tuple[int, Score]] = []
    if any(node.taints for node in nodes):
        tolerations = wish.spec.get("tolerations") or ()
        found.append((_TAINTS, lambda node: -float(unwelcome(tolerations, node))))
    if has_preferences(wish.spec):
        found.append((_AFFINITY, lambda node: float(preference(wish.spec, node))))
    if wish.spec.get("topologySpreadConstraints"):
        crowds = crowding(wish, cluster)
        found.append((_SPREAD, lambda node: -float(_crowd(node, crowds))))
    if (wish.spec.get("affinity") or {}).keys() & {"podAffinity", "podAntiAffinity"}:
        wanted = preferences(wish, cluster)
        found.append((_COMPANY, lambda node: float(_company(node, wanted))))
    return found


def _crowd(node: NodeSummary, crowds: Sequence[tuple[str, dict[str, int]]]) -> int:
    most = sum(max(counts.values(), default=0) + 1 for _, counts in crowds)
    if not all(key in node.labels for key, _ in crowds):
        return most  # nowhere is worse than where nobody counts
    return sum(counts.get(node.labels[key], 0) for key, counts in crowds)


def _company(node: NodeSummary, wanted: Sequence[tuple[int, str, dict[str, int]]]) -> int:
    return sum(
        weight * counts.get(node.labels.get(topology, ""), 0) for weight, topology, counts in wanted
    )


def _normal(values: Sequence[float]) -> list[float]:
    """The values between nothing and full marks; all the same if there is no difference."""
    low, high = min(values), max(values)
    if low == high:
        return [0.0] * len(values)
    return [_FULL * (value - low) / (high - low) for value in values]
