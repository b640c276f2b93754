"""What the status of a pod tells of the resources that its node has given to it."""

from __future__ import annotations

from fairlead.controllers.simulation.agent.containers import FAMILIES
from fairlead.operations.api import Object
from fairlead.resources.core.pods.totals import POD_LEVEL_RESOURCES, Totals, pod_totals


def report_containers(pod: Object, status: Object) -> None:
    """Report the resources of containers that have been created; modifies `status`."""
    for family, list_name in FAMILIES[:2]:
        declared = {item["name"]: item["resources"] for item in pod["spec"].get(family) or ()}
        if status.get(list_name):
            status[list_name] = [
                _with_resources(item, declared.get(item["name"])) for item in status[list_name]
            ]


def _with_resources(status: Object, resources: Object | None) -> Object:
    if resources is None or not status.get("containerID"):
        return status
    reported = {**status, "resources": resources}
    if resources.get("requests"):
        reported["allocatedResources"] = resources["requests"]
    return reported


def report_totals(pod: Object, status: Object) -> None:
    """Report the resources of the pod as a whole; modifies `status`. A limit counts if it holds for
    the pod: its own, or one that all containers have."""
    requests, limits = pod_totals(pod["spec"])
    requested, limited = _texts(requests), _texts(limits)
    own = pod["spec"].get("resources") or {}
    shown = {
        "requests": {
            **{name: text for name, text in requested.items() if name in POD_LEVEL_RESOURCES},
            **(own.get("requests") or {}),
        },
        "limits": {
            **{name: text for name, text in limited.items() if _is_limited(pod["spec"], name)},
            **(own.get("limits") or {}),
        },
    }
    status["resources"] = {kind: amounts for kind, amounts in shown.items() if amounts}
    if requested:
        status["allocatedResources"] = requested


def _texts(totals: Totals) -> dict[str, str]:
    return {name: str(amount) for name, amount in totals.items()}


def _is_limited(spec: Object, name: str) -> bool:
    """Whether all containers have a limit of a resource."""
    return name in POD_LEVEL_RESOURCES and all(
        name in (container["resources"].get("limits") or {})
        for family, _ in FAMILIES[:2]
        for container in spec.get(family) or ()
    )
