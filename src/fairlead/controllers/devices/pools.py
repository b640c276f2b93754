"""The devices that drivers publish in slices, and those that claims use."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal
from typing import NamedTuple

from fairlead.codec.types.quantity import quantity
from fairlead.controllers.simulation.scheduler.selection import terms_match
from fairlead.operations.api import Object
from fairlead.resources.resource.claim_status import results_of

DeviceKey = tuple[str, str, str]  # driver, pool and name


class Device(NamedTuple):
    """A device of a slice. `node` is the name of the only node that has it; `term` selects the
    nodes that have it if there are several."""

    key: DeviceKey
    value: Object
    node: str
    term: Object | None


class Used(NamedTuple):
    """The devices that claims use: exclusively, and what they consume of shared ones."""

    devices: set[DeviceKey]
    shares: dict[DeviceKey, dict[str, Decimal]]


def used_devices(claims: Iterable[Object]) -> Used:
    used = Used(set(), {})
    for claim in claims:
        for result in results_of(claim.get("status") or {}):
            if not result.get("adminAccess"):
                use(used, result)
    return used


def use(used: Used, result: Object) -> None:
    """Record the result of an allocation."""
    key = (result["driver"], result["pool"], result["device"])
    if result.get("shareID") is None:
        used.devices.add(key)
        return
    shares = used.shares.setdefault(key, {})
    for name, amount in (result.get("consumedCapacity") or {}).items():
        shares[name] = shares.get(name, Decimal(0)) + quantity(amount)


class Pools:
    """The devices of all complete pools; of each pool only the newest generation counts."""

    def __init__(self, slices: Iterable[Object]) -> None:
        self._slices: list[Object] = []
        self.counters: dict[tuple[str, str, str], dict[str, Decimal]] = {}
        self.devices: dict[DeviceKey, Object] = {}
        by_pool: dict[tuple[str, str], list[Object]] = {}
        for each in slices:
            spec = each["spec"]
            by_pool.setdefault((spec["driver"], spec["pool"]["name"]), []).append(spec)
        for pool, specs in by_pool.items():
            newest = max(spec["pool"]["generation"] for spec in specs)
            current = [spec for spec in specs if spec["pool"]["generation"] == newest]
            if len(current) == current[0]["pool"]["resourceSliceCount"]:
                self._slices += current
                self._read(pool, current)

    def _read(self, pool: tuple[str, str], specs: Iterable[Object]) -> None:
        for spec in specs:
            for counter_set in spec.get("sharedCounters") or ():
                self.counters[(*pool, counter_set["name"])] = {
                    name: quantity(counter["value"])
                    for name, counter in (counter_set.get("counters") or {}).items()
                }
            for device in spec.get("devices") or ():
                self.devices[(*pool, device["name"])] = device

    def on(self, node: str, labels: Mapping[str, str]) -> Iterator[Device]:
        """The devices that a node can use."""
        for spec in self._slices:
            by_device = bool(spec.get("perDeviceNodeSelection"))
            pool = spec["driver"], spec["pool"]["name"]
            for device in spec.get("devices") or ():
                place = device if by_device else spec
                key = (*pool, device["name"])
                selector = place.get("nodeSelector")
                if place.get("nodeName"):
                    if place["nodeName"] == node:
                        yield Device(key, device, node, None)
                elif selector is None:
                    if place.get("allNodes"):
                        yield Device(key, device, "", None)
                elif terms_match(selector["nodeSelectorTerms"] or (), labels, node):
                    yield Device(key, device, "", selector["nodeSelectorTerms"][0])
