"""Columns of pods and pod templates."""

from __future__ import annotations

from collections.abc import Container
from datetime import datetime
from typing import Any

from fairlead.resources.columns.cell_text import NONE, Age, field, instant, items, labels_at, moment
from fairlead.resources.columns.model import AGE, NAME, Object, changed, table, text
from fairlead.resources.columns.workloads import containers

_FINISHED = {
    "Succeeded": "The pod has completed successfully.",
    "Failed": "The pod failed.",
}
_NODE_LOST = "NodeLost"
_GATED = "SchedulingGated"


# Fast path for lists of pods: plain lookups instead of dotted paths


def _part(obj: Object, name: str) -> Object:
    part: Object | None = obj.get(name)
    return part or {}


def _list(obj: Object, name: str) -> list[Any]:
    value: list[Any] | None = obj.get(name)
    return value or []


def _held_by(status: Object, sidecars: Container[str | None] = ()) -> int | None:
    """The index of the init container that the pod waits for; None if all have completed, or have
    started if they are sidecars."""
    for index, container in enumerate(_list(status, "initContainerStatuses")):
        ended = _part(container, "state").get("terminated")
        if ended is not None and not ended.get("exitCode"):
            continue
        if not (container.get("started") and container.get("name") in sidecars):
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


def _has_condition(status: Object, kind: str) -> bool:
    return any(
        condition.get("type") == kind and condition.get("status") == "True"
        for condition in _list(status, "conditions")
    )


def _main_word(status: Object, otherwise: str, *, show_failures: bool = False) -> str:
    containers = _list(status, "containerStatuses")
    word = next(
        (trouble for container in containers if (trouble := _container_problem(container))),
        otherwise,
    )
    if word != "Completed":
        return word
    serves = any(map(_serves, containers))
    if serves and _has_condition(status, "Ready"):
        return "Running"
    endings = (_part(_part(container, "state"), "terminated") for container in containers)
    failure = next((_ending(ended) for ended in endings if ended.get("exitCode")), "")
    if failure and show_failures:
        return failure
    return "NotReady" if serves else word


def _status(pod: Object) -> str:
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
    total, last = _total(counted), _last_end(dated)
    return Age(instant(last), f"{total} (", " ago)") if last else str(total)


def _total(containers: list[Object]) -> int:
    total = 0
    for container in containers:
        total += container.get("restartCount") or 0
    return total


def _last_end(containers: list[Object]) -> datetime | None:
    stamps = {
        _part(_part(container, "lastState"), "terminated").get("finishedAt")
        for container in containers
    }
    return max(filter(None, map(moment, stamps)), default=None)


# Later releases count sidecars as containers once they have started.


def _sidecars(pod: Object) -> frozenset[str | None]:
    """The names of the init containers that keep running beside the others."""
    inits = _list(_part(pod, "spec"), "initContainers")
    return frozenset(
        container.get("name") for container in inits if container.get("restartPolicy") == "Always"
    )


def _stage(pod: Object) -> tuple[int | None, list[Object], bool]:
    """The index of the init container that the pod waits for, the statuses of the sidecars up to
    it, and whether the containers have been started."""
    pod_status, names = _part(pod, "status"), _sidecars(pod)
    index = _held_by(pod_status, names)
    inits = _list(pod_status, "initContainerStatuses")[: None if index is None else index + 1]
    sidecars = [container for container in inits if container.get("name") in names]
    return index, sidecars, index is None or _has_condition(pod_status, "Initialized")


def _later_status(pod: Object) -> str:
    """The state of the pod in a word, with scheduling gates and sidecars."""
    pod_status = _part(pod, "status")
    reason, phase = pod_status.get("reason"), pod_status.get("phase")
    if _part(pod, "metadata").get("deletionTimestamp") is not None:
        if reason == _NODE_LOST:
            return "Unknown"
        if phase not in _FINISHED:
            return "Terminating"
    word = reason or phase or ""
    if any(
        condition.get("type") == "PodScheduled" and condition.get("reason") == _GATED
        for condition in _list(pod_status, "conditions")
    ):
        word = _GATED
    index, _, is_started = _stage(pod)
    if index is not None:
        word = _init_word(pod, index)
    return _main_word(pod_status, word, show_failures=True) if is_started else word


def _later_ready(pod: Object) -> str:
    _, sidecars, is_started = _stage(pod)
    ready = sum(bool(status.get("started") and status.get("ready")) for status in sidecars)
    if is_started:
        ready += sum(map(_serves, _list(_part(pod, "status"), "containerStatuses")))
    return f"{ready}/{len(_list(_part(pod, 'spec'), 'containers')) + len(_sidecars(pod))}"


def _later_restarts(pod: Object) -> Age | str:
    index, sidecars, is_started = _stage(pod)
    pod_status = _part(pod, "status")
    if index is None or is_started:
        counted = [*sidecars, *_list(pod_status, "containerStatuses")]
    else:
        counted = _list(pod_status, "initContainerStatuses")[: index + 1]
    total, last = _total(counted), _last_end(counted)
    return Age(instant(last), f"{total} (", " ago)") if total and last else str(total)


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
        *changed(36, "Ready", _ready, _later_ready, "Containers that are ready, of all"),
        *changed(36, "Status", _status, _later_status, "State of the pod in a word"),
        *changed(36, "Restarts", _restarts, _later_restarts, "How often containers were restarted"),
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
