"""Lists as sets: containment, equivalence, intersection."""

from __future__ import annotations

from typing import Any

from fairlead.codec.cel.costs import Cost
from fairlead.codec.cel.equality import frozen
from fairlead.codec.cel.library import EstimateRule, Library, declared
from fairlead.codec.cel.ranges import Estimate, Sizes, fixed
from fairlead.codec.cel.syntax import Call
from fairlead.codec.cel.types import BOOL, ListType, Unknown
from fairlead.codec.cel.values import Frame

_T = ListType(Unknown("T"))


def _set(items: list[Any], frame: Frame) -> set[Any]:
    return {frozen(item, frame) for item in items}


def _contains(frame: Frame, items: list[Any], others: list[Any]) -> bool:
    return _set(items, frame) >= _set(others, frame)


def _equivalent(frame: Frame, items: list[Any], others: list[Any]) -> bool:
    return _set(items, frame) == _set(others, frame)


def _intersects(frame: Frame, items: list[Any], others: list[Any]) -> bool:
    return not _set(items, frame).isdisjoint(_set(others, frame))


def _cost(factor: int) -> Cost:
    return lambda items, others, _: 1 + factor * len(items) * len(others)


def _estimate(factor: int) -> EstimateRule:
    def estimate(_: Call, sizes: Sizes) -> tuple[Estimate, Estimate | None]:
        return sizes[0].times(sizes[1]).scaled(factor).plus(fixed(1)), None

    return estimate


_FUNCTIONS = {"sets.contains": _contains, "sets.equivalent": _equivalent}
_FUNCTIONS["sets.intersects"] = _intersects
_COST_FACTORS = {"sets.contains": 1, "sets.equivalent": 2, "sets.intersects": 1}
LIBRARY = Library(
    declared([(name, (_T, _T), BOOL) for name in _FUNCTIONS]),
    {},
    {name: _cost(factor) for name, factor in _COST_FACTORS.items()},
    {name: _estimate(factor) for name, factor in _COST_FACTORS.items()},
    comparing={name: {(list, list): function} for name, function in _FUNCTIONS.items()},
)
