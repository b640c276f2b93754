"""Reads node conditions, and sets them to Unknown when the node's agent stops reporting."""

from __future__ import annotations

from fairlead.codec.types.times import now
from fairlead.operations.api import Object

READY = "Ready"
# Conditions that the node's agent reports. NetworkUnavailable comes from other components.
_OF_THE_AGENT = (READY, "MemoryPressure", "DiskPressure", "PIDPressure")


def conditions_of(node: Object) -> list[Object]:
    conditions: list[Object] = (node.get("status") or {}).get("conditions") or []
    return conditions


def ready_condition(node: Object) -> Object | None:
    return next(
        (condition for condition in conditions_of(node) if condition["type"] == READY), None
    )


def with_unknown_conditions(node: Object) -> Object:
    """The node with the agent's conditions set to Unknown; the same object if they already are."""
    conditions = list(conditions_of(node))
    places: dict[str, int] = {}
    for position, condition in enumerate(conditions):
        places.setdefault(condition["type"], position)
    moment = now()
    changed = False
    for kind in _OF_THE_AGENT:
        index = places.get(kind)
        if index is None:
            conditions.append(_never_reported(kind, node["metadata"]["creationTimestamp"], moment))
        elif conditions[index]["status"] != "Unknown":
            conditions[index] = _no_longer_reported(conditions[index], moment)
        else:
            continue
        changed = True
    if not changed:
        return node
    return {**node, "status": {**(node.get("status") or {}), "conditions": conditions}}


def _never_reported(kind: str, created: str, moment: str) -> Object:
    return {
        "type": kind,
        "status": "Unknown",
        "lastHeartbeatTime": created,
        "lastTransitionTime": moment,
        "reason": "NodeStatusNeverUpdated",
        "message": "Kubelet never posted node status.",
    }


def _no_longer_reported(condition: Object, moment: str) -> Object:
    return {
        **condition,
        "status": "Unknown",
        "reason": "NodeStatusUnknown",
        "message": "Kubelet stopped posting node status.",
        "lastTransitionTime": moment,
    }
