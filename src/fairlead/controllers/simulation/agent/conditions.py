"""The conditions that the agent of a node keeps on its pods."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from fairlead.operations.api import Object
from fairlead.resources.core.pods import FINISHED

_Told = tuple[str, str, str]  # status, reason, message
_YES: _Told = ("True", "", "")
_COMPLETED = "PodCompleted"


def pod_conditions(
    pod: Object, status: Object, unfinished: Sequence[str], moment: str
) -> list[Object]:
    """The conditions that go with a status; those of others stay. `unfinished` are the containers
    that have to end before the others can start."""
    old = {one["type"]: one for one in pod["status"].get("conditions") or ()}
    containers = _containers_ready(status)
    told = {
        "Initialized": _initialized(status.get("phase", ""), unfinished),
        "Ready": _ready(pod, old, containers),
        "ContainersReady": containers,
    }
    own = [_condition(kind, old.pop(kind, None), told[kind], moment) for kind in told]
    return [*own, *old.values()]


def _condition(kind: str, old: Object | None, told: _Told, moment: str) -> Object:
    status, reason, message = told
    since = moment
    if old is not None and old["status"] == status:
        if (old.get("reason", ""), old.get("message", "")) == (reason, message):
            return old
        since = old.get("lastTransitionTime") or moment
    new = {"type": kind, "status": status, "lastProbeTime": None, "lastTransitionTime": since}
    if reason:
        new["reason"] = reason
    if message:
        new["message"] = message
    return new


def _initialized(phase: str, unfinished: Sequence[str]) -> _Told:
    if unfinished and phase != "Succeeded":
        listed = " ".join(unfinished)
        text = f"containers with incomplete status: [{listed}]"
        return "False", "ContainersNotInitialized", text
    return ("True", _COMPLETED, "") if phase == "Succeeded" else _YES


def _containers_ready(status: Object) -> _Told:
    if status.get("phase") in FINISHED:
        reason = _COMPLETED if status["phase"] == "Succeeded" else "PodFailed"
        return "False", reason, ""
    unready = _named(one for one in status.get("containerStatuses") or () if not one.get("ready"))
    if unready:
        return "False", "ContainersNotReady", f"containers with unready status: [{unready}]"
    return _YES


def _named(statuses: Iterable[Object]) -> str:
    return " ".join(one["name"] for one in statuses)


def _ready(pod: Object, old: dict[str, Object], containers: _Told) -> _Told:
    """Ready are pods whose containers are and for which all who were to be asked say so."""
    if containers is not _YES:
        return containers
    missing = []
    for gate in pod["spec"].get("readinessGates") or ():
        kind = gate["conditionType"]
        found = old.get(kind)
        if found is None:
            missing.append(
                f'corresponding condition of pod readiness gate "{kind}" does not exist.'
            )
        elif found["status"] != "True":
            missing.append(
                f'the status of pod readiness gate "{kind}" is not "True", but {found["status"]}'
            )
    if missing:
        return "False", "ReadinessGatesNotReady", ", ".join(missing)
    return _YES
