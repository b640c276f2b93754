"""The behaviour of CSINode: the volume drivers of a node. The entry of a driver is immutable."""

from __future__ import annotations

from typing import Any

from fairlead.codec.types.names import qualified_name
from fairlead.resources.behaviour import Object
from fairlead.resources.causes import Causes, GoValue, quote
from fairlead.resources.context import Context
from fairlead.resources.core.shared import go_struct
from fairlead.resources.core.volumes.sources import csi_driver_name
from fairlead.resources.go_values import go_list
from fairlead.resources.rules import IMMUTABLE, non_negative
from fairlead.resources.storage.shared import OrderedBehaviour, Step, go_pointer, same

LONGEST_NODE_ID = 256


class CSINodeBehaviour(OrderedBehaviour):
    update_order = (Step.METADATA, Step.RULES, Step.METADATA, Step.RULES, Step.CHANGE)

    def check(self, value: Object, causes: Causes, context: Context) -> None:
        seen: set[str] = set()
        for index, driver in enumerate(value["spec"]["drivers"] or ()):
            _check_driver(driver, seen, f"spec.drivers[{index}]", causes)

    def check_change(self, value: Object, old: Object, causes: Causes, context: Context) -> None:
        named: dict[str, list[dict[str, Any]]] = {}
        for driver in value["spec"]["drivers"] or ():
            named.setdefault(driver["name"], []).append(driver)
        for before in old["spec"]["drivers"] or ():
            for driver in named.get(before["name"], ()):
                if not same(driver, before):
                    causes.invalid("CSINodeDriver", _shown(driver), IMMUTABLE)


def _check_driver(driver: dict[str, Any], seen: set[str], path: str, causes: Causes) -> None:
    csi_driver_name(driver["name"], f"{path}.name", causes)
    node_id = driver["nodeID"]
    if not node_id:
        causes.required(f"{path}.nodeID")
    if len(node_id) > LONGEST_NODE_ID:
        causes.invalid(f"{path}.nodeID", node_id, f"must be {LONGEST_NODE_ID} characters or less")
    allocatable = driver.get("allocatable") or {}
    non_negative(allocatable.get("count"), f"{path}.allocatable.count", causes)
    if driver["name"] in seen:
        causes.duplicate(f"{path}.name", driver["name"])
    seen.add(driver["name"])
    _check_topology_keys(driver["topologyKeys"] or [], path, causes)


def _check_topology_keys(keys: list[str], path: str, causes: Causes) -> None:
    seen: set[str] = set()
    for key in keys:
        if not key:
            causes.required(path)
        if key in seen:
            causes.duplicate(path, key)
        seen.add(key)
        causes.invalid_each(path, key, qualified_name(key))


def _shown(driver: dict[str, Any]) -> GoValue:
    return go_struct(
        "storage.CSINodeDriver",
        {
            "Name": quote(driver["name"]),
            "NodeID": quote(driver["nodeID"]),
            "TopologyKeys": go_list("string", driver["topologyKeys"] or None),
            "Allocatable": go_pointer("storage.VolumeNodeResources", driver.get("allocatable")),
        },
    )
