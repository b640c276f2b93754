"""What one LimitRange says, worked out once, and what is wrong with an object by it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from decimal import ROUND_UP, Decimal
from typing import NamedTuple

from fairlead.admission.plugins.base import Object
from fairlead.schema.quantity import Amount, amount
from fairlead.storage.version import Version

Amounts = Mapping[str, Amount]
_Bounds = tuple[tuple[str, Amount], ...]
_WHOLE, _MILLI = Decimal(1), Decimal("0.001")


class Limit(NamedTuple):
    """The bounds of one type of objects."""

    type: str
    min: _Bounds
    max: _Bounds
    ratio: _Bounds

    def violations(self, requests: Amounts, limits: Amounts) -> Iterator[str]:
        """What is wrong with what a container or pod asks for and is limited to."""
        for name, bound in self.min:
            yield from _too_little(f"minimum {name} usage per {self.type} is {bound}", bound,
                                   requests.get(name), limits.get(name))  # fmt: skip
        for name, bound in self.max:
            yield from _too_much(f"maximum {name} usage per {self.type} is {bound}", bound,
                                 requests.get(name), limits.get(name))  # fmt: skip
        for name, bound in self.ratio:
            yield from _too_far_apart(
                f"{name} max limit to request ratio per {self.type} is {bound}", bound,
                requests.get(name), limits.get(name),
            )  # fmt: skip

    def claim_violations(self, requests: Amounts) -> Iterator[str]:
        """The same for a claim, which has no limits."""
        for name, bound in self.min:
            said = f"minimum {name} usage per {self.type} is {bound}"
            yield from _too_little(said, bound, requests.get(name), None)
        for name, bound in self.max:
            request = requests.get(name)
            said = f"maximum {name} usage per {self.type} is {bound}"
            if request is None:
                yield f"{said}.  No request is specified"
            elif request.value > bound.value:
                yield f"{said}, but request is {request}"


class Range(NamedTuple):
    """A LimitRange: what containers get that say nothing, and the bounds in their order."""

    requests: tuple[tuple[str, str], ...]
    limits: tuple[tuple[str, str], ...]
    bounds: tuple[Limit, ...]


def range_of(entry: Version) -> Range:
    requests: dict[str, str] = {}
    limits: dict[str, str] = {}
    bounds = []
    for limit in entry.object()["spec"]["limits"] or ():
        if limit["type"] == "Container":
            requests.update(limit.get("defaultRequest") or {})
            limits.update(limit.get("default") or {})
        names = ("min", "max", "maxLimitRequestRatio")
        bounds.append(Limit(limit["type"], *(_bounds(limit.get(name)) for name in names)))
    return Range(tuple(sorted(requests.items())), tuple(sorted(limits.items())), tuple(bounds))


def _bounds(amounts: Mapping[str, str] | None) -> _Bounds:
    return tuple((name, amount(text)) for name, text in sorted((amounts or {}).items()))


def pod_violations(found: Range, spec: Object) -> Iterator[str]:
    """What is wrong with a pod, container by container and as a whole."""
    containers = [_resources(container) for container in spec["containers"]]
    initial = [_resources(container) for container in spec.get("initContainers") or ()]
    for limit in found.bounds:
        if limit.type == "Container":
            for requests, limits in (*containers, *initial):
                yield from limit.violations(requests, limits)
        elif limit.type == "Pod":
            yield from limit.violations(*_of_pod(containers, initial))


def claim_violations(found: Range, spec: Object) -> Iterator[str]:
    requests = _amounts((spec.get("resources") or {}).get("requests"))
    for limit in found.bounds:
        if limit.type == "PersistentVolumeClaim":
            yield from limit.claim_violations(requests)


_Resources = tuple[Amounts, Amounts]


def _resources(container: Object) -> _Resources:
    resources = container["resources"]
    return _amounts(resources.get("requests")), _amounts(resources.get("limits"))


def _amounts(texts: Mapping[str, str] | None) -> Amounts:
    return {name: amount(text) for name, text in texts.items()} if texts else {}


def _of_pod(containers: list[_Resources], initial: list[_Resources]) -> _Resources:
    requests = _highest(_sums([one[0] for one in containers]), (one[0] for one in initial))
    limits = _highest(_sums([one[1] for one in containers]), (one[1] for one in initial))
    return requests, limits


def _sums(parts: list[Amounts]) -> dict[str, Amount]:
    """The totals of what every container names: where one is silent there is no total."""
    named = set(parts[0]).intersection(*parts[1:])
    return {name: _sum(name, [part[name] for part in parts]) for name in named}


def _sum(name: str, amounts: list[Amount]) -> Amount:
    """Processors are counted in thousandths, all else in whole units."""
    unit = _MILLI if name == "cpu" else _WHOLE
    parts = (one.value.quantize(unit, rounding=ROUND_UP) for one in amounts)
    return Amount(sum(parts, Decimal(0)))


def _highest(total: dict[str, Amount], initial: Iterable[Amounts]) -> Amounts:
    """Initial containers run one after the other, before all others."""
    for amounts in initial:
        for name, found in amounts.items():
            if name not in total or found.value > total[name].value:
                total[name] = found
    return total


def _too_little(
    said: str, bound: Amount, request: Amount | None, limit: Amount | None
) -> Iterator[str]:
    if request is None:
        yield f"{said}.  No request is specified"
    elif request.value < bound.value:
        yield f"{said}, but request is {request}"
    elif limit is not None and limit.value < bound.value:
        yield f"{said}, but limit is {limit}"


def _too_much(
    said: str, bound: Amount, request: Amount | None, limit: Amount | None
) -> Iterator[str]:
    if limit is None:
        yield f"{said}.  No limit is specified"
    elif limit.value > bound.value:
        yield f"{said}, but limit is {limit}"
    elif request is not None and request.value > bound.value:
        yield f"{said}, but request is {request}"


def _too_far_apart(
    said: str, bound: Amount, request: Amount | None, limit: Amount | None
) -> Iterator[str]:
    if request is None or not request.value:
        yield f"{said}, but no request is specified or request is 0"
    elif limit is None or not limit.value:
        yield f"{said}, but no limit is specified or limit is 0"
    elif limit.value > bound.value * request.value:
        yield f"{said}, but provided ratio is {float(limit.value / request.value):f}"
