"""Conditions of pods that the server itself sets."""

from __future__ import annotations

from fairlead.codec.types.model import Object
from fairlead.codec.types.times import now


def disruption(reason: str, message: str) -> Object:
    """The condition of a pod that something other than its owner is about to delete."""
    return {"type": "DisruptionTarget", "status": "True", "reason": reason, "message": message}


def with_condition(pod: Object, condition: Object) -> Object:
    """The pod with a condition added or updated; the same object if nothing changes."""
    status = pod.get("status") or {}
    conditions: list[Object] = list(status.get("conditions") or ())
    kinds = [condition["type"] for condition in conditions]
    if condition["type"] not in kinds:
        start = {"type": condition["type"], "status": condition["status"]}
        times = {"lastProbeTime": None, "lastTransitionTime": now()}
        conditions.append({**start, **times, **condition})
    else:
        index = kinds.index(condition["type"])
        old = conditions[index]
        changed = {**old, **condition}
        if changed == old:
            return pod
        if old["status"] != condition["status"]:
            changed["lastTransitionTime"] = now()
        conditions[index] = changed
    return {**pod, "status": {**status, "conditions": conditions}}
