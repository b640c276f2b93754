"""The devices that drivers publish in slices."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import NamedTuple

from fairlead.base import meter
from fairlead.codec.types.quantity import quantity
from fairlead.controllers.simulation.scheduler.selection import terms_match
from fairlead.operations.api import Object

DeviceKey = tuple[str, str, str]  # driver, pool and name
PoolKey = tuple[str, str]
CounterKey = tuple[str, str]  # counter set and counter


class Device(NamedTuple):
    """A device of a slice. `node` is the name of the only node that has it; `term` selects the
    nodes that have it if there are several."""

    key: DeviceKey
    value: Object
    node: str
    term: Object | None

    @property
    def is_shared(self) -> bool:
        return bool(self.value.get("allowMultipleAllocations"))


class _Slice(NamedTuple):
    order: tuple[bool, str, str, str]
    spec: Object


class Pools:
    """The devices of all complete and consistent pools; of each pool only the newest generation
    counts. Pools with devices that need conditions before a pod is bound come last."""

    def __init__(self, slices: Iterable[Object]) -> None:
        self.counters: dict[PoolKey, dict[CounterKey, Decimal]] = {}
        self.devices: dict[DeviceKey, Object] = {}
        self._of_node: dict[str, list[_Slice]] = {}
        self._shared: list[_Slice] = []  # slices for all nodes, for selected nodes, or by device
        by_pool: dict[PoolKey, list[Object]] = {}
        for device_slice in slices:
            spec = device_slice["spec"]
            by_pool.setdefault((spec["driver"], spec["pool"]["name"]), []).append(device_slice)
        for pool, members in by_pool.items():
            newest = max(member["spec"]["pool"]["generation"] for member in members)
            current = [
                member for member in members if member["spec"]["pool"]["generation"] == newest
            ]
            if len(current) == current[0]["spec"]["pool"]["resourceSliceCount"]:
                self._add(pool, current)

    def _add(self, pool: PoolKey, slices: Sequence[Object]) -> None:
        specs = [device_slice["spec"] for device_slice in slices]
        devices = [device for spec in specs for device in spec.get("devices") or ()]
        meter.spend(10 * len(devices))
        counter_sets = [
            counter_set for spec in specs for counter_set in spec.get("sharedCounters") or ()
        ]
        counters = {
            (counter_set["name"], name): quantity(counter["value"])
            for counter_set in counter_sets
            for name, counter in (counter_set.get("counters") or {}).items()
        }
        names = {device["name"] for device in devices}
        is_consistent = len(names) == len(devices) and all(
            key in counters for device in devices for key in consumed_counters(device)
        )
        if not is_consistent:
            return
        self.counters[pool] = counters
        for device in devices:
            self.devices[(*pool, device["name"])] = device
        is_late = any(device.get("bindingConditions") for device in devices)
        for device_slice in slices:
            spec = device_slice["spec"]
            part = _Slice((is_late, *pool, device_slice["metadata"]["name"]), spec)
            if spec.get("nodeName"):
                self._of_node.setdefault(spec["nodeName"], []).append(part)
            else:
                self._shared.append(part)

    def on(self, node: str, labels: Mapping[str, str]) -> Iterator[Device]:
        """The devices that a node can use."""
        for part in sorted([*self._of_node.get(node, ()), *self._shared]):
            spec = part.spec
            by_device = bool(spec.get("perDeviceNodeSelection"))
            pool = spec["driver"], spec["pool"]["name"]
            if not by_device and not _is_on(spec, node, labels):
                continue
            for device in spec.get("devices") or ():
                meter.spend()
                place = device if by_device else spec
                if by_device and not _is_on(place, node, labels):
                    continue
                selector = place.get("nodeSelector")
                term = selector["nodeSelectorTerms"][0] if selector is not None else None
                yield Device((*pool, device["name"]), device, place.get("nodeName") or "", term)


def _is_on(place: Object, node: str, labels: Mapping[str, str]) -> bool:
    if place.get("nodeName"):
        return bool(place["nodeName"] == node)
    selector = place.get("nodeSelector")
    if selector is None:
        return bool(place.get("allNodes"))
    return terms_match(selector["nodeSelectorTerms"] or (), labels, node)


def consumed_counters(device: Object) -> dict[CounterKey, Decimal]:
    return {
        (consumed["counterSet"], name): quantity(counter["value"])
        for consumed in device.get("consumesCounters") or ()
        for name, counter in (consumed.get("counters") or {}).items()
    }
