"""Whether a node takes a pod that the simulated scheduler did not bind to it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from fairlead.base.dialect import Dialect
from fairlead.controllers.events import WARNING
from fairlead.controllers.pod_status import observed_generation
from fairlead.controllers.simulation.agent.containers import Moment, PodEvent
from fairlead.controllers.simulation.agent.pods import PodProgress
from fairlead.controllers.simulation.agent.resizes import Deferral
from fairlead.controllers.simulation.given_resources import with_given
from fairlead.controllers.simulation.scheduler.cluster import NodeSummary
from fairlead.controllers.simulation.scheduler.facts import PodSummary, labels_of
from fairlead.controllers.simulation.scheduler.selection import is_selected
from fairlead.controllers.simulation.scheduler.taints import tolerates
from fairlead.operations.api import Object
from fairlead.resources.core.pods import FINISHED, NO_EXECUTE
from fairlead.resources.core.pods.resources import is_extended
from fairlead.storage.collection import Collection
from fairlead.storage.version import Version

_SYSTEM = "linux"
_FIRST = ("cpu", "memory", "ephemeral-storage")  # other resources are judged after these
_OTHER_NODE = "node(s) didn't match Pod's node affinity/selector"
_PORTS_TAKEN = "node(s) didn't have free ports for the requested pod ports"
_TAINTED = "node(s) had taints that the pod didn't tolerate"


class Rejection(NamedTuple):
    """Why a node does not take a pod."""

    reason: str
    message: str


# What a pod may set of the kernel's settings without the consent of the node.
_SAFE_SETTINGS = frozenset(
    (
        "kernel.shm_rmid_forced",
        "net.ipv4.ip_local_port_range",
        "net.ipv4.ip_local_reserved_ports",
        "net.ipv4.ip_unprivileged_port_start",
        "net.ipv4.ping_group_range",
        "net.ipv4.tcp_fin_timeout",
        "net.ipv4.tcp_keepalive_intvl",
        "net.ipv4.tcp_keepalive_probes",
        "net.ipv4.tcp_keepalive_time",
        "net.ipv4.tcp_rmem",
        "net.ipv4.tcp_syncookies",
        "net.ipv4.tcp_wmem",
    )
)


def refused_setting(pod: Object) -> Rejection | None:
    """Why a node refuses what a pod sets of the kernel."""
    for each in (pod["spec"].get("securityContext") or {}).get("sysctls") or ():
        name = each["name"].replace("/", ".")
        if name not in _SAFE_SETTINGS:
            return Rejection("SysctlForbidden", f'forbidden sysctl: "{name}" not allowlisted')
    return None


class NodeAdmission:
    """Judges pods as node agents do. The pods of a node are counted from the first pod on that is
    judged there, so that clusters in which only the simulated scheduler binds pods pay nothing.

    `placed` are the keys of pods that the simulated scheduler binds; they are not judged again.
    `keys_on` names the pods of a node."""

    def __init__(
        self,
        nodes: Collection,
        pods: Collection,
        keys_on: Callable[[str], Iterable[str]],
        placed: set[str],
        dialect: Dialect,
    ) -> None:
        self._nodes = nodes
        self._pods = pods
        self._keys_on = keys_on
        self._placed = placed
        self._dialect = dialect
        self._counted: dict[str, NodeSummary] = {}
        # What pods have been given, with their revisions, on nodes with resizes.
        self._given: dict[str, tuple[int, PodSummary]] = {}

    def changed(self, version: Version, node: str) -> None:
        """Follow a pod of a node."""
        summary = self._counted.get(node)
        if summary is None:
            return
        counted = summary.pods.get(version.key)
        if version.fields.get("status.phase") in FINISHED:
            self.gone(version.key, node)
        elif counted is None or counted.generation != version.generation():
            self._count(summary, version)

    def gone(self, key: str, node: str) -> None:
        """A pod left its node."""
        self._placed.discard(key)
        self._given.pop(key, None)
        summary = self._counted.get(node)
        if summary is not None and key in summary.pods:
            summary.remove(key)

    def defers(self, key: str, pod: Object, node: str) -> Deferral | None:
        """Why a node has no room for what a pod on it asks for now, beside what others have."""
        version = self._nodes.get(node)
        if version is None:
            return None
        summary = NodeSummary(node)
        summary.describe(version.object())
        for other in self._keys_on(node):
            found = self._pods.get(other)
            if other == key or found is None:
                continue
            if found.fields.get("status.phase") not in FINISHED:
                summary.add(self._given_to(found))
        short = next(self._shortages(PodSummary(key, pod, {}), summary), None)
        return None if short is None else Deferral(*short)

    def _given_to(self, version: Version) -> PodSummary:
        known = self._given.get(version.key)
        if known is None or known[0] != version.revision:
            facts = PodSummary(version.key, with_given(version.object()), {})
            known = self._given[version.key] = version.revision, facts
        return known[1]

    def judge(self, key: str, pod: Object, node: str) -> Rejection | None:
        """Judge a pod that arrives on a node; one that is taken counts from now on."""
        if key in self._placed:
            self._placed.discard(key)
            return None
        version = self._nodes.get(node)
        if version is None:
            return None
        summary = self._counted.get(node)
        if summary is None:
            summary = self._counted[node] = self._summary(node)
        summary.describe(version.object())
        facts = PodSummary(key, pod, pod["metadata"].get("labels") or {})
        if key in summary.pods:
            summary.remove(key)
        rejection = next(self._rejections(pod, facts, summary), None)
        if rejection is None:
            summary.add(facts)
        return rejection

    def _summary(self, node: str) -> NodeSummary:
        summary = NodeSummary(node)
        for key in self._keys_on(node):
            version = self._pods.get(key)
            if version is not None and version.fields.get("status.phase") not in FINISHED:
                self._count(summary, version)
        return summary

    def _count(self, summary: NodeSummary, version: Version) -> None:
        """Count a pod if the node has taken it."""
        pod = version.object()
        if "startTime" not in pod["status"]:
            return
        if version.key in summary.pods:
            summary.remove(version.key)
        summary.add(PodSummary(version.key, pod, labels_of(version)))

    def _rejections(self, pod: Object, facts: PodSummary, node: NodeSummary) -> Iterator[Rejection]:
        spec, metadata = pod["spec"], pod["metadata"]
        system = self._dialect.label("@/os")
        if (metadata.get("labels") or {}).get(system, _SYSTEM) != _SYSTEM:
            text = f"Failed to admit pod as the `{system}` label doesn't match node label"
            yield Rejection("PodOSSelectorNodeLabelDoesNotMatch", text)
        if (spec.get("os") or {}).get("name", _SYSTEM) != _SYSTEM:
            text = "Failed to admit pod as the OS field doesn't match node OS"
            yield Rejection("PodOSNotSupported", text)
        yield from self._shortages(facts, node)
        if not is_selected(spec, node):
            yield _failed("NodeAffinity", _OTHER_NODE)
        if any(port.clashes_with(used) for used in node.ports() for port in facts.ports):
            yield _failed("NodePorts", _PORTS_TAKEN)
        is_static = self._dialect.label("@/config.mirror") in (metadata.get("annotations") or {})
        if not is_static and not _endures(spec, node):
            yield _failed("TaintToleration", _TAINTED)

    def _shortages(self, facts: PodSummary, node: NodeSummary) -> Iterator[Rejection]:
        offered, used, wanted = node.allocatable, node.requested, facts.requests
        if len(node.pods) >= offered.get("pods", 0):
            yield _short_of("pods", 1, len(node.pods), offered.get("pods", 0))
        for name in (*_FIRST, *(name for name in sorted(wanted) if name not in _FIRST)):
            amount = wanted.get(name, 0)
            if name not in offered and is_extended(name, self._dialect):
                continue  # belongs to the cluster, or devices serve it
            if amount and amount > offered.get(name, 0) - used.get(name, 0):
                yield _short_of(name, amount, used.get(name, 0), offered.get(name, 0))


def _endures(spec: Object, node: NodeSummary) -> bool:
    """Whether a pod tolerates the taints that would drive it from the node again."""
    tolerations = spec.get("tolerations") or ()
    return all(
        tolerates(tolerations, taint) for taint in node.taints if taint["effect"] == NO_EXECUTE
    )


def _failed(name: str, text: str) -> Rejection:
    return Rejection(name, f"Predicate {name} failed: {text}")


def _short_of(name: str, requested: int, used: int, capacity: int) -> Rejection:
    text = f"{name}, requested: {requested}, used: {used}, capacity: {capacity}"
    return Rejection(f"OutOf{name}", f"Node didn't have enough resource: {text}")


def rejected(pod: Object, rejection: Rejection, now: Moment) -> PodProgress:
    """Fail a pod that its node does not take."""
    status = {
        **pod["status"],
        "startTime": now.text,
        "phase": "Failed",
        "reason": rejection.reason,
        "message": f"Pod was rejected: {rejection.message}",
        **observed_generation(pod),
    }
    return PodProgress(status, [PodEvent(WARNING, rejection.reason, rejection.message)])
