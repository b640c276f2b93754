"""Preemption: selects lower-priority pods to delete for a pending pod."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from fairlead.base.slices import TimeSlices
from fairlead.controllers.simulation.scheduler.cluster import Cluster, NodeSummary
from fairlead.controllers.simulation.scheduler.facts import PendingPod, PodSummary
from fairlead.controllers.simulation.scheduler.filters import FilterChain, FilterResult, explained
from fairlead.operations.api import Object
from fairlead.resources.rules import selector_matches

_NO_USE = ("Preemption is not helpful for scheduling",)
_NOBODY = ("No preemption victims found for incoming pod",)
_LOWEST = -(2**31)

Budgets = Callable[[], Sequence[Object]]  # returns all PodDisruptionBudgets


class Candidate(NamedTuple):
    """A node, its victims (highest priority first), and the number of budgets violated."""

    node: NodeSummary
    victims: Sequence[PodSummary]
    violations: int

    def cost(self) -> tuple[int, int, int, int]:
        priorities = [pod.priority for pod in self.victims]
        total = sum(priority - _LOWEST for priority in priorities)
        return self.violations, max(priorities, default=_LOWEST), total, len(priorities)

    def youngest(self) -> str:
        """The earliest start of the victims with the highest priority."""
        top = max(pod.priority for pod in self.victims)
        return min(pod.started for pod in self.victims if pod.priority == top)


def ineligible(pending: PendingPod, cluster: Cluster) -> str:
    """Why a pod may not preempt; empty if it may."""
    if pending.spec.get("preemptionPolicy") == "Never":
        return "not eligible due to preemptionPolicy=Never."
    node = cluster.summaries.get(pending.nominated)
    if node is not None and any(
        pod.deleting and pod.priority < pending.facts.priority for pod in node.pods.values()
    ):
        return "not eligible due to a terminating pod on the nominated node."
    return ""


async def choose(
    pending: PendingPod,
    result: FilterResult,
    cluster: Cluster,
    filters: FilterChain,
    budgets: Budgets,
) -> tuple[Candidate | None, str]:
    """The candidate with the lowest cost, or an explanation if there is none."""
    candidates: list[Candidate] = []
    reasons: list[Sequence[str]] = []
    slices = TimeSlices()
    for name, refusal in result.refusals.items():
        if refusal.final:
            reasons.append(_NO_USE)
            continue
        await slices.pause()  # there may be many nodes with many pods
        victims = _victims(pending, cluster.summaries[name], cluster, filters, budgets)
        if isinstance(victims, Candidate):
            candidates.append(victims)
        else:
            reasons.append(victims)
    if not candidates:
        return None, explained(len(cluster.nodes), reasons)
    minimum = min(candidate.cost() for candidate in candidates)
    return max(
        (candidate for candidate in candidates if candidate.cost() == minimum),
        key=Candidate.youngest,
    ), ""


def _victims(
    pending: PendingPod, node: NodeSummary, cluster: Cluster, filters: FilterChain, budgets: Budgets
) -> Candidate | Sequence[str]:
    """Remove all lower-priority pods, then put back as many as fit: first those protected by
    budgets, then by priority."""
    lower = [pod for pod in node.pods.values() if pod.priority < pending.facts.priority]
    if not lower:
        return _NOBODY
    lower.sort(key=lambda pod: (-pod.priority, pod.started))
    with cluster.without(lower):
        refusal = filters.judge_room(pending, node)
        if refusal is not None:
            return refusal.reasons
        protected, others = _by_budget(lower, budgets())
        victims, violations = [], 0
        for group in (protected, others):
            for pod in group:
                cluster.place(pod, node.name)
                if filters.judge_room(pending, node) is not None:
                    cluster.remove(pod.key)
                    victims.append(pod)
                    violations += group is protected
    victims.sort(key=lambda pod: (-pod.priority, pod.started))
    return Candidate(node, victims, violations)


def _by_budget(
    pods: Sequence[PodSummary], budgets: Sequence[Object]
) -> tuple[list[PodSummary], list[PodSummary]]:
    """Pods whose deletion would violate a budget, and the others."""
    left = [(budget.get("status") or {}).get("disruptionsAllowed") or 0 for budget in budgets]
    violating: list[PodSummary] = []
    others: list[PodSummary] = []
    for pod in pods:
        violates = False
        for index, budget in enumerate(budgets):
            if _is_covered(budget, pod):
                left[index] -= 1
                violates = violates or left[index] < 0
        (violating if violates else others).append(pod)
    return violating, others


def _is_covered(budget: Object, pod: PodSummary) -> bool:
    """Whether a budget covers a pod and has not counted its disruption yet."""
    metadata = budget["metadata"]
    if metadata["namespace"] != pod.namespace or not pod.labels:
        return False
    disrupted = (budget.get("status") or {}).get("disruptedPods") or {}
    name = pod.key.rpartition("/")[2]
    selector = budget["spec"].get("selector")
    return name not in disrupted and selector_matches(selector, pod.labels)
