"""Topology hints: assigns endpoints to zones, for services that request it.

Each zone gets endpoints in proportion to its CPUs, preferably its own. A zone with too few gets
some of other zones. If no allocation is even enough, there are no hints.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from math import ceil
from typing import NamedTuple

from fairlead.controllers.service_endpoints.slice_index import Plan
from fairlead.controllers.service_endpoints.zones import Zones
from fairlead.operations.api import Object

_OVERLOAD = 0.2  # allowed overload of an endpoint relative to its share
_AUTO_VALUES = ("Auto", "auto")
_SAME_NODE = "PreferSameNode"
_DISTRIBUTIONS = ("PreferClose", "PreferSameZone", _SAME_NODE)

Parts = Mapping[str, float]


class _Share(NamedTuple):
    """The desired number of endpoints of a zone, and the maximum that leaves enough for other
    zones."""

    wanted: float
    maximum: int


def _minimum(part: float, total: float) -> int:
    return ceil(part * total * (1 / (1 + _OVERLOAD)))


def _shares(parts: Parts, total: int) -> dict[str, _Share] | None:
    """The shares of zones for `total` endpoints; None if there are too few endpoints."""
    if not parts or len(parts) > total:
        return None
    minimum = {zone: _minimum(part, total) for zone, part in parts.items()}
    spare = total - sum(minimum.values())
    if spare < 0:
        return None
    return {
        zone: _Share(max(part * total, minimum[zone]), minimum[zone] + spare)
        for zone, part in parts.items()
    }


def is_overloaded(hinted: Mapping[str, int], parts: Parts) -> bool:
    """Whether a zone has fewer endpoints than its minimum."""
    total = sum(hinted.values())
    return not parts or any(
        hinted.get(zone, 0) < _minimum(part, total) for zone, part in parts.items()
    )


def put_hints(plan: Plan, unchanged: Iterable[Object], parts: Parts) -> Counter[str] | None:
    """Set hints in the slices of a plan, adding unchanged slices that need new ones. Returns the
    number of endpoints per zone, or None if hints are not possible; then all are removed."""
    staying = list(unchanged)
    total = sum(map(len, map(_ready, (*plan.create, *plan.update, *staying))))
    shares = _shares(parts, total)
    if shares is None:
        take_hints(plan, staying)
        return None
    hinted: Counter[str] = Counter()
    for endpoint_slice in staying:
        hints = _hints_in(endpoint_slice, hinted, shares)
        if hints is None:
            plan.update.append({**endpoint_slice})
        else:
            hinted += hints
    slices = [*plan.create, *plan.update]
    if any(
        not endpoint.get("zone") for endpoint_slice in slices for endpoint in _ready(endpoint_slice)
    ):
        take_hints(plan, staying)
        return None
    for endpoint_slice in slices:
        hinted.update(endpoint["zone"] for endpoint in _ready(endpoint_slice))
    _hint(slices, *_moves(shares, hinted))
    return hinted


def take_hints(plan: Plan, unchanged: Iterable[Object]) -> None:
    """Remove all hints."""
    planned = {endpoint_slice["metadata"].get("name") for endpoint_slice in plan.update}
    for endpoint_slice in unchanged:
        endpoints = endpoint_slice["endpoints"] or ()
        if endpoint_slice["metadata"]["name"] not in planned and any(
            "hints" in endpoint for endpoint in endpoints
        ):
            plan.update.append({**endpoint_slice})
    for endpoint_slice in (*plan.create, *plan.update):
        if endpoint_slice["endpoints"]:
            endpoint_slice["endpoints"] = [
                _hinted(endpoint) for endpoint in endpoint_slice["endpoints"]
            ]


def _is_ready(endpoint: Object) -> bool:
    ready = (endpoint.get("conditions") or {}).get("ready")
    return ready is None or bool(ready)


def _ready(endpoint_slice: Object) -> list[Object]:
    return [endpoint for endpoint in endpoint_slice["endpoints"] or () if _is_ready(endpoint)]


def _hinted(endpoint: Object, zone: str = "") -> Object:
    """The endpoint with a hint for a zone, or without hints."""
    copied = {name: value for name, value in endpoint.items() if name != "hints"}
    return {**copied, "hints": {"forZones": [{"name": zone}]}} if zone else copied


def _hints_in(
    endpoint_slice: Object, hinted: Counter[str], shares: Mapping[str, _Share]
) -> Counter[str] | None:
    """The hints of a slice per zone; None if they must change."""
    hints: Counter[str] = Counter()
    for endpoint in _ready(endpoint_slice):
        zones = (endpoint.get("hints") or {}).get("forZones")
        if not zones:
            return None
        hints.update(zone["name"] for zone in zones)
    for zone, number in hints.items():
        if zone not in shares or number + hinted[zone] > shares[zone].maximum:
            return None
    return hints


def _moves(shares: Mapping[str, _Share], hinted: Counter[str]) -> tuple[Counter[str], Counter[str]]:
    """How many endpoints each zone gives and receives; updates `hinted`. Stops when the surplus or
    deficit is below half an endpoint."""
    surplus = {zone: hinted[zone] - share.wanted for zone, share in shares.items()}
    giving: Counter[str] = Counter()
    getting: Counter[str] = Counter()
    while True:
        donor, receiver = (
            max(surplus, key=surplus.__getitem__),
            min(surplus, key=surplus.__getitem__),
        )
        excess, shortfall = surplus[donor], -surplus[receiver]
        if min(excess, shortfall) < 0.5 or max(excess, shortfall) < 1:
            break
        giving[donor] += 1
        getting[receiver] += 1
        surplus[donor] -= 1
        surplus[receiver] += 1
    hinted += getting
    hinted -= giving
    return giving, getting


def _hint(slices: Iterable[Object], giving: Counter[str], getting: Counter[str]) -> None:
    """Set hints to the endpoint's own zone, except for those that zones give away."""
    targets = list(getting.elements())
    for endpoint_slice in slices:
        endpoints = []
        for endpoint in endpoint_slice["endpoints"] or ():
            zone = endpoint.get("zone", "")
            if not _is_ready(endpoint):
                zone = ""
            elif giving[zone] > 0:
                giving[zone] -= 1
                zone = targets.pop(0)
            endpoints.append(_hinted(endpoint, zone))
        if endpoints:
            endpoint_slice["endpoints"] = endpoints


def put_close_hints(plan: Plan, unchanged: Iterable[Object], by_node: bool) -> None:
    """Set the hints of `trafficDistribution`: each ready endpoint serves its own zone and, if
    `by_node`, its own node first."""
    for endpoint_slice in unchanged:
        endpoints = endpoint_slice["endpoints"] or ()
        if any(_close(endpoint, by_node) != endpoint for endpoint in endpoints):
            plan.update.append({**endpoint_slice})
    for endpoint_slice in (*plan.create, *plan.update):
        if endpoint_slice["endpoints"]:
            endpoint_slice["endpoints"] = [
                _close(endpoint, by_node) for endpoint in endpoint_slice["endpoints"]
            ]


def _close(endpoint: Object, by_node: bool) -> Object:
    """The endpoint with hints for its own zone and node."""
    if not (endpoint.get("conditions") or {}).get("ready"):
        return endpoint
    hints: Object = {}
    if endpoint.get("zone"):
        hints["forZones"] = [{"name": endpoint["zone"]}]
    if by_node and endpoint.get("nodeName"):
        hints["forNodes"] = [{"name": endpoint["nodeName"]}]
    copied = _hinted(endpoint)
    return {**copied, "hints": hints} if hints else copied


class Hints:
    """Sets hints and tracks the allocation of each service. The first of the `annotations` that a
    service has requests hints by the sizes of zones."""

    def __init__(self, zones: Zones, annotations: Sequence[str], *, enabled: bool) -> None:
        self._zones = zones
        self._annotations = annotations
        self._enabled = enabled
        # By service and address family. A service that requests hints but cannot have any has an
        # empty entry.
        self._hint_counts: dict[str, dict[str, Counter[str]]] = {}

    def put(
        self, key: str, service: Object, family: str, plan: Plan, existing: Iterable[Object]
    ) -> None:
        """Update the hints of a service, in the slices of a plan and in unchanged ones."""
        touched = {
            endpoint_slice["metadata"].get("name")
            for endpoint_slice in (*plan.update, *plan.delete)
        }
        unchanged = [
            endpoint_slice
            for endpoint_slice in existing
            if endpoint_slice["metadata"]["name"] not in touched
        ]
        if not self._enabled or not self._are_requested(service):
            self._hint_counts.pop(key, None)
            distribution = service["spec"].get("trafficDistribution")
            if distribution in _DISTRIBUTIONS:
                put_close_hints(plan, unchanged, distribution == _SAME_NODE)
            else:
                take_hints(plan, unchanged)
            return
        hinted = put_hints(plan, unchanged, self._zones.parts())
        families = self._hint_counts.setdefault(key, {})
        families.pop(family, None)
        if hinted is not None:
            families[family] = hinted

    def _are_requested(self, service: Object) -> bool:
        annotations = service["metadata"].get("annotations") or {}
        present = (annotations[name] for name in self._annotations if name in annotations)
        return next(present, "") in _AUTO_VALUES

    def forget(self, key: str) -> None:
        self._hint_counts.pop(key, None)

    @property
    def are_wanted(self) -> bool:
        return bool(self._hint_counts)

    def out_of_balance(self) -> list[str]:
        """Services whose hints no longer match the zones."""
        parts = self._zones.parts()
        return [
            key
            for key, families in self._hint_counts.items()
            if not families or any(is_overloaded(hinted, parts) for hinted in families.values())
        ]
