"""The view that workload controllers have of pods, and the order in which they delete them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from math import log2

from fairlead.base import clock
from fairlead.codec.types.times import parse_time
from fairlead.controllers.workloads.index import Dependent
from fairlead.operations.api import Object
from fairlead.resources.core.pods import FINISHED, REQUIRED
from fairlead.resources.core.pods.annotations import is_deletion_cost
from fairlead.storage.version import Version

PODS = "core/v1/pods"
_NO_CLAIMS: Mapping[str, str] = {}
_PHASES = {"Pending": 0, "Unknown": 1, "Running": 2}
_NANOSECONDS = 1e9
Rank = tuple[bool, int, bool, int, int, int, int, int, str]


class Pod(Dependent):
    """The relevant fields of a pod.

    `ready_since` is empty if it is not ready or has no time; `finished` is when its containers
    ended, or empty. `restarts` is the maximum over containers, `all_restarts` the sum. `target` is
    the node it runs on or was created for; `claims` maps volume names to claims.
    """

    __slots__ = (
        "all_restarts",
        "annotations",
        "claims",
        "finalizers",
        "finished",
        "node",
        "phase",
        "ready",
        "ready_since",
        "restarts",
        "target",
        "version",
    )

    def __init__(self, version: Version, value: Object) -> None:
        super().__init__(version, value)
        status = value.get("status") or {}
        ready = _true_condition(status, "Ready")
        self.annotations: Mapping[str, str] = value["metadata"].get("annotations") or {}
        self.node: str = value["spec"].get("nodeName", "")
        self.target = self.node or _only_node(value["spec"])
        self.claims = _claims(value["spec"])
        self.phase: str = status.get("phase", "")
        self.ready = ready is not None
        self.ready_since: str = (ready or {}).get("lastTransitionTime") or ""
        self.restarts = max(_restarts(status), default=0)
        initial = _restarts(status, "initContainerStatuses")
        self.all_restarts = sum(_restarts(status)) + sum(initial)
        self.finalizers: list[str] = value["metadata"].get("finalizers") or []
        self.finished = _finished(status) if self.phase in FINISHED else ""
        self.version = version

    @property
    def healthy(self) -> bool:
        """Running, ready and not being deleted."""
        return self.running_and_ready and not self.deleting

    @property
    def running_and_ready(self) -> bool:
        return self.ready and self.phase == "Running"

    @property
    def terminating(self) -> bool:
        """Whether the pod is being deleted and has not ended."""
        return self.deleting and self.phase not in FINISHED

    @property
    def active(self) -> bool:
        """Neither finished nor being deleted."""
        return not self.deleting and self.phase not in FINISHED

    def time_to_available(self, min_ready: int) -> float | None:
        """Seconds until the pod counts as available: 0 if it does, None if it is not ready."""
        if not self.ready:
            return None
        if not min_ready:
            return 0.0
        if not self.ready_since:
            return None
        return max(0.0, parse_time(self.ready_since).timestamp() + min_ready - clock.time())

    def available(self, min_ready: int) -> bool:
        return self.time_to_available(min_ready) == 0.0


def read_pod(version: Version) -> Pod:
    return Pod(version, version.object())


def next_available(pods: Iterable[Pod], min_ready: int) -> float | None:
    """Seconds until the next pod becomes available, or None."""
    if not min_ready:
        return None
    left = (pod.time_to_available(min_ready) for pod in pods)
    return min((seconds for seconds in left if seconds), default=None)


def _true_condition(status: Object, kind: str) -> Object | None:
    for condition in status.get("conditions") or ():
        if condition["type"] == kind:
            return condition if condition["status"] == "True" else None
    return None


def _restarts(status: Object, containers: str = "containerStatuses") -> Iterable[int]:
    for container in status.get(containers) or ():
        yield container.get("restartCount", 0)


def _finished(status: Object) -> str:
    """When the last container ended, else when the pod became not ready."""
    states = [
        container_status.get("state") or {}
        for container_status in status.get("containerStatuses") or ()
    ]
    times = [(state.get("terminated") or {}).get("finishedAt") or "" for state in states]
    if times and all(times):
        return max(times)
    for condition in status.get("conditions") or ():
        if condition["type"] == "Ready" and condition["status"] == "False":
            return condition.get("lastTransitionTime") or ""
    return ""


def _claims(spec: Object) -> Mapping[str, str]:
    claims = {
        volume["name"]: volume["persistentVolumeClaim"]["claimName"]
        for volume in spec.get("volumes") or ()
        if volume.get("persistentVolumeClaim")
    }
    return claims or _NO_CLAIMS


def _only_node(spec: Object) -> str:
    """The only node that the affinity of a pod allows, or empty."""
    affinity = (spec.get("affinity") or {}).get("nodeAffinity") or {}
    required = affinity.get(REQUIRED) or {}
    for term in required.get("nodeSelectorTerms") or ():
        for field in term.get("matchFields") or ():
            if field["key"] == "metadata.name" and field["operator"] == "In":
                values: list[str] = field.get("values") or []
                return values[0] if len(values) == 1 else ""
    return ""


# Selects the pods to delete when an owner has too many.


def to_remove(
    pods: Sequence[Pod], related: Iterable[Pod], count: int, cost_annotation: str
) -> list[Pod]:
    """The `count` pods to delete first: unassigned, not started, not ready, lower deletion cost, on
    a node with more related pods, ready for a shorter time, more restarts, younger. `related` are
    the pods of all sets with the same controller. An empty `cost_annotation` disables costs."""
    if count >= len(pods):
        return list(pods)
    crowds = Counter(pod.node for pod in related if pod.active)
    now = clock.time()

    def rank(pod: Pod) -> Rank:
        return (
            bool(pod.node),
            _PHASES.get(pod.phase, 0),
            pod.ready,
            _cost(pod, cost_annotation),
            -crowds[pod.node],
            _age(pod.ready_since, now) if pod.ready else 0,
            -pod.restarts,
            _age(pod.created, now),
            pod.uid,
        )

    return sorted(pods, key=rank)[:count]


def _cost(pod: Pod, annotation: str) -> int:
    text = pod.annotations.get(annotation, "0") if annotation else "0"
    return int(text) if is_deletion_cost(text) else 0


def _age(since: str, now: float) -> int:
    """The binary order of magnitude of an age: pods of similar age are ordered by uid, which is
    random. An unknown time counts as long ago."""
    seconds = now - (parse_time(since).timestamp() if since else 0.0)
    return int(log2(seconds * _NANOSECONDS)) if seconds > 0 else -1
