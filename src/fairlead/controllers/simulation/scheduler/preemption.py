"""Making room for a pod by removing others that count less."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import NamedTuple

from fairlead.controllers.simulation.scheduler.cluster import Cluster, NodeSummary
from fairlead.controllers.simulation.scheduler.facts import Placed, Wish
from fairlead.controllers.simulation.scheduler.filters import Judge, Verdict, explained
from fairlead.operations.api import Object
from fairlead.resources.rules import selector_matches

_NO_USE = ("Preemption is not helpful for scheduling",)
_NOBODY = ("No preemption victims found for incoming pod",)
_LOWEST = -(2**31)

Budgets = Callable[[], Sequence[Object]]  # the budgets of disruption that there are


class Candidate(NamedTuple):
    """A node, the pods that would have to go, those that count most first, and how many budgets of
    disruption that would violate."""

    node: NodeSummary
    victims: Sequence[Placed]
    violations: int

    def cost(self) -> tuple[int, int, int, int]:
        priorities = [pod.priority for pod in self.victims]
        total = sum(priority - _LOWEST for priority in priorities)
        return self.violations, max(priorities, default=_LOWEST), total, len(priorities)

    def youngest(self) -> str:
        """When the oldest of those that count most came to the node."""
        top = max(pod.priority for pod in self.victims)
        return min(pod.started for pod in self.victims if pod.priority == top)


def ineligible(wish: Wish, cluster: Cluster) -> str:
    """Why a pod may not have others removed; empty if it may."""
    if wish.spec.get("preemptionPolicy") == "Never":
        return "not eligible due to preemptionPolicy=Never."
    node = cluster.summaries.get(wish.nominated)
    if node is not None and any(
        pod.deleting and pod.priority < wish.facts.priority for pod in node.pods.values()
    ):
        return "not eligible due to a terminating pod on the nominated node."
    return ""


async def choose(
    wish: Wish, verdict: Verdict, cluster: Cluster, judge: Judge, budgets: Budgets
) -> tuple[Candidate | None, str]:
    """The node where making room costs least, or why there is none."""
    candidates: list[Candidate] = []
    reasons: list[Sequence[str]] = []
    for name, refusal in verdict.refusals.items():
        if refusal.final:
            reasons.append(_NO_USE)
            continue
        await asyncio.sleep(0)  # there may be many, each with many pods
        found = _victims(wish, cluster.summaries[name], cluster, judge, budgets)
        if isinstance(found, Candidate):
            candidates.append(found)
        else:
            reasons.append(found)
    if not candidates:
        return None, explained(len(cluster.nodes), reasons)
    least = min(one.cost() for one in candidates)
    return max((one for one in candidates if one.cost() == least), key=Candidate.youngest), ""


def _victims(
    wish: Wish, node: NodeSummary, cluster: Cluster, judge: Judge, budgets: Budgets
) -> Candidate | Sequence[str]:
    """Remove all that count less, and put back as many as there is room for, first those that must
    not be disturbed, then those that count most."""
    lower = [pod for pod in node.pods.values() if pod.priority < wish.facts.priority]
    if not lower:
        return _NOBODY
    lower.sort(key=lambda pod: (-pod.priority, pod.started))
    with cluster.without(lower):
        refusal = judge.judge_room(wish, node)
        if refusal is not None:
            return refusal.reasons
        protected, others = _by_budget(lower, budgets())
        victims, violations = [], 0
        for group in (protected, others):
            for pod in group:
                cluster.place(pod, node.name)
                if judge.judge_room(wish, node) is not None:
                    cluster.remove(pod.key)
                    victims.append(pod)
                    violations += group is protected
    victims.sort(key=lambda pod: (-pod.priority, pod.started))
    return Candidate(node, victims, violations)


def _by_budget(
    pods: Sequence[Placed], budgets: Sequence[Object]
) -> tuple[list[Placed], list[Placed]]:
    """Those whose removal would violate a budget, and the others."""
    left = [(one.get("status") or {}).get("disruptionsAllowed") or 0 for one in budgets]
    violating: list[Placed] = []
    others: list[Placed] = []
    for pod in pods:
        violates = False
        for index, budget in enumerate(budgets):
            if _is_covered(budget, pod):
                left[index] -= 1
                violates = violates or left[index] < 0
        (violating if violates else others).append(pod)
    return violating, others


def _is_covered(budget: Object, pod: Placed) -> bool:
    """Whether a budget counts the removal of a pod, and has not done so before."""
    metadata = budget["metadata"]
    if metadata["namespace"] != pod.namespace or not pod.labels:
        return False
    disrupted = (budget.get("status") or {}).get("disruptedPods") or {}
    name = pod.key.rpartition("/")[2]
    selector = budget["spec"].get("selector")
    return name not in disrupted and selector_matches(selector, pod.labels)
