"""Taints and tolerations."""

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
from fairlead.controllers.tolerations import tolerates as covers
from fairlead.operations.api import Object
from fairlead.resources.core.pods import NO_SCHEDULE, PREFER_NO_SCHEDULE

_CORDONED = Refusal(("node(s) were unschedulable",), True, Event.NODE)


def tolerates(tolerations: Sequence[Object], taint: Object) -> bool:
    return any(covers(toleration, taint) for toleration in tolerations)


def cordoned(pending: PendingPod, cluster: Cluster) -> Filter | None:
    """Rejects unschedulable nodes."""
    taint = {"key": cluster.dialect.label("node.@/unschedulable"), "effect": NO_SCHEDULE}
    if tolerates(pending.spec.get("tolerations") or (), taint):
        return None
    return lambda node: _CORDONED if node.unschedulable else None


def untolerated(pending: PendingPod, cluster: Cluster) -> Filter | None:
    tolerations = pending.spec.get("tolerations") or ()

    def judge(node: NodeSummary) -> Refusal | None:
        for taint in node.taints:
            if taint["effect"] != PREFER_NO_SCHEDULE and not tolerates(tolerations, taint):
                taint_text = f"{{{taint['key']}: {taint.get('value', '')}}}"
                text = f"node(s) had untolerated taint {taint_text}"
                return Refusal((text,), True, Event.NODE)
        return None

    return judge


def untolerated_count(tolerations: Sequence[Object], node: NodeSummary) -> int:
    """The number of untolerated PreferNoSchedule taints."""
    return sum(
        taint["effect"] == PREFER_NO_SCHEDULE and not tolerates(tolerations, taint)
        for taint in node.taints
    )
