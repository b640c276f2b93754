"""A parsed LimitRange and the violations of pods and claims against it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from decimal import ROUND_UP, Decimal
from typing import NamedTuple

from fairlead.admission.plugins.base import Object
from fairlead.base import budget, meter
from fairlead.codec.types.memo import ContentCache
from fairlead.codec.types.quantity import Amount, amount
from fairlead.resources.core.pods.totals import demands, pod_totals
from fairlead.storage.version import Version

Texts = Mapping[str, str]  # quantities by resource name, as written in objects
_Bounds = tuple[tuple[str, Amount], ...]
_STEPS_PER_BOUND = 2  # microseconds
_WHOLE, _MILLI = Decimal(1), Decimal("0.001")


class Limit(NamedTuple):
    """The bounds for one type of object."""

    type: str
    min: _Bounds
    max: _Bounds
    ratio: _Bounds

    def violations(self, requests: Texts, limits: Texts) -> Iterator[str]:
        """The violations of a container or pod, given its requests and limits."""
        for name, bound in self.min:
            meter.spend(_STEPS_PER_BOUND)
            violation = _too_little(bound, _amount_of(requests, name), _amount_of(limits, name))
            if violation:
                yield _allocated_text(f"minimum {name} usage per {self.type} is {bound}{violation}")
        for name, bound in self.max:
            meter.spend(_STEPS_PER_BOUND)
            violation = _too_much(bound, _amount_of(requests, name), _amount_of(limits, name))
            if violation:
                yield _allocated_text(f"maximum {name} usage per {self.type} is {bound}{violation}")
        for name, bound in self.ratio:
            meter.spend(_STEPS_PER_BOUND)
            violation = _too_far_apart(bound, _amount_of(requests, name), _amount_of(limits, name))
            if violation:
                text = f"{name} max limit to request ratio per {self.type} is {bound}{violation}"
                yield _allocated_text(text)

    def claim_violations(self, requests: Texts) -> Iterator[str]:
        """The violations of a claim, which has no limits."""
        for name, bound in self.min:
            meter.spend(_STEPS_PER_BOUND)
            violation = _too_little(bound, _amount_of(requests, name), None)
            if violation:
                yield _allocated_text(f"minimum {name} usage per {self.type} is {bound}{violation}")
        for name, bound in self.max:
            meter.spend(_STEPS_PER_BOUND)
            violation = _too_large(bound, _amount_of(requests, name))
            if violation:
                yield _allocated_text(f"maximum {name} usage per {self.type} is {bound}{violation}")


def _allocated_text(text: str) -> str:
    meter.allocate(len(text))
    return text


def _amount_of(texts: Texts, name: str) -> Amount | None:
    text = texts.get(name)
    return amount(text) if text is not None else None


@dataclass(frozen=True, slots=True)
class Range:
    """A LimitRange: default requests and limits of containers, the bounds in order, and a cache of
    the content that passed."""

    requests: tuple[tuple[str, str], ...]
    limits: tuple[tuple[str, str], ...]
    bounds: tuple[Limit, ...]
    passed: ContentCache[bool] = field(default_factory=lambda: ContentCache("pods within limits"))


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


async def pod_violations(limit_range: Range, spec: Object, *, sums_all: bool = False) -> list[str]:
    """The violations of a pod; cached if there are none. `sums_all`: the totals of a pod also count
    resources that only some of its containers state."""
    key = limit_range.passed.key(demands(spec))
    if limit_range.passed.get(key):
        return []
    violations = await budget.run(0, _distinct, limit_range, spec, sums_all)
    if not violations:
        limit_range.passed.keep(key, True)
    return violations


def _distinct(limit_range: Range, spec: Object, sums_all: bool) -> list[str]:
    return list(dict.fromkeys(_pod_violations(limit_range, spec, sums_all)))


def _pod_violations(limit_range: Range, spec: Object, sums_all: bool) -> Iterator[str]:
    """Check each container, and the totals of the pod."""
    containers = [_resources(container) for container in spec["containers"]]
    initial = [_resources(container) for container in spec.get("initContainers") or ()]
    for limit in limit_range.bounds:
        if limit.type == "Container":
            for requests, limits in (*containers, *initial):
                yield from limit.violations(requests, limits)
        elif limit.type == "Pod":
            totals = _totals(spec) if sums_all else _of_pod(containers, initial)
            yield from limit.violations(*totals)


async def claim_violations(limit_range: Range, spec: Object) -> list[str]:
    """The violations of a claim."""
    return await budget.run(0, _claim_violations, limit_range, spec)


def _claim_violations(limit_range: Range, spec: Object) -> list[str]:
    requests = (spec.get("resources") or {}).get("requests") or {}
    return [
        violation
        for limit in limit_range.bounds
        if limit.type == "PersistentVolumeClaim"
        for violation in limit.claim_violations(requests)
    ]


_Resources = tuple[Texts, Texts]


def _resources(container: Object) -> _Resources:
    resources = container["resources"]
    return resources.get("requests") or {}, resources.get("limits") or {}


def _totals(spec: Object) -> _Resources:
    """The requests and limits of a pod without its overhead."""
    requests, limits = pod_totals({**spec, "overhead": None})
    return (
        {name: str(total) for name, total in requests.items()},
        {name: str(total) for name, total in limits.items()},
    )


def _of_pod(containers: list[_Resources], initial: list[_Resources]) -> _Resources:
    requests = _highest(
        _sums([amounts[0] for amounts in containers]), (amounts[0] for amounts in initial)
    )
    limits = _highest(
        _sums([amounts[1] for amounts in containers]), (amounts[1] for amounts in initial)
    )
    return requests, limits


def _sums(parts: list[Texts]) -> dict[str, str]:
    """Totals of the resources that every container states; others have no total."""
    meter.spend(sum(map(len, parts)))
    named = set(parts[0]).intersection(*parts[1:])
    return {name: _sum(name, [part[name] for part in parts]) for name in named}


def _sum(name: str, texts: list[str]) -> str:
    """Round up each part: CPU to thousandths, everything else to whole units."""
    unit = _MILLI if name == "cpu" else _WHOLE
    parts = (amount(text).value.quantize(unit, rounding=ROUND_UP) for text in texts)
    return str(Amount(sum(parts, Decimal(0))))


def _highest(total: dict[str, str], initial: Iterable[Texts]) -> Texts:
    """Raise totals to the largest init container: they run one at a time, before all others."""
    for texts in initial:
        for name, text in texts.items():
            if name not in total or amount(text).value > amount(total[name]).value:
                total[name] = text
    return total


# The end of the message for a value out of bounds; empty if it is within.


def _too_little(bound: Amount, request: Amount | None, limit: Amount | None) -> str:
    if request is None:
        return ".  No request is specified"
    if request.value < bound.value:
        return f", but request is {request}"
    if limit is not None and limit.value < bound.value:
        return f", but limit is {limit}"
    return ""


def _too_much(bound: Amount, request: Amount | None, limit: Amount | None) -> str:
    if limit is None:
        return ".  No limit is specified"
    if limit.value > bound.value:
        return f", but limit is {limit}"
    if request is not None and request.value > bound.value:
        return f", but request is {request}"
    return ""


def _too_large(bound: Amount, request: Amount | None) -> str:
    if request is None:
        return ".  No request is specified"
    return f", but request is {request}" if request.value > bound.value else ""


def _too_far_apart(bound: Amount, request: Amount | None, limit: Amount | None) -> str:
    if request is None or not request.value:
        return ", but no request is specified or request is 0"
    if limit is None or not limit.value:
        return ", but no limit is specified or limit is 0"
    if limit.value > bound.value * request.value:
        return f", but provided ratio is {float(limit.value / request.value):f}"
    return ""
