"""Lists as sequences: ranges, slices, order, distinct and flat lists."""

from __future__ import annotations

import sys
from typing import Any

from fairlead.codec.cel.code import Run, charge
from fairlead.codec.cel.costs import LIST, PER_CHARACTER, Cost
from fairlead.codec.cel.equality import frozen
from fairlead.codec.cel.errors import CostExceeded, EvaluationError
from fairlead.codec.cel.library import EstimateRule, Library, declared
from fairlead.codec.cel.ranges import MAX_COST, Estimate, Sizes, fixed
from fairlead.codec.cel.syntax import Call, Literal, Node
from fairlead.codec.cel.types import (
    BOOL,
    BYTES,
    DOUBLE,
    DURATION,
    DYN,
    INT,
    STRING,
    TIMESTAMP,
    UINT,
    ListType,
    Unknown,
)
from fairlead.codec.cel.values import BUDGET, Duration, Frame, Timestamp, UInt, work

SORT_BY = "@sortByAssociatedKeys"
_T = ListType(Unknown("T"))
_ORDERED = (INT, UINT, DOUBLE, BOOL, DURATION, TIMESTAMP, STRING, BYTES)
_CLASSES = (int, UInt, float, bool, Duration, Timestamp, str, bytes)


def _range(frame: Frame, count: int) -> list[int]:
    if count > frame[BUDGET]:
        raise CostExceeded
    work(frame, max(count, 0))
    return list(range(count))


def _slice(items: list[Any], start: int, end: int) -> list[Any]:
    problem = ""
    if start < 0 or end < 0:
        problem = "negative indexes not supported"
    elif start > end:
        problem = "start index must be less than or equal to end index"
    elif end > len(items):
        problem = f"list is length {len(items)}"
    if problem:
        raise EvaluationError(f"cannot slice({start}, {end}), {problem}")
    return items[start:end]


def _flatten(frame: Frame, items: list[Any], depth: int = 1) -> list[Any]:
    if depth < 0:
        raise EvaluationError("level must be non-negative")
    work(frame, len(items))
    flat: list[Any] = []
    for item in items:
        if type(item) is list and depth > 0:
            flat += _flatten(frame, item, depth - 1)
        else:
            flat.append(item)
    return flat


def _distinct(frame: Frame, items: list[Any]) -> list[Any]:
    unique: dict[Any, Any] = {}
    for item in items:
        unique.setdefault(frozen(item, frame), item)
    return list(unique.values())


def _sort(items: list[Any]) -> list[Any]:
    return _sorted(items, items)


def _sorted(items: list[Any], keys: list[Any]) -> list[Any]:
    """The items in the order of their keys."""
    if not keys:
        return items
    if type(keys[0]) not in _CLASSES:
        raise EvaluationError("list elements must be comparable")
    if any(type(key) is not type(keys[0]) for key in keys):
        raise EvaluationError("list elements must have the same type")
    order = sorted(range(len(keys)), key=keys.__getitem__)
    return [items[index] for index in order]


def sort_by(target: Run, slot: int, keys: Run, price: Cost) -> Run:
    """The code of `sortBy`: `keys` maps the list in the slot to the keys of its items."""

    def sort(frame: Frame) -> list[Any]:
        items = frame[slot] = target(frame)
        values = keys(frame)
        result = _sorted(items, values)
        charge(frame, price(items, values, result) - 1)
        return result

    return sort


# Costs: the list that is made, and for orders the comparison of all items with each other


def _made(*values: Any) -> int:
    return len(values[-1]) + 1 + LIST


def _flattened(items: list[Any], *rest: Any) -> int:
    depth = rest[0] if len(rest) == 2 else 1
    return min(len(items) * depth, sys.maxsize) + 1 + LIST


def _compared(items: list[Any], *_: Any) -> int:
    is_text = bool(items) and type(items[0]) in (str, bytes)
    return int(len(items) ** 2 * (2 + PER_CHARACTER * is_text)) + 1 + LIST


def _compared_keys(_: list[Any], keys: list[Any], __: Any) -> int:
    return _compared(keys)


def _allocated(size: Estimate, factor: float = 1) -> tuple[Estimate, Estimate | None]:
    return size.scaled(factor).plus(fixed(1 + LIST)), size


def _literal(node: Node, default: int) -> int:
    is_int = isinstance(node, Literal) and type(node.value) is int
    return max(node.value, 0) if is_int else default  # type: ignore[attr-defined]


def _range_estimate(call: Call, _: Sizes) -> tuple[Estimate, Estimate | None]:
    return _allocated(fixed(_literal(call.arguments[0], MAX_COST)))


def _slice_estimate(call: Call, sizes: Sizes) -> tuple[Estimate, Estimate | None]:
    start = _literal(call.arguments[1], 0)
    end = _literal(call.arguments[2], sizes[0].maximum)
    return _allocated(fixed((end - start) % (MAX_COST + 1)))


def _flatten_estimate(call: Call, sizes: Sizes) -> tuple[Estimate, Estimate | None]:
    depth = _literal(call.arguments[1], MAX_COST) if len(call.arguments) > 1 else 1
    return _allocated(sizes[0], depth)


def _order_estimate(argument: int) -> EstimateRule:
    """The estimate of an order by the argument with this index; of text if its items may be."""

    def estimate(call: Call, sizes: Sizes) -> tuple[Estimate, Estimate | None]:
        size, type_ = sizes[argument], call.arguments[argument].type
        is_text = isinstance(type_, ListType) and type_.element in (STRING, BYTES, DYN)
        factor = 2 + PER_CHARACTER * (is_text and call.function != "distinct")
        return _allocated(size.times(size), factor)

    return estimate


def _signatures() -> list[tuple[str, tuple[Any, ...], Any]]:
    orders = [("sort", (ListType(type_),), ListType(type_)) for type_ in _ORDERED]
    keyed = [(SORT_BY, (_T, ListType(type_)), _T) for type_ in _ORDERED]
    return [
        ("slice", (_T, INT, INT), _T),
        ("flatten", (ListType(_T),), _T),
        ("flatten", (ListType(DYN), INT), ListType(DYN)),
        ("reverse", (_T,), _T),
        ("distinct", (_T,), _T),
        *orders,
        *keyed,
    ]


LIBRARY = Library(
    declared([("lists.range", (INT,), ListType(INT))], _signatures()),
    {
        "slice": {(list, int, int): _slice},
        "reverse": {(list,): lambda items: items[::-1]},
        "sort": {(list,): _sort},
    },
    {
        **dict.fromkeys(("lists.range", "slice", "reverse"), _made),
        "flatten": _flattened,
        **dict.fromkeys(("sort", "distinct"), _compared),
        SORT_BY: _compared_keys,
    },
    {
        "lists.range": _range_estimate,
        "slice": _slice_estimate,
        "flatten": _flatten_estimate,
        "reverse": lambda call, sizes: _allocated(sizes[0]),
        **dict.fromkeys(("sort", "distinct"), _order_estimate(0)),
        SORT_BY: _order_estimate(1),
    },
    comparing={
        "lists.range": {(int,): _range},
        "flatten": {(list,): _flatten, (list, int): _flatten},
        "distinct": {(list,): _distinct},
    },
)
