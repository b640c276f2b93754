"""Pods and pod templates."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from fairlead.kinds.printing.model import AGE, NAME, Object, table, text, timed
from fairlead.kinds.printing.words import NONE, duration_text, field, items, labels_at, moment
from fairlead.kinds.printing.workloads import containers

_FINISHED = {
    "Succeeded": "The pod has completed successfully.",
    "Failed": "The pod failed.",
}
_NODE_LOST = "NodeLost"


def _held_by(pod: Object) -> int | None:
    """Which init container the pod still waits for."""
    for index, container in enumerate(items(pod, "status.initContainerStatuses")):
        ended = field(container, "state.terminated")
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


def _trouble(container: Object) -> str:
    """Why a container does not run; empty if nothing says so."""
    waits_for = field(container, "state.waiting.reason")
    if waits_for:
        return str(waits_for)
    ended = field(container, "state.terminated")
    return "" if ended is None else _ending(ended)


def _serves(container: Object) -> bool:
    running = field(container, "state.running") is not None
    return running and bool(container.get("ready")) and not _trouble(container)


def _is_ready(pod: Object) -> bool:
    return any(
        one.get("type") == "Ready" and one.get("status") == "True"
        for one in items(pod, "status.conditions")
    )


def _main_word(pod: Object, otherwise: str) -> str:
    statuses = items(pod, "status.containerStatuses")
    word = next((found for one in statuses if (found := _trouble(one))), otherwise)
    if word == "Completed" and any(map(_serves, statuses)):
        return "Running" if _is_ready(pod) else "NotReady"
    return word


def status(pod: Object) -> str:
    """One word for the state of the pod: its deletion, its containers' trouble, or its phase."""
    reason = field(pod, "status.reason")
    if field(pod, "metadata.deletionTimestamp") is not None:
        return "Unknown" if reason == _NODE_LOST else "Terminating"
    index = _held_by(pod)
    if index is not None:
        return _init_word(pod, index)
    return _main_word(pod, reason or field(pod, "status.phase") or "")


def _ready(pod: Object) -> str:
    ready = 0
    if _held_by(pod) is None:
        ready = sum(map(_serves, items(pod, "status.containerStatuses")))
    return f"{ready}/{len(items(pod, 'spec.containers'))}"


def _restarts(pod: Object, now: datetime) -> str:
    """Restarts of the containers whose turn it is, and when the last one was."""
    index = _held_by(pod)
    inits = items(pod, "status.initContainerStatuses")
    if index is None:
        counted = items(pod, "status.containerStatuses")
        dated = [*inits, *counted]
    else:
        counted = dated = inits[: index + 1]
    total = sum(one.get("restartCount") or 0 for one in counted)
    ends = [moment(field(one, "lastState.terminated.finishedAt")) for one in dated]
    last = max((end for end in ends if end), default=None)
    return f"{total} ({duration_text(now - last)} ago)" if last else str(total)


def _address(pod: Object) -> str:
    address = field(pod, "status.podIP")
    if not address:
        address = next((one.get("ip") for one in items(pod, "status.podIPs")), None)
    return address or NONE


def _gates(pod: Object) -> str:
    gates = items(pod, "spec.readinessGates")
    if not gates:
        return NONE
    states: dict[str, str] = {}
    for one in items(pod, "status.conditions"):
        states.setdefault(one.get("type"), one.get("status"))
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
        timed("Restarts", _restarts, "How often containers were started again"),
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
