"""Pod affinity and anti-affinity."""

from __future__ import annotations

from collections.abc import Iterable

from fairlead.controllers.simulation.scheduler.cluster import (
    Cluster,
    Event,
    Filter,
    NodeSummary,
    Refusal,
)
from fairlead.controllers.simulation.scheduler.facts import (
    PendingPod,
    PodSummary,
    Term,
    preferred_terms,
    required_terms,
)

_NEAR, _FAR = "podAffinity", "podAntiAffinity"
_UNTIL = Event.NODE | Event.POD_GONE | Event.POD_PLACED
_NOT_NEAR = Refusal(("node(s) didn't match pod affinity rules",), True, _UNTIL)
_NOT_FAR = Refusal(("node(s) didn't match pod anti-affinity rules",), False, _UNTIL)
_REPELLED = Refusal(("node(s) didn't satisfy existing pods anti-affinity rules",), False, _UNTIL)

_Domain = tuple[str, str]  # topology key and value


def without_anti_affinity(pending: PendingPod, cluster: Cluster) -> Filter | None:
    """Rejects nodes where the anti-affinity of existing pods excludes this pod."""
    occupied = set()
    for pod in cluster.repelling.values():
        node = cluster.node_of(pod.key)
        for term in pod.repels:
            value = node.labels.get(term.topology) if node is not None else None
            if value is not None and _is_about(term, pending.facts, cluster):
                occupied.add((term.topology, value))
    if not occupied:
        return None
    return lambda node: _REPELLED if _domains(node, occupied) & occupied else None


def _domains(node: NodeSummary, domains: Iterable[_Domain]) -> set[_Domain]:
    keys = {key for key, _ in domains}
    return {(key, node.labels[key]) for key in keys if key in node.labels}


def far(pending: PendingPod, cluster: Cluster) -> Filter | None:
    terms = pending.facts.repels
    if not terms:
        return None
    occupied = {(term.topology, value) for term in terms for value in _occupied(term, cluster)}
    return lambda node: _NOT_FAR if _domains(node, occupied) & occupied else None


def near(pending: PendingPod, cluster: Cluster) -> Filter | None:
    terms = required_terms(pending.spec, _NEAR, pending.facts.namespace)
    if not terms:
        return None
    occupied = [(term, _occupied(term, cluster)) for term in terms]
    # The first pod of a group with affinity to itself may go anywhere.
    first = not any(values for _, values in occupied) and all(
        _is_about(term, pending.facts, cluster) for term in terms
    )

    def judge(node: NodeSummary) -> Refusal | None:
        for term, values in occupied:
            value = node.labels.get(term.topology)
            if value is None or not (first or value in values):
                return _NOT_NEAR
        return None

    return judge


def _is_about(term: Term, pod: PodSummary, cluster: Cluster) -> bool:
    return term.is_about(pod.namespace, pod.labels, cluster.labels_of)


def _occupied(term: Term, cluster: Cluster) -> dict[str, int]:
    """The number of matching pods per topology value."""
    counts: dict[str, int] = {}
    for node in cluster.nodes:
        value = node.labels.get(term.topology)
        if value is None:
            continue
        count = sum(_is_about(term, pod, cluster) for pod in node.pods.values())
        if count:
            counts[value] = counts.get(value, 0) + count
    return counts


def preferences(pending: PendingPod, cluster: Cluster) -> list[tuple[int, str, dict[str, int]]]:
    """Preferred terms: weight (negative for anti-affinity), topology key, and matching pods per
    value."""
    weighted = []
    for kind, sign in ((_NEAR, 1), (_FAR, -1)):
        for weight, term in preferred_terms(pending.spec, kind, pending.facts.namespace):
            weighted.append((sign * weight, term.topology, _occupied(term, cluster)))
    return weighted
