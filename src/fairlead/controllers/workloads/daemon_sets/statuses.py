"""What a DaemonSet tells of its pods."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from fairlead.controllers.workloads.daemon_sets.placement import Fit
from fairlead.controllers.workloads.daemon_sets.plans import ByNode
from fairlead.controllers.workloads.pods import Pod
from fairlead.operations.api import Object

_ALWAYS = (
    "currentNumberScheduled",
    "numberMisscheduled",
    "desiredNumberScheduled",
    "numberReady",
)


def status(
    owner: Object,
    pods: ByNode,
    fits: Mapping[str, Fit],
    updated: Callable[[Pod], bool],
    collisions: int,
) -> Object:
    """The status of a set with these pods. Of several on a node the oldest counts."""
    wanted = [node for node, fit in fits.items() if fit.runs]
    unwanted = [node for node, fit in fits.items() if not fit.runs and pods.get(node)]
    first = [pods[node][0] for node in wanted if pods.get(node)]
    min_ready = owner["spec"].get("minReadySeconds") or 0
    available = sum(pod.available(min_ready) for pod in first)
    counts = {
        "currentNumberScheduled": len(first),
        "numberMisscheduled": len(unwanted),
        "desiredNumberScheduled": len(wanted),
        "numberReady": sum(pod.ready for pod in first),
        "observedGeneration": owner["metadata"].get("generation", 0),
        "updatedNumberScheduled": sum(updated(pod) for pod in first),
        "numberAvailable": available,
        "numberUnavailable": len(wanted) - available,
        "collisionCount": collisions,
    }
    status = {name: count for name, count in counts.items() if count or name in _ALWAYS}
    if (owner.get("status") or {}).get("collisionCount") is not None:
        status["collisionCount"] = collisions
    return status
