"""Status changes of pods whose node is lost or that a controller deletes."""

from __future__ import annotations

from functools import partial

from fairlead.base.errors import StatusError
from fairlead.controllers.nodes.pods_by_node import PODS
from fairlead.fields.values import copied
from fairlead.operations.api import Object
from fairlead.operations.client import Client
from fairlead.resources.core.pods import FINISHED
from fairlead.resources.core.pods.conditions import disruption, with_condition


def not_ready(pod: Object) -> Object:
    """The pod with Ready set to False, if it has the condition."""
    for condition in (pod.get("status") or {}).get("conditions") or ():
        if condition["type"] == "Ready" and condition["status"] != "False":
            return with_condition(pod, {"type": "Ready", "status": "False"})
    return pod


def failed(pod: Object) -> Object:
    """The pod with phase Failed, unless it has finished."""
    status = pod.get("status") or {}
    if status.get("phase") in FINISHED:
        return pod
    return {**pod, "status": {**status, "phase": "Failed", **observed_generation(pod)}}


def disrupted(pod: Object, reason: str, message: str) -> Object:
    """The pod with the condition DisruptionTarget."""
    return with_condition(pod, {**disruption(reason, message), **observed_generation(pod)})


def observed_generation(pod: Object) -> Object:
    """The field observedGeneration, for pods of a release that counts generations."""
    generation = pod["metadata"].get("generation")
    return {} if generation is None else {"observedGeneration": generation}


def copied_over(updated: Object, _: Object) -> Object:
    """A change function that returns a precomputed object. Its resourceVersion makes the write fail
    with a conflict if the pod has changed since."""
    copy: Object = copied(updated)
    return copy


async def write_status(client: Client, updated: Object, verb: str = "update") -> bool:
    """Write the status of a pod, with a precondition on its version; returns whether the pod
    exists."""
    metadata = updated["metadata"]
    try:
        await client.change(
            PODS,
            metadata["namespace"],
            metadata["name"],
            partial(copied_over, updated),
            "status",
            verb,
        )
    except StatusError as error:
        if error.code == 404:
            return False
        raise
    return True
