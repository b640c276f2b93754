"""The statuses of pods whose containers end: because they are deleted, evicted or late."""

from __future__ import annotations

from collections.abc import Mapping

from fairlead.codec.types.times import parse_time
from fairlead.controllers.pod_status import observed_generation
from fairlead.controllers.simulation.agent.containers import (
    ALWAYS,
    FAMILIES,
    KILLED,
    NEVER,
    Moment,
    end_running,
    state_of,
    status_of,
)
from fairlead.controllers.simulation.agent.pod_conditions import pod_conditions
from fairlead.operations.api import Object
from fairlead.resources.core.pods import FINISHED
from fairlead.resources.core.pods.totals import is_sidecar

_UNKNOWN_END: Object = {
    "exitCode": KILLED,
    "reason": "ContainerStatusUnknown",
    "message": "The container could not be located when the pod was terminated",
    "startedAt": None,
    "finishedAt": None,
}


def cut_off(
    pod: Object, status: Object, reason: str, message: str, reports_network: bool, now: Moment
) -> None:
    """Fail a pod whose containers are killed; modifies `status`."""
    end_running(status, lambda name: KILLED, now)
    _end_waiting(pod, status)
    status.update(phase="Failed", reason=reason, message=message)
    status.setdefault("containerStatuses", [])
    status["conditions"] = pod_conditions(pod, status, (), reports_network, now.text)


def finished_at(pod: Object, now: float) -> float:
    """When the last container of a pod has ended that is no sidecar."""
    first = pod["spec"].get("initContainers") or ()
    sidecars = {container["name"] for container in first if is_sidecar(container)}
    ends = [
        (state_of(status).get("terminated") or {}).get("finishedAt")
        for _, list_name in FAMILIES[:2]
        for status in pod["status"].get(list_name) or ()
        if status["name"] not in sidecars
    ]
    return max((parse_time(each).timestamp() for each in ends if each), default=now)


def with_ended(pod: Object, codes: Mapping[str, int], reports_network: bool, now: Moment) -> Object:
    """The status of a pod some of whose containers have ended with these codes."""
    status = {**pod["status"], **observed_generation(pod)}
    end_running(status, codes.get, now)
    status["conditions"] = pod_conditions(pod, status, (), reports_network, now.text)
    return status


def status_at_end(
    pod: Object, now: Moment, codes: Mapping[str, int], *, is_final: bool, reports_network: bool
) -> Object:
    """The last status of a deleted pod, whose containers end with these codes. A pod that was to
    finish by itself and ran gets a final phase; `is_final`: other pods too."""
    if pod["status"].get("phase") in FINISHED:
        return dict(pod["status"])
    status = {**pod["status"], **observed_generation(pod)}
    end_running(status, codes.get, now)
    _end_waiting(pod, status)
    if is_final or _finishes(pod, status):
        status["phase"] = _final_phase(status)
    status["conditions"] = pod_conditions(pod, status, (), reports_network, now.text)
    return status


def _finishes(pod: Object, status: Object) -> bool:
    """Whether a pod whose containers have ended has finished by its restart policy."""
    policy = pod["spec"].get("restartPolicy", ALWAYS)
    if policy == NEVER and any(map(_exit_code, status.get("initContainerStatuses") or ())):
        return True
    codes = [_exit_code(each) for each in status.get("containerStatuses") or ()]
    return policy != ALWAYS and bool(codes) and None not in codes


def _exit_code(status: Object) -> int | None:
    """How a container has ended; None if it has not, or nobody knows how."""
    end = state_of(status).get("terminated")
    if end is None or end.get("reason") == _UNKNOWN_END["reason"]:
        return None
    code: int = end.get("exitCode") or 0
    return code


def _has_never_run(status: Object) -> bool:
    return "waiting" in state_of(status) and not (status.get("lastState") or {}).get("terminated")


def _end_waiting(pod: Object, status: Object) -> None:
    """Set the final state of waiting containers; modifies `status`. A container that waits for its
    restart gets the end of its last run, one that never ran an unknown end. Containers behind an
    init container that has not completed keep waiting."""
    first = status.get("initContainerStatuses") or []
    begun = [at for at, each in enumerate(first) if not _has_never_run(each)]
    if first:
        last = begun[-1] if begun else 0
        ended = [_ended_unseen(each) for each in first[: last + 1]]
        status["initContainerStatuses"] = [*ended, *first[last + 1 :]]
    if _is_initialized(pod) and status.get("containerStatuses"):
        status["containerStatuses"] = [_ended_unseen(each) for each in status["containerStatuses"]]


def _ended_unseen(status: Object) -> Object:
    if "waiting" not in state_of(status):
        return status
    last = (status.get("lastState") or {}).get("terminated") or _UNKNOWN_END
    return {**status, "state": {"terminated": last}, "lastState": {}}


def _is_initialized(pod: Object) -> bool:
    """Whether all init containers of a pod have completed once, sidecars: have started."""
    declared = pod["spec"].get("initContainers")
    if not declared:
        return True
    if not all(map(_has_never_run, pod["status"].get("containerStatuses") or ())):
        return True
    status = status_of(pod, declared[-1]["name"])
    if is_sidecar(declared[-1]):
        return "running" in state_of(status) and bool(status.get("started"))
    ends = (each.get("terminated") for each in (state_of(status), status.get("lastState") or {}))
    return any(end is not None and not end.get("exitCode") for end in ends)


def _final_phase(status: Object) -> str:
    states = [state_of(item) for item in status.get("containerStatuses") or ()]
    succeeded = states and all(
        "terminated" in state and not state["terminated"].get("exitCode") for state in states
    )
    return "Succeeded" if succeeded else "Failed"
