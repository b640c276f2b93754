"""Hints by which clients find endpoints in their own zone, for services that ask for them.

Every zone gets endpoints for its part of the processors. Most are its own; where it has too few it
gets some of another zone, and where that would be too far from even nobody gets hints.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from math import ceil
from typing import NamedTuple

from fairlead.controllers.service_endpoints.slice_index import Plan
from fairlead.controllers.service_endpoints.zones import Zones
from fairlead.operations.api import Object

_OVERLOAD = 0.2  # how much more than its share an endpoint may have to do
_WANTED = ("Auto", "auto")

Parts = Mapping[str, float]


class _Share(NamedTuple):
    """How many endpoints a zone is to have, and how many it can without any being amiss
    elsewhere."""

    wanted: float
    most: int


def _least(part: float, total: float) -> int:
    return ceil(part * total * (1 / (1 + _OVERLOAD)))


def _shares(parts: Parts, total: int) -> dict[str, _Share] | None:
    """The shares of zones of so many endpoints; None if there are too few."""
    if not parts or len(parts) > total:
        return None
    least = {zone: _least(part, total) for zone, part in parts.items()}
    spare = total - sum(least.values())
    if spare < 0:
        return None
    return {
        zone: _Share(max(part * total, least[zone]), least[zone] + spare)
        for zone, part in parts.items()
    }


def is_overloaded(given: Mapping[str, int], parts: Parts) -> bool:
    """Whether a zone has too few of the endpoints that were given to zones."""
    total = sum(given.values())
    return not parts or any(
        given.get(zone, 0) < _least(part, total) for zone, part in parts.items()
    )


def put_hints(plan: Plan, unchanged: Iterable[Object], parts: Parts) -> Counter[str] | None:
    """Put hints into the slices of a plan, and others into it that need them; gives how many each
    zone has, or None if there can be none and those that were there are taken away."""
    staying = list(unchanged)
    total = sum(map(len, map(_ready, (*plan.create, *plan.update, *staying))))
    shares = _shares(parts, total)
    if shares is None:
        take_hints(plan, staying)
        return None
    given: Counter[str] = Counter()
    for found in staying:
        hints = _hints_in(found, given, shares)
        if hints is None:
            plan.update.append({**found})
        else:
            given += hints
    slices = [*plan.create, *plan.update]
    if any(not endpoint.get("zone") for found in slices for endpoint in _ready(found)):
        take_hints(plan, staying)
        return None
    for found in slices:
        given.update(endpoint["zone"] for endpoint in _ready(found))
    _hint(slices, *_moves(shares, given))
    return given


def take_hints(plan: Plan, unchanged: Iterable[Object]) -> None:
    """Take all hints away."""
    planned = {found["metadata"].get("name") for found in plan.update}
    for found in unchanged:
        endpoints = found["endpoints"] or ()
        if found["metadata"]["name"] not in planned and any("hints" in one for one in endpoints):
            plan.update.append({**found})
    for found in (*plan.create, *plan.update):
        if found["endpoints"]:
            found["endpoints"] = [_hinted(endpoint) for endpoint in found["endpoints"]]


def _is_ready(endpoint: Object) -> bool:
    ready = (endpoint.get("conditions") or {}).get("ready")
    return ready is None or bool(ready)


def _ready(found: Object) -> list[Object]:
    return [endpoint for endpoint in found["endpoints"] or () if _is_ready(endpoint)]


def _hinted(endpoint: Object, zone: str = "") -> Object:
    """An endpoint with a hint for a zone, or without any."""
    made = {name: value for name, value in endpoint.items() if name != "hints"}
    return {**made, "hints": {"forZones": [{"name": zone}]}} if zone else made


def _hints_in(
    found: Object, given: Counter[str], shares: Mapping[str, _Share]
) -> Counter[str] | None:
    """The hints in a slice by zone; None if they cannot stay."""
    hints: Counter[str] = Counter()
    for endpoint in _ready(found):
        zones = (endpoint.get("hints") or {}).get("forZones")
        if not zones:
            return None
        hints.update(zone["name"] for zone in zones)
    for zone, number in hints.items():
        if zone not in shares or number + given[zone] > shares[zone].most:
            return None
    return hints


def _moves(shares: Mapping[str, _Share], given: Counter[str]) -> tuple[Counter[str], Counter[str]]:
    """How many endpoints zones give to others, and how many they get; `given` then has that. No
    endpoint moves for less than half of one."""
    surplus = {zone: given[zone] - share.wanted for zone, share in shares.items()}
    giving: Counter[str] = Counter()
    getting: Counter[str] = Counter()
    while True:
        rich, poor = max(surplus, key=surplus.__getitem__), min(surplus, key=surplus.__getitem__)
        much, little = surplus[rich], -surplus[poor]
        if min(much, little) < 0.5 or max(much, little) < 1:
            break
        giving[rich] += 1
        getting[poor] += 1
        surplus[rich] -= 1
        surplus[poor] += 1
    given += getting
    given -= giving
    return giving, getting


def _hint(slices: Iterable[Object], giving: Counter[str], getting: Counter[str]) -> None:
    """Hint endpoints to their zones, so many to others."""
    targets = list(getting.elements())
    for found in slices:
        endpoints = []
        for endpoint in found["endpoints"] or ():
            zone = endpoint.get("zone", "")
            if not _is_ready(endpoint):
                zone = ""
            elif giving[zone] > 0:
                giving[zone] -= 1
                zone = targets.pop(0)
            endpoints.append(_hinted(endpoint, zone))
        if endpoints:
            found["endpoints"] = endpoints


class Hints:
    """Gives services hints, and knows which of them have how many in each zone."""

    def __init__(self, zones: Zones, annotation: str, *, enabled: bool) -> None:
        self._zones = zones
        self._annotation = annotation
        self._enabled = enabled
        # By service and family of addresses. Of those that ask for hints and have none, nothing.
        self._given: dict[str, dict[str, Counter[str]]] = {}

    def put(
        self, key: str, service: Object, family: str, plan: Plan, existing: Iterable[Object]
    ) -> None:
        """Make the hints of a service what they should be: those in the slices of a plan, and in
        the others that there are."""
        touched = {found["metadata"].get("name") for found in (*plan.update, *plan.delete)}
        unchanged = [found for found in existing if found["metadata"]["name"] not in touched]
        annotations = service["metadata"].get("annotations") or {}
        if not self._enabled or annotations.get(self._annotation) not in _WANTED:
            self._given.pop(key, None)
            take_hints(plan, unchanged)
            return
        given = put_hints(plan, unchanged, self._zones.parts())
        families = self._given.setdefault(key, {})
        families.pop(family, None)
        if given is not None:
            families[family] = given

    def forget(self, key: str) -> None:
        self._given.pop(key, None)

    @property
    def are_wanted(self) -> bool:
        return bool(self._given)

    def out_of_balance(self) -> list[str]:
        """The services that need other hints than they have, now that zones have changed."""
        parts = self._zones.parts()
        return [
            key
            for key, families in self._given.items()
            if not families or any(is_overloaded(given, parts) for given in families.values())
        ]
