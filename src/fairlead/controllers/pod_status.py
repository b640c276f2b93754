"""What controllers write into the status of pods whose node is lost or that they delete."""

from __future__ import annotations

from functools import partial

from fairlead.base.errors import StatusError
from fairlead.codec.types.times import now
from fairlead.controllers.nodes.pods_by_node import PODS
from fairlead.fields.values import copied
from fairlead.operations.api import Object
from fairlead.operations.client import Client
from fairlead.resources.core.pods import FINISHED


def not_ready(pod: Object) -> Object:
    """A pod that said whether it is ready, and now is not."""
    for condition in (pod.get("status") or {}).get("conditions") or ():
        if condition["type"] == "Ready" and condition["status"] != "False":
            return _told(pod, {"type": "Ready", "status": "False"})
    return pod


def failed(pod: Object) -> Object:
    """A pod that nobody runs any more."""
    status = pod.get("status") or {}
    if status.get("phase") in FINISHED:
        return pod
    return {**pod, "status": {**status, "phase": "Failed"}}


def disrupted(pod: Object, reason: str, message: str) -> Object:
    """A pod that is deleted through no fault of its own."""
    condition = {
        "type": "DisruptionTarget",
        "status": "True",
        "reason": reason,
        "message": message,
    }
    return _told(pod, condition)


def _told(pod: Object, condition: Object) -> Object:
    """A pod with a condition put in or brought up to date; the same one if it says that."""
    status = pod.get("status") or {}
    conditions: list[Object] = list(status.get("conditions") or ())
    kinds = [found["type"] for found in conditions]
    if condition["type"] not in kinds:
        conditions.append({**condition, "lastTransitionTime": now()})
    else:
        index = kinds.index(condition["type"])
        found = conditions[index]
        changed = {**found, **condition}
        if changed == found:
            return pod
        if found["status"] != condition["status"]:
            changed["lastTransitionTime"] = now()
        conditions[index] = changed
    return {**pod, "status": {**status, "conditions": conditions}}


def copied_over(wanted: Object, _: Object) -> Object:
    """A change to what was worked out before, whatever there is: it is refused if that is another
    version than the one that it was made from."""
    copy: Object = copied(wanted)
    return copy


async def write_status(client: Client, wanted: Object, verb: str = "update") -> bool:
    """Write a status over the version that it was made from; tells whether the pod is there."""
    metadata = wanted["metadata"]
    try:
        await client.change(
            PODS,
            metadata["namespace"],
            metadata["name"],
            partial(copied_over, wanted),
            "status",
            verb,
        )
    except StatusError as error:
        if error.code == 404:
            return False
        raise
    return True
