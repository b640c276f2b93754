"""Counting pods so that each counts once, whenever the server dies.

A pod that came to an end is noted in the status by its uid, then it loses its finalizer, then its
uid becomes one more in the count. A pod whose uid is noted is not noted again; one without the
finalizer was counted. Indexes need no uids: each is noted once anyway.
"""

from __future__ import annotations

from collections.abc import Collection

from fairlead.base.records import dataclass, field
from fairlead.controllers.workloads.jobs.progress import UNCOUNTED, Standing
from fairlead.controllers.workloads.pods import Pod
from fairlead.operations.api import Object
from fairlead.resources.core.pods import FINISHED

MOST_UNCOUNTED = 500


@dataclass(slots=True)
class Notes:
    """A status that has noted pods, and the pods that may lose their finalizer when it is written.
    `whole` if there are no more."""

    status: Object
    pods: list[Pod] = field(default_factory=list)
    whole: bool = True


def noted(standing: Standing, status: Object, *, ending: bool) -> Notes:
    """Note in a status the pods that came to an end; all do with a Job that is `ending`."""
    uncounted = status.get(UNCOUNTED) or {}
    succeeded, failed = list(uncounted.get("succeeded") or ()), list(uncounted.get("failed") or ())
    known = {*succeeded, *failed}
    indexes: list[int] = []
    notes = Notes(status)
    for pod in standing.pods:
        if not standing.holds(pod):
            continue
        stops = pod.deleting or ending
        if stops or standing.is_going or pod.phase in FINISHED:
            notes.pods.append(pod)
        if pod.uid not in known and standing.has_place(pod):
            if pod.phase == "Succeeded":
                if standing.is_indexed:
                    indexes.append(standing.place_of(pod))
                else:
                    succeeded.append(pod.uid)
            elif (stops or pod.phase == "Failed") and standing.policy.counts(pod):
                failed.append(pod.uid)
        if len(indexes) + len(succeeded) + len(failed) >= MOST_UNCOUNTED:
            notes.whole = False
            break
    notes.status = _with_uncounted(status, succeeded, failed)
    if standing.is_indexed:
        completed = standing.completed_before.joined(indexes)
        notes.status = {**notes.status, "succeeded": len(completed)}
        notes.status["completedIndexes"] = str(completed)
    return notes


def settled(status: Object, holding: Collection[str]) -> Object:
    """A status that counts the noted pods which no longer have the finalizer; `holding` are the
    uids of those that have."""
    uncounted = status.get(UNCOUNTED) or {}
    made, left = {**status}, {}
    for name in ("succeeded", "failed"):
        uids = uncounted.get(name) or []
        left[name] = [uid for uid in uids if uid in holding]
        made[name] = (status.get(name) or 0) + len(uids) - len(left[name])
    return _with_uncounted(made, **left)


def _with_uncounted(status: Object, succeeded: list[str], failed: list[str]) -> Object:
    uids = {"succeeded": succeeded, "failed": failed}
    return {**status, UNCOUNTED: {name: listed for name, listed in uids.items() if listed}}


def is_settled(status: Object) -> bool:
    """Whether every noted pod was counted."""
    return not status.get(UNCOUNTED)
