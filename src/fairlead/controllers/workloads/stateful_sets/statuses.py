"""The status of a StatefulSet."""

from __future__ import annotations

from collections.abc import Collection

from fairlead.base.records import dataclass
from fairlead.controllers.workloads.pods import Pod
from fairlead.controllers.workloads.stateful_sets.identity import REVISION_LABEL
from fairlead.operations.api import Object


@dataclass(frozen=True, slots=True)
class Revisions:
    """Names of the current and the update revision, and the number of name collisions."""

    current: str
    updated: str
    collisions: int


def status(owner: Object, pods: Collection[Pod], revisions: Revisions, min_ready: int) -> Object:
    """The status for these pods. When all pods are updated the update revision becomes the current
    one."""
    current, updated = revisions.current, revisions.updated
    ready = [pod for pod in pods if pod.running_and_ready]
    labels = [pod.labels.get(REVISION_LABEL) for pod in pods if not pod.deleting]
    counts = {
        "readyReplicas": len(ready),
        "currentReplicas": labels.count(current),
        "updatedReplicas": labels.count(updated),
    }
    rolls = owner["spec"]["updateStrategy"].get("type") == "RollingUpdate"
    complete = len(pods) >= (owner["spec"].get("replicas") or 0)
    if rolls and complete and counts["updatedReplicas"] == counts["readyReplicas"] == len(pods):
        current, counts["currentReplicas"] = updated, counts["updatedReplicas"]
    names = {"currentRevision": current, "updateRevision": updated}
    return {
        "observedGeneration": owner["metadata"].get("generation", 0),
        "replicas": len(pods),
        "availableReplicas": sum(pod.available(min_ready) for pod in ready),
        "collisionCount": revisions.collisions,
        **{name: count for name, count in counts.items() if count},
        **{name: text for name, text in names.items() if text},
    }
