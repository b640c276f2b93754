"""What the reboot of its node does to a pod."""

from __future__ import annotations

from fairlead.codec.types.times import parse_time
from fairlead.controllers.events import NORMAL
from fairlead.controllers.simulation.agent.containers import (
    CREATING,
    INITIALIZING,
    Moment,
    PodEvent,
    Role,
    ended,
    state_of,
)
from fairlead.controllers.simulation.agent.pods import (
    FAMILIES,
    Host,
    PodProgress,
    advance_pod,
    roles_of,
)
from fairlead.controllers.simulation.behaviour import PodBehaviour
from fairlead.operations.api import Object
from fairlead.resources.core.pods import FINISHED

# How container runtimes report a container that they find ended after a boot.
_LOST, _LOST_CODE = "Unknown", 255
_NEW_SANDBOX = PodEvent(
    NORMAL, "SandboxChanged", "Pod sandbox changed, it will be killed and re-created."
)


def advance_after_boot(
    pod: Object, behaviour: PodBehaviour, host: Host, booted: int, now: Moment
) -> PodProgress:
    """The next status of a pod on a node that has been rebooted."""
    current = _after_boot(pod, behaviour, booted, now)
    progress = advance_pod(current, behaviour, host, now)
    if current is not pod and progress.status["phase"] not in FINISHED:
        progress.events.insert(0, _NEW_SANDBOX)
    return progress


def _after_boot(pod: Object, behaviour: PodBehaviour, booted: int, now: Moment) -> Object:
    """The pod without the containers that ran before the node booted: those that may restart wait
    for it, the others have ended. The same pod if it had none."""
    if booted > now.time:
        return pod
    statuses: Object = {}
    runs_again = False
    is_lost = False
    for family, list_name in FAMILIES:
        roles = {role.name: role for role in roles_of(pod, family, behaviour)}
        statuses[list_name] = []
        for status in pod["status"].get(list_name) or ():
            role = roles.get(status["name"])
            if role is not None and _ran_before(status, booted):
                is_lost = True
                status = _lost(role, status, now)
                runs_again |= "waiting" in status["state"]
            statuses[list_name].append(status)
    if not is_lost:
        return pod
    if runs_again:
        first = statuses["initContainerStatuses"]
        statuses["initContainerStatuses"] = [_first_again(status) for status in first]
    changed = {name: items for name, items in statuses.items() if items}
    return {**pod, "status": {**pod["status"], **changed}}


def _ran_before(status: Object, booted: int) -> bool:
    started = (state_of(status).get("running") or {}).get("startedAt")
    return started is not None and parse_time(started).timestamp() < booted


def _lost(role: Role, status: Object, now: Moment) -> Object:
    """The status of a container that ran before the boot."""
    lost = ended(status, _LOST_CODE, now)
    lost["state"]["terminated"]["reason"] = _LOST
    if role.is_over(lost):
        return lost
    has_first = role.pod["spec"].get("initContainers")
    return _waits_again(lost, INITIALIZING if has_first else CREATING)


def _first_again(status: Object) -> Object:
    """Init containers that have completed run again in the new sandbox."""
    if "terminated" not in state_of(status):
        return status
    return _waits_again(status, INITIALIZING)


def _waits_again(status: Object, reason: str) -> Object:
    return {
        **status,
        "state": {"waiting": {"reason": reason}},
        "lastState": status["state"],
        "ready": False,
        "started": False,
        "restartCount": status.get("restartCount", 0) + 1,
    }
