"""Plans which pods of a DaemonSet to create and delete, per node."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from fairlead.controllers.workloads.daemon_sets.placement import Fit
from fairlead.controllers.workloads.pods import Pod
from fairlead.resources.core.pods import FINISHED

ByNode = Mapping[str, Sequence[Pod]]


@dataclass(frozen=True, slots=True)
class Plan:
    """The nodes to create pods on, and the pods to delete."""

    make: list[str] = field(default_factory=list)
    remove: list[Pod] = field(default_factory=list)


def by_node(pods: Iterable[Pod]) -> dict[str, list[Pod]]:
    """Pods by the node they run on or are created for: assigned ones first, then by age. Excludes
    finished pods that are being deleted."""
    pods_by_node: dict[str, list[Pod]] = {}
    for pod in sorted(pods, key=lambda pod: (not pod.node, pod.created, pod.name)):
        if pod.target and not (pod.deleting and pod.phase in FINISHED):
            pods_by_node.setdefault(pod.target, []).append(pod)
    return pods_by_node


def strays(pods: ByNode, fits: Mapping[str, Fit]) -> list[Pod]:
    """Unassigned pods for nodes that no longer exist."""
    return [
        pod
        for node, node_pods in pods.items()
        if node not in fits
        for pod in node_pods
        if not pod.node and not pod.deleting
    ]


@dataclass(frozen=True, slots=True)
class KeepPlan:
    """Keeps one pod on each eligible node. `updated` tests for the newest template, `replaceable`
    whether a finished pod may be replaced now. With `surges` an old and a new pod may coexist until
    the new one is available."""

    updated: Callable[[Pod], bool]
    replaceable: Callable[[str, Pod], bool]
    min_ready: int
    surges: bool

    def plan(self, pods: ByNode, fits: Mapping[str, Fit]) -> Plan:
        plan = Plan(remove=strays(pods, fits))
        for node, fit in fits.items():
            self._add(plan, node, fit, pods.get(node, ()))
        return plan

    def _add(self, plan: Plan, node: str, fit: Fit, pods: Sequence[Pod]) -> None:
        staying = [pod for pod in pods if not pod.deleting]
        if not fit.stays:
            plan.remove.extend(staying)
            return
        if not pods:
            if fit.runs:
                plan.make.append(node)
            return
        running = [pod for pod in staying if pod.phase not in FINISHED]
        finished = (pod for pod in staying if pod.phase in FINISHED)
        plan.remove.extend(pod for pod in finished if self.replaceable(node, pod))
        if not self.surges:
            plan.remove.extend(running[1:])
        elif running:
            plan.remove.extend(self._too_many(running))
        elif fit.runs:
            plan.make.append(node)

    def _too_many(self, running: Sequence[Pod]) -> list[Pod]:
        """All except the oldest new pod and, until that is available, the oldest old one."""
        new = [pod for pod in running if self.updated(pod)]
        old = [pod for pod in running if not self.updated(pod)]
        surplus = [*new[1:], *old[1:]]
        if new and old and (not old[0].ready or new[0].available(self.min_ready)):
            surplus.append(old[0])
        return surplus


@dataclass(frozen=True, slots=True)
class RollingPlan:
    """The next step of a rolling update. Limits either the nodes without an available pod
    (`unavailable`) or the nodes with two pods (`surge`)."""

    updated: Callable[[Pod], bool]
    min_ready: int
    unavailable: int
    surge: int

    def plan(self, pods: ByNode, fits: Mapping[str, Fit]) -> Plan:
        staying = {node: [pod for pod in pods[node] if not pod.deleting] for node in pods}
        for node, fit in fits.items():
            if fit.runs:
                staying.setdefault(node, [])
        return self._surging(staying, fits) if self.surge else self._replacing(staying)

    def _replacing(self, staying: ByNode) -> Plan:
        missing, at_once, in_turn = 0, [], []
        for pods in staying.values():
            new, old = self._split(pods)
            if len(new) + len(old) != 1:
                missing += 1
            elif new:
                missing += not new[0].available(self.min_ready)
            elif old[0].available(self.min_ready):
                in_turn.append(old[0])
            else:
                missing += 1
                at_once.append(old[0])
        room = max(0, self.unavailable - missing)
        return Plan(remove=[*at_once, *in_turn[:room]])

    def _surging(self, staying: ByNode, fits: Mapping[str, Fit]) -> Plan:
        plan, double, in_turn = Plan(), 0, []
        for node, pods in staying.items():
            new, old = self._split(pods)
            if len(new) > 1 or len(old) > 1:
                double += 1
            elif not old:
                continue  # `KeepPlan` creates missing pods
            elif new:
                if new[0].available(self.min_ready):
                    plan.remove.append(old[0])
                else:
                    double += 1
            elif node not in fits or not fits[node].runs:
                continue
            elif old[0].available(self.min_ready):
                in_turn.append(node)
            else:
                plan.make.append(node)
        plan.make.extend(in_turn[: max(0, self.surge - double)])
        return plan

    def _split(self, pods: Sequence[Pod]) -> tuple[list[Pod], list[Pod]]:
        new = [pod for pod in pods if self.updated(pod)]
        return new, [pod for pod in pods if not self.updated(pod)]
