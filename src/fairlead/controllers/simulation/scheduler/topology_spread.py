"""Topology spread constraints."""

from __future__ import annotations

from collections.abc import Sequence

from fairlead.controllers.simulation.scheduler.cluster import (
    Cluster,
    Event,
    Filter,
    NodeSummary,
    Refusal,
)
from fairlead.controllers.simulation.scheduler.facts import PendingPod
from fairlead.controllers.simulation.scheduler.selection import is_selected
from fairlead.controllers.simulation.scheduler.taints import tolerates
from fairlead.operations.api import Object
from fairlead.resources.core.pods import PREFER_NO_SCHEDULE
from fairlead.resources.rules import selector_matches

_UNTIL = Event.NODE | Event.POD_GONE | Event.POD_PLACED
_TEXT = "node(s) didn't match pod topology spread constraints"
_UNEVEN = Refusal((_TEXT,), False, _UNTIL)
_UNLABELLED = Refusal((f"{_TEXT} (missing required label)",), True, _UNTIL)
_STRICT = "DoNotSchedule"


class _Spread:
    """One constraint, with the number of matching pods per domain."""

    def __init__(self, constraint: Object, pending: PendingPod) -> None:
        self.key: str = constraint["topologyKey"]
        self._maximum: int = constraint["maxSkew"]
        self._selector = _selector(constraint, pending)
        self._constraint = constraint
        self.counts: dict[str, int] = {}
        self._own = int(selector_matches(self._selector, pending.facts.labels))
        self._minimum = constraint.get("minDomains") or 1

    def counts_node(self, pending: PendingPod, node: NodeSummary) -> bool:
        """Whether a node counts: by default only nodes that the pod's affinity allows."""
        constraint = self._constraint
        by_affinity = (constraint.get("nodeAffinityPolicy") or "Honor") == "Honor"
        if by_affinity and not is_selected(pending.spec, node):
            return False
        if constraint.get("nodeTaintsPolicy") == "Honor":
            tolerations = pending.spec.get("tolerations") or ()
            return all(
                taint["effect"] == PREFER_NO_SCHEDULE or tolerates(tolerations, taint)
                for taint in node.taints
            )
        return True

    def add(self, node: NodeSummary, namespace: str) -> None:
        value = node.labels[self.key]
        count = sum(
            pod.namespace == namespace
            and not pod.deleting
            and selector_matches(self._selector, pod.labels)
            for pod in node.pods.values()
        )
        self.counts[value] = self.counts.get(value, 0) + count

    def is_even(self, node: NodeSummary) -> bool:
        """Whether one more pod on a node keeps the skew within the limit."""
        minimum = 0 if len(self.counts) < self._minimum else min(self.counts.values(), default=0)
        count = self.counts.get(node.labels[self.key], 0)
        return count + self._own - minimum <= self._maximum


def _selector(constraint: Object, pending: PendingPod) -> Object | None:
    """The label selector of a constraint, with the pod's values for matchLabelKeys."""
    selector: Object | None = constraint.get("labelSelector")
    keys = constraint.get("matchLabelKeys") or ()
    labels = pending.facts.labels
    own = {key: labels[key] for key in keys if key in labels}
    if not own or selector is None:
        return selector
    return {**selector, "matchLabels": {**(selector.get("matchLabels") or {}), **own}}


def _spreads(pending: PendingPod, cluster: Cluster, *, strict: bool) -> list[_Spread]:
    constraints: Sequence[Object] = pending.spec.get("topologySpreadConstraints") or ()
    spreads = [
        _Spread(constraint, pending)
        for constraint in constraints
        if (constraint["whenUnsatisfiable"] == _STRICT) == strict
    ]
    for node in cluster.nodes if spreads else ():
        if not all(spread.key in node.labels for spread in spreads):
            continue
        for spread in spreads:
            if spread.counts_node(pending, node):
                spread.add(node, pending.facts.namespace)
    return spreads


def even(pending: PendingPod, cluster: Cluster) -> Filter | None:
    spreads = _spreads(pending, cluster, strict=True)
    if not spreads:
        return None

    def judge(node: NodeSummary) -> Refusal | None:
        if not all(spread.key in node.labels for spread in spreads):
            return _UNLABELLED
        return None if all(spread.is_even(node) for spread in spreads) else _UNEVEN

    return judge


def spread_counts(pending: PendingPod, cluster: Cluster) -> list[tuple[str, dict[str, int]]]:
    """Counts per domain of the soft constraints."""
    return [(spread.key, spread.counts) for spread in _spreads(pending, cluster, strict=False)]
