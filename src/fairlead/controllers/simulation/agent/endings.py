"""The statuses of pods whose containers end: because they are deleted, evicted or late."""

from __future__ import annotations

from collections.abc import Mapping

from fairlead.controllers.pod_status import observed_generation
from fairlead.controllers.simulation.agent.containers import (
    ALWAYS,
    KILLED,
    Moment,
    end_running,
    state_of,
)
from fairlead.controllers.simulation.agent.pod_conditions import pod_conditions
from fairlead.operations.api import Object
from fairlead.resources.core.pods import FINISHED


def cut_off(
    pod: Object, status: Object, reason: str, message: str, reports_network: bool, now: Moment
) -> None:
    """Fail a pod whose containers are killed; modifies `status`."""
    end_running(status, lambda name: KILLED, now)
    status.update(phase="Failed", reason=reason, message=message)
    status.setdefault("containerStatuses", [])
    status["conditions"] = pod_conditions(pod, status, (), reports_network, now.text)


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
    finish by itself gets a final phase; `is_final`: other pods too."""
    if pod["status"].get("phase") in FINISHED:
        return dict(pod["status"])
    status = {**pod["status"], **observed_generation(pod)}
    end_running(status, codes.get, now)
    if is_final or pod["spec"].get("restartPolicy", ALWAYS) != ALWAYS:
        status["phase"] = _final_phase(status)
    status["conditions"] = pod_conditions(pod, status, (), reports_network, now.text)
    return status


def _final_phase(status: Object) -> str:
    states = [state_of(item) for item in status.get("containerStatuses") or ()]
    succeeded = states and all(
        "terminated" in state and not state["terminated"].get("exitCode") for state in states
    )
    return "Succeeded" if succeeded else "Failed"
