"""The status of a Deployment: counts, availability and progress."""

from __future__ import annotations

from collections.abc import Sequence

from fairlead.base import clock
from fairlead.codec.types.times import now, parse_time
from fairlead.controllers.workloads import statuses
from fairlead.controllers.workloads.deployments import replica_sets as sets
from fairlead.controllers.workloads.deployments.steps import limits_of
from fairlead.controllers.workloads.replicas import REPLICA_FAILURE
from fairlead.operations.api import Object

AVAILABLE, PROGRESSING = "Available", "Progressing"
TIMED_OUT, DONE = "ProgressDeadlineExceeded", "NewReplicaSetAvailable"
PAUSED, RESUMED = "DeploymentPaused", "DeploymentResumed"
TERMINATING = "terminatingReplicas"
_NEVER = 2**31 - 1


def condition(kind: str, status: str, reason: str, message: str) -> Object:
    new = statuses.condition(kind, status, reason, message)
    return {**new, "lastUpdateTime": new["lastTransitionTime"]}


def condition_of(status: Object, kind: str) -> Object | None:
    return statuses.find_condition(status.get("conditions") or (), kind)


def set_condition(status: Object, new: Object) -> None:
    """Set a condition."""
    status["conditions"] = statuses.with_condition(status.get("conditions") or [], new)


def deadline_of(deployment: Object) -> int | None:
    """Seconds without progress after which a rollout has failed, or None."""
    seconds: int | None = deployment["spec"].get("progressDeadlineSeconds")
    return None if seconds == _NEVER else seconds


def note_pause(deployment: Object) -> None:
    """Set the condition for paused or resumed; paused time does not count towards the deadline."""
    if deadline_of(deployment) is None:
        return
    status = deployment["status"]
    old = condition_of(status, PROGRESSING)
    reason = old["reason"] if old else ""
    if reason == TIMED_OUT:
        return
    paused = bool(deployment["spec"].get("paused"))
    if paused and reason != PAUSED:
        set_condition(status, condition(PROGRESSING, "Unknown", PAUSED, "Deployment is paused"))
    elif not paused and reason == PAUSED:
        set_condition(status, condition(PROGRESSING, "Unknown", RESUMED, "Deployment is resumed"))


def counted(
    deployment: Object, new: Object | None, old: Sequence[Object], *, with_terminating: bool
) -> Object:
    """The status with current counts and the condition Available."""
    everything = [*old, *([new] if new else [])]
    before = deployment["status"]
    available = sets.count("availableReplicas", everything)
    counts = {
        "observedGeneration": deployment["metadata"].get("generation", 0),
        "replicas": sets.count("replicas", everything),
        "updatedReplicas": sets.count("replicas", [new] if new else []),
        "readyReplicas": sets.count("readyReplicas", everything),
        "availableReplicas": available,
        "unavailableReplicas": max(0, sets.total_desired(everything) - available),
    }
    status = {name: number for name, number in counts.items() if number}
    if with_terminating and (terminating := _terminating(everything)) is not None:
        status[TERMINATING] = terminating
    for name in ("collisionCount", "conditions"):
        if name in before:
            status[name] = before[name]
    if available >= limits_of(deployment).min_available:
        text = "Deployment has minimum availability."
        set_condition(status, condition(AVAILABLE, "True", "MinimumReplicasAvailable", text))
    else:
        text = "Deployment does not have minimum availability."
        set_condition(status, condition(AVAILABLE, "False", "MinimumReplicasUnavailable", text))
    return status


def is_complete(deployment: Object, status: Object) -> bool:
    """Whether all pods have the new template and are available, and no old pods are left."""
    replicas = deployment["spec"].get("replicas") or 0
    counts = ("updatedReplicas", "replicas", "availableReplicas")
    return all(status.get(name, 0) == replicas for name in counts) and (
        status.get("observedGeneration", 0) >= deployment["metadata"].get("generation", 0)
    )


def _has_progressed(before: Object, status: Object) -> bool:
    def old_pods(replica_set: Object) -> int:
        return int(replica_set.get("replicas", 0) - replica_set.get("updatedReplicas", 0))

    grown = ("updatedReplicas", "readyReplicas", "availableReplicas")
    return old_pods(status) < old_pods(before) or any(
        status.get(name, 0) > before.get(name, 0) for name in grown
    )


def time_left(deployment: Object, status: Object) -> float | None:
    """Seconds until the rollout fails without progress; None if no deadline applies."""
    seconds, last = deadline_of(deployment), condition_of(status, PROGRESSING)
    if seconds is None or last is None or last["reason"] in (DONE, TIMED_OUT):
        return None
    since = last.get("lastUpdateTime") or last.get("lastTransitionTime") or now()
    return parse_time(since).timestamp() + seconds - clock.time()


def _terminating(replica_sets: Sequence[Object]) -> int | None:
    """The number of terminating pods; None if a ReplicaSet has a status without that number."""
    statuses_of_sets = [item.get("status") or {} for item in replica_sets]
    counts = [
        status.get(TERMINATING) for status in statuses_of_sets if status.get("observedGeneration")
    ]
    given = [count for count in counts if count is not None]
    return sum(given) if len(given) == len(counts) else None


def rolled_out(
    deployment: Object, new: Object | None, old: Sequence[Object], *, with_terminating: bool
) -> Object:
    """The status during a rollout."""
    before = deployment["status"]
    status = counted(deployment, new, old, with_terminating=with_terminating)
    if deadline_of(deployment) is None:
        status["conditions"] = statuses.without_condition(status["conditions"], PROGRESSING)
    else:
        _report_progress(deployment, before, status, new)
    status["conditions"] = statuses.without_condition(status["conditions"], REPLICA_FAILURE)
    if failure := _failure(new, old):
        status["conditions"].append(failure)
    return status


def _report_progress(
    deployment: Object, before: Object, status: Object, new: Object | None
) -> None:
    last = condition_of(before, PROGRESSING)
    all_new = status.get("replicas", 0) == status.get("updatedReplicas", 0)
    if all_new and last is not None and last["reason"] == DONE:
        return  # completed; later changes of pods are not a rollout
    name = new["metadata"]["name"] if new else deployment["metadata"]["name"]
    subject = f'{"ReplicaSet" if new else "Deployment"} "{name}"'
    if is_complete(deployment, status):
        set_condition(
            status, condition(PROGRESSING, "True", DONE, f"{subject} has successfully progressed.")
        )
    elif _has_progressed(before, status):
        updated = condition(PROGRESSING, "True", "ReplicaSetUpdated", f"{subject} is progressing.")
        if last is not None and last["status"] == "True" and last.get("lastTransitionTime"):
            updated["lastTransitionTime"] = last["lastTransitionTime"]
        others = statuses.without_condition(status["conditions"], PROGRESSING)
        status["conditions"] = [*others, updated]
    elif (left := time_left(deployment, status)) is not None and left < 0:
        text = f"{subject} has timed out progressing."
        set_condition(status, condition(PROGRESSING, "False", TIMED_OUT, text))


def _failure(new: Object | None, old: Sequence[Object]) -> Object | None:
    """The condition ReplicaFailure of the first ReplicaSet that has it."""
    for replica_set in [*([new] if new else []), *old]:
        failure = condition_of(replica_set.get("status") or {}, REPLICA_FAILURE)
        if failure is not None:
            return {
                "type": REPLICA_FAILURE,
                "status": failure["status"],
                "lastUpdateTime": failure["lastTransitionTime"],
                "lastTransitionTime": failure["lastTransitionTime"],
                "reason": failure.get("reason", ""),
                "message": failure.get("message", ""),
            }
    return None
