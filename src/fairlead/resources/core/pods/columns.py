"""Columns of pods and pod templates."""

from __future__ import annotations

from typing import Any

from fairlead.resources.columns.cell_text import NONE, Age, field, instant, items, labels_at, moment
from fairlead.resources.columns.model import AGE, NAME, Object, table, text
from fairlead.resources.columns.workloads import containers

_FINISHED = {
    "Succeeded": "The pod has completed successfully.",
    "Failed": "The pod failed.",
}
_NODE_LOST = "NodeLost"


# Fast path for lists of pods: plain lookups instead of dotted paths


def _part(obj: Object, name: str) -> Object:
    part: Object | None = obj.get(name)
    return part or {}


def _list(obj: Object, name: str) -> list[Any]:
    value: list[Any] | None = obj.get(name)
    return value or []


def _held_by(status: Object) -> int | None:
    """The index of the init container that the pod waits for; None if all have completed."""
    for index, container in enumerate(_list(status, "initContainerStatuses")):
        ended = _part(container, "state").get("terminated")
        if ended is None or ended.get("exitCode"):
            return index
    return None


def _ending(terminated: Object) -> str:
    if terminated.get("reason"):
        return str(terminated["reason"])
    if terminated.get("signal"):
        return f"Signal:{terminated['signal']}"
    return f"ExitCode:{terminated.get('exitCode') or 0}"


def _init_word(pod: Object, index: int) -> str:
    container = items(pod, "status.initContainerStatuses")[index]
    ended = field(container, "state.terminated")
    if ended is not None:
        return f"Init:{_ending(ended)}"
    waits_for = field(container, "state.waiting.reason")
    if waits_for and waits_for != "PodInitializing":
        return f"Init:{waits_for}"
    return f"Init:{index}/{len(items(pod, 'spec.initContainers'))}"


def _container_problem(container: Object) -> str:
    """Why a container is waiting, or how it terminated; empty if neither is known."""
    state = _part(container, "state")
    waits_for = _part(state, "waiting").get("reason")
    if waits_for:
        return str(waits_for)
    ended = state.get("terminated")
    return "" if ended is None else _ending(ended)


def _serves(container: Object) -> bool:
    running = _part(container, "state").get("running") is not None
    return running and bool(container.get("ready")) and not _container_problem(container)


def _is_ready(status: Object) -> bool:
    return any(
        condition.get("type") == "Ready" and condition.get("status") == "True"
        for condition in _list(status, "conditions")
    )


def _main_word(status: Object, otherwise: str) -> str:
    containers = _list(status, "containerStatuses")
    word = next(
        (trouble for container in containers if (trouble := _container_problem(container))),
        otherwise,
    )
    if word == "Completed" and any(map(_serves, containers)):
        return "Running" if _is_ready(status) else "NotReady"
    return word


def status(pod: Object) -> str:
    """The state of the pod in a word: its deletion, its containers' trouble, or its phase."""
    pod_status = _part(pod, "status")
    reason = pod_status.get("reason")
    if _part(pod, "metadata").get("deletionTimestamp") is not None:
        return "Unknown" if reason == _NODE_LOST else "Terminating"
    index = _held_by(pod_status)
    if index is not None:
        return _init_word(pod, index)
    return _main_word(pod_status, reason or pod_status.get("phase") or "")


def _ready(pod: Object) -> str:
    pod_status = _part(pod, "status")
    ready = 0
    if _held_by(pod_status) is None:
        ready = sum(map(_serves, _list(pod_status, "containerStatuses")))
    return f"{ready}/{len(_list(_part(pod, 'spec'), 'containers'))}"


def _restarts(pod: Object) -> Age | str:
    """Restarts of the init containers while they run, else of the containers, and the time of the
    last one."""
    pod_status = _part(pod, "status")
    index = _held_by(pod_status)
    inits = _list(pod_status, "initContainerStatuses")
    if index is None:
        counted = _list(pod_status, "containerStatuses")
        dated = [*inits, *counted]
    else:
        counted = dated = inits[: index + 1]
    total = 0
    for counted_status in counted:
        total += counted_status.get("restartCount") or 0
    stamps = {
        _part(_part(container, "lastState"), "terminated").get("finishedAt") for container in dated
    }
    last = max(filter(None, map(moment, stamps)), default=None)
    return Age(instant(last), f"{total} (", " ago)") if last else str(total)


def _address(pod: Object) -> str:
    pod_status = _part(pod, "status")
    address = pod_status.get("podIP")
    if not address:
        address = next((entry.get("ip") for entry in _list(pod_status, "podIPs")), None)
    return address or NONE


def _gates(pod: Object) -> str:
    gates = _list(_part(pod, "spec"), "readinessGates")
    if not gates:
        return NONE
    states: dict[str, str] = {}
    for condition in items(pod, "status.conditions"):
        states.setdefault(condition.get("type"), condition.get("status"))
    passed = sum(states.get(gate.get("conditionType")) == "True" for gate in gates)
    return f"{passed}/{len(gates)}"


def _finished(pod: Object) -> list[dict[str, Any]]:
    phase = field(pod, "status.phase")
    if phase not in _FINISHED:
        return []
    message = _FINISHED[phase]
    return [{"type": "Completed", "status": "True", "reason": phase, "message": message}]


PRINTERS = {
    "core/v1/pods": table(
        NAME,
        text("Ready", _ready, "Containers that are ready, of all"),
        text("Status", status, "State of the pod in a word"),
        text("Restarts", _restarts, "How often containers were started again"),
        AGE,
        text("IP", _address, "Address of the pod", wide=True),
        text("Node", "spec.nodeName", "Node the pod is bound to", missing=NONE, wide=True),
        text(
            "Nominated Node",
            "status.nominatedNodeName",
            "Node where room is being made for the pod",
            missing=NONE,
            wide=True,
        ),
        text("Readiness Gates", _gates, "Extra conditions that are met, of all", wide=True),
        conditions=_finished,
    ),
    "core/v1/podtemplates": table(
        NAME,
        *containers("template.spec", wide=False),
        text("Pod Labels", labels_at("template.metadata.labels"), "Labels of the template's pods"),
    ),
}
