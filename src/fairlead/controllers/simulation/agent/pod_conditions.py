"""The conditions of pods that their node's agent maintains."""

from __future__ import annotations

from collections.abc import Sequence

from fairlead.controllers.pod_status import observed_generation
from fairlead.controllers.simulation.agent.containers import (
    FAMILIES,
    counts_generations,
    restarts_all,
)
from fairlead.operations.api import Object
from fairlead.resources.core.pods import FINISHED
from fairlead.resources.core.pods.container_lists import all_containers
from fairlead.resources.core.pods.restarts import all_may_restart
from fairlead.resources.core.pods.totals import is_sidecar

_Told = tuple[str, str, str]  # status, reason, message
_YES: _Told = ("True", "", "")
_COMPLETED = "PodCompleted"


def pod_conditions(
    pod: Object, status: Object, unfinished: Sequence[str], reports_network: bool, moment: str
) -> list[Object]:
    """The conditions for a status; foreign ones are kept. `unfinished` are the init containers not
    completed."""
    old = {condition["type"]: condition for condition in pod["status"].get("conditions") or ()}
    containers = _containers_ready(pod["spec"], status)
    was_initialized = (old.get("Initialized") or {}).get("status") == "True"
    if was_initialized and counts_generations(pod):
        unfinished = ()  # init containers that restart do not count
    states = {"PodReadyToStartContainers": _has_network(status)} if reports_network else {}
    states |= {
        "Initialized": _initialized(status.get("phase", ""), unfinished),
        "Ready": _ready(pod, old, containers),
        "ContainersReady": containers,
        "PodScheduled": _YES,
    }
    observed = observed_generation(pod)
    own = [_condition(kind, old.pop(kind, None), states[kind], moment, observed) for kind in states]
    if all_may_restart(pod["spec"]):
        kind, state = "AllContainersRestarting", _restarting(pod["spec"], status)
        own.append(_condition(kind, old.pop(kind, None), state, moment, {}))
    return [*own, *old.values()]


def _condition(
    kind: str, old: Object | None, state: _Told, moment: str, observed: Object
) -> Object:
    status, reason, message = state
    new = {"type": kind, "status": status, "lastProbeTime": None, **observed}
    since = moment
    if old is not None and old["status"] == status:
        is_same = (old.get("reason", ""), old.get("message", "")) == (reason, message)
        if is_same and old.get("observedGeneration") == observed.get("observedGeneration"):
            return old
        since = old.get("lastTransitionTime") or moment
    new["lastTransitionTime"] = since
    if reason:
        new["reason"] = reason
    if message:
        new["message"] = message
    return new


def _has_network(status: Object) -> _Told:
    """A pod has a network from the start of its sandbox until it ends."""
    return (
        _YES if status.get("podIP") and status.get("phase") not in FINISHED else ("False", "", "")
    )


def _initialized(phase: str, unfinished: Sequence[str]) -> _Told:
    if unfinished and phase != "Succeeded":
        listed = " ".join(unfinished)
        text = f"containers with incomplete status: [{listed}]"
        return "False", "ContainersNotInitialized", text
    return ("True", _COMPLETED, "") if phase == "Succeeded" else _YES


def _containers_ready(spec: Object, status: Object) -> _Told:
    """Whether all containers are ready, sidecars too."""
    if status.get("phase") in FINISHED:
        reason = _COMPLETED if status["phase"] == "Succeeded" else "PodFailed"
        return "False", reason, ""
    sidecars = {each["name"] for each in spec.get("initContainers") or () if is_sidecar(each)}
    initial = status.get("initContainerStatuses") or () if sidecars else ()
    considered = [each for each in initial if each["name"] in sidecars]
    considered += status.get("containerStatuses") or ()
    unready = " ".join(each["name"] for each in considered if not each.get("ready"))
    if unready:
        return "False", "ContainersNotReady", f"containers with unready status: [{unready}]"
    return _YES


def _restarting(spec: Object, status: Object) -> _Told:
    """Whether a restart rule of a container that exited restarts all containers of the pod."""
    if status.get("phase") in FINISHED:
        return _containers_ready(spec, status)
    containers = {container["name"]: container for container in all_containers(spec)}
    families = (status.get(name) for _, name in FAMILIES[:2])
    statuses = [each for family in families for each in family or ()]
    if any(
        restarts_all(containers[each["name"]], each)
        for each in statuses
        if each["name"] in containers
    ):
        return "True", "RestartAllContainersStarted", "container exited with restart policy rule"
    return "False", "", ""


def _ready(pod: Object, old: dict[str, Object], containers: _Told) -> _Told:
    """Ready: all containers are ready and all readiness gates are True."""
    if containers is not _YES:
        return containers
    missing = []
    for gate in pod["spec"].get("readinessGates") or ():
        kind = gate["conditionType"]
        condition = old.get(kind)
        if condition is None:
            missing.append(
                f'corresponding condition of pod readiness gate "{kind}" does not exist.'
            )
        elif condition["status"] != "True":
            status = condition["status"]
            missing.append(f'the status of pod readiness gate "{kind}" is not "True", but {status}')
    if missing:
        return "False", "ReadinessGatesNotReady", ", ".join(missing)
    return _YES
