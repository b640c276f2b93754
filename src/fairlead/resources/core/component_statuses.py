"""ComponentStatus: the health of the control plane. Not stored; computed from probes."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from fairlead.base.errors import ResourceRef, StatusError, not_found
from fairlead.resources.behaviour import Object
from fairlead.resources.gates import Gates

# Returns the problem of a component; empty if it is healthy.
Probe = Callable[[], str]


def component_status(name: str, probe: Probe, gates: Gates) -> Object:
    """The status of a component, probed now."""
    metadata: Object = {"name": name}
    if not gates["OmittedCreationTimestamps"]:
        metadata["creationTimestamp"] = None
    trouble = probe()
    condition = {"type": "Healthy", "status": "False" if trouble else "True"}
    condition["message"] = trouble or "ok"
    return {"metadata": metadata, "conditions": [condition]}


def component_statuses(probes: Mapping[str, Probe], gates: Gates) -> list[Object]:
    return [component_status(name, probe, gates) for name, probe in probes.items()]


def find_component(name: str, probes: Mapping[str, Probe], gates: Gates) -> Object:
    """The status of a named component; raises StatusError if it does not exist."""
    if name not in probes:
        if gates["ComponentStatusNotFound"]:
            raise not_found(ResourceRef("", "componentstatus", name))
        raise StatusError(500, "", f"Component not found: {name}")
    return component_status(name, probes[name], gates)
