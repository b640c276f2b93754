"""Resizes of running pods: the status tells what the node has given to containers, the spec what
they are to have. A resize that fits the node is carried out at once, any other is deferred."""

from __future__ import annotations

import json
from collections.abc import Iterator
from decimal import Decimal
from typing import NamedTuple

from fairlead.codec.types.quantity import quantity
from fairlead.controllers.events import NORMAL, WARNING
from fairlead.controllers.pod_status import observed_generation
from fairlead.controllers.simulation.agent.containers import (
    FAMILIES,
    Moment,
    PodEvent,
    Role,
    restart,
    state_of,
)
from fairlead.controllers.simulation.given_resources import with_given
from fairlead.operations.api import Object

RETRY = 10.0  # seconds until a deferred resize is tried again
RESIZED = "ResizeCompleted"
_PENDING, _DEFERRED = "PodResizePending", "Deferred"
_RESIZED = ("cpu", "memory")

# By container, the resources of which it is to have more or less; that of the pod has no name.
Changes = dict[str, frozenset[str]]


class Deferral(NamedTuple):
    """Why a node has no room for a resize."""

    reason: str
    message: str


def changes_of(pod: Object) -> Changes:
    """The changes that the spec of a pod asks for; empty if it has what it asks for."""
    given = with_given(pod)
    if given is pod:
        return {}
    pairs = [
        (new["name"], old["resources"], new["resources"])
        for family, _ in FAMILIES[:2]
        for old, new in zip(
            given["spec"].get(family) or (), pod["spec"].get(family) or (), strict=True
        )
    ]
    pairs.append(("", given["spec"].get("resources") or {}, pod["spec"].get("resources") or {}))
    found = {name: frozenset(_differences(old, new)) for name, old, new in pairs}
    return {name: resources for name, resources in found.items() if resources}


def _differences(old: Object, new: Object) -> Iterator[str]:
    for name in _RESIZED:
        kinds = ("requests", "limits")
        if any(_amount(old, kind, name) != _amount(new, kind, name) for kind in kinds):
            yield name


def _amount(resources: Object, kind: str, name: str) -> Decimal | None:
    text = (resources.get(kind) or {}).get(name)
    return None if text is None else quantity(text)


def carried_out(
    pod: Object, changes: Changes, roles: dict[str, Role], now: Moment
) -> tuple[Object, list[PodEvent]]:
    """The pod after a resize, and its events. Containers whose policy says so are restarted."""
    events = [PodEvent(NORMAL, "ResizeStarted", f"Pod resize started: {_summary(pod)}")]
    statuses: Object = {}
    for _, list_name in FAMILIES[:2]:
        statuses[list_name] = []
        for status in pod["status"].get(list_name) or ():
            role = roles.get(status["name"])
            if role is not None and _restarts(role, changes) and "running" in state_of(status):
                text = f"Container {role.name} resize requires restart"
                step = restart(role, status, now)
                events += [PodEvent(NORMAL, "Killing", text, role.path), *step.events]
                status = step.status
            statuses[list_name].append(status)
    events.append(PodEvent(NORMAL, RESIZED, f"Pod resize completed: {_summary(pod)}"))
    changed = {name: items for name, items in statuses.items() if items}
    return {**pod, "status": {**pod["status"], **changed}}, events


def _restarts(role: Role, changes: Changes) -> bool:
    changed = changes.get(role.name, frozenset())
    return any(
        policy["resourceName"] in changed and policy["restartPolicy"] == "RestartContainer"
        for policy in role.container.get("resizePolicy") or ()
    )


def is_deferred(status: Object) -> bool:
    return any(each["type"] == _PENDING for each in status.get("conditions") or ())


def report(pod: Object, status: Object, deferral: Deferral | None, now: Moment) -> list[PodEvent]:
    """Say in a status whether a resize waits; returns events about that."""
    conditions = status["conditions"]
    old = next((each for each in conditions if each["type"] == _PENDING), None)
    if deferral is None and old is None:
        return []
    others = [each for each in conditions if each["type"] != _PENDING]
    if deferral is None:
        status["conditions"] = others
        return []
    observed = observed_generation(pod)
    condition = {
        "type": _PENDING,
        "status": "True",
        "reason": _DEFERRED,
        "message": deferral.message,
        "lastProbeTime": None,
        "lastTransitionTime": now.text if old is None else old.get("lastTransitionTime"),
        **observed,
    }
    status["conditions"] = [*others, condition]
    if old is not None and old.get("observedGeneration") == observed.get("observedGeneration"):
        return []
    text = f"Pod resize {deferral.reason}: {_summary(pod, deferral.message)}"
    return [PodEvent(WARNING, "ResizeDeferred", text)]


def _summary(pod: Object, error: str = "") -> str:
    """What events tell of a resize: the resources that the containers are to have."""
    told: Object = {}
    for family, _ in FAMILIES[:2]:
        if pod["spec"].get(family):
            told[family] = [
                {"name": each["name"], "resources": _sorted(each["resources"])}
                for each in pod["spec"][family]
            ]
    told["generation"] = pod["metadata"].get("generation", 0)
    if error:
        told["error"] = error
    return json.dumps(told, separators=(",", ":"))


def _sorted(resources: Object) -> Object:
    return {
        kind: dict(sorted(resources[kind].items()))
        for kind in ("limits", "requests")
        if resources.get(kind)
    }
