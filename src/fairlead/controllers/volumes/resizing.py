"""The conditions and sizes of a claim whose volume grows."""

from __future__ import annotations

from fairlead.codec.types.quantity import quantity
from fairlead.codec.types.times import now
from fairlead.controllers.volumes.facts import size_wanted
from fairlead.controllers.volumes.names import BOUND, phase_of
from fairlead.operations.api import Object

RESIZING, PENDING_ON_NODE = _STATES = ("Resizing", "FileSystemResizePending")


def resizing(*, gives_reason: bool) -> Object:
    state = {"type": RESIZING, "status": "True", "lastTransitionTime": now()}
    return {**state, "reason": "ResizeStarted"} if gives_reason else state


def wants_more(claim: Object) -> bool:
    has = (claim["status"].get("capacity") or {}).get("storage", "0")
    return phase_of(claim) == BOUND and size_wanted(claim) > quantity(has)


def waits_for_node(claim: Object) -> bool:
    return any(
        state["type"] == PENDING_ON_NODE for state in claim["status"].get("conditions") or ()
    )


def pending_on_node() -> Object:
    text = "Waiting for user to (re-)start a pod to finish file system resize of volume on node."
    return {"type": PENDING_ON_NODE, "status": "True", "lastTransitionTime": now(), "message": text}


def with_state(claim: Object, state: Object | None = None) -> Object:
    """The claim with `state` as the only condition about its size; an equal one is kept."""
    before = claim["status"].get("conditions") or []
    conditions = [condition for condition in before if condition["type"] not in _STATES]
    if state is not None:
        same = ("type", "status")
        same_states = (old for old in before if all(old[name] == state[name] for name in same))
        conditions.append(next(same_states, state))
    status = {name: part for name, part in claim["status"].items() if name != "conditions"}
    if conditions:
        status["conditions"] = conditions
    return {**claim, "status": status}


def with_size(claim: Object, size: str) -> Object:
    capacity = {**(claim["status"].get("capacity") or {}), "storage": size}
    return {**claim, "status": {**claim["status"], "capacity": capacity}}
