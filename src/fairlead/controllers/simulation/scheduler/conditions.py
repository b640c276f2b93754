"""Status updates of pods that could not be scheduled."""

from __future__ import annotations

from collections.abc import Callable

from fairlead.codec.types.times import now
from fairlead.controllers.pod_status import observed_generation
from fairlead.controllers.simulation.simulated_nodes import PODS
from fairlead.operations.api import Object
from fairlead.operations.client import Client

_SCHEDULED = "PodScheduled"


async def set_unschedulable(
    client: Client, pod: Object, text: str, node: str = "", reason: str = "Unschedulable"
) -> None:
    """Set PodScheduled to False with a reason, and the nominated node if given; skips the write if
    unchanged. Raises StatusError."""

    def updated(current: Object) -> Object:
        status = dict(current["status"])
        if current["spec"].get("nodeName") or current["metadata"]["uid"] != pod["metadata"]["uid"]:
            return current
        if node:
            status["nominatedNodeName"] = node
        observed = observed_generation(current)
        conditions = status.get("conditions") or []
        status["conditions"] = _with_reason(conditions, reason, text, observed)
        return {**current, "status": status}

    if updated(pod) != pod:
        await _change(client, pod["metadata"]["namespace"], pod["metadata"]["name"], updated)


async def clear_nomination(client: Client, key: str) -> None:
    """Remove nominatedNodeName. Raises StatusError."""

    def updated(current: Object) -> Object:
        status = {
            name: part for name, part in current["status"].items() if name != "nominatedNodeName"
        }
        return {**current, "status": status}

    namespace, _, name = key.partition("/")
    await _change(client, namespace, name, updated)


async def _change(
    client: Client, namespace: str, name: str, change: Callable[[Object], Object]
) -> None:
    await client.change(PODS, namespace, name, change, "status", "patch")


def _with_reason(
    conditions: list[Object], reason: str, text: str, observed: Object
) -> list[Object]:
    old = next((condition for condition in conditions if condition["type"] == _SCHEDULED), None)
    new = {
        "type": _SCHEDULED,
        "status": "False",
        "lastProbeTime": None,
        "lastTransitionTime": now(),
        "reason": reason,
        "message": text,
        **observed,
    }
    if old is not None and old["status"] == "False":
        told = old.get("reason"), old.get("message"), old.get("observedGeneration")
        if told == (reason, text, observed.get("observedGeneration")):
            return conditions
        new["lastTransitionTime"] = old.get("lastTransitionTime") or new["lastTransitionTime"]
    return [*(condition for condition in conditions if condition is not old), new]
