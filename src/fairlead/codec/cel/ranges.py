"""Ranges of sizes and costs, from a minimum to a maximum, and the estimated costs of calls."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

from fairlead.codec.cel.costs import PER_CHARACTER, PER_PATTERN_CHARACTER
from fairlead.codec.cel.syntax import Call, Literal
from fairlead.codec.cel.types import BYTES, STRING, ListType, Overload

MAX_COST = 2**64 - 1


class Estimate(NamedTuple):
    """A range of costs or sizes; the bounds saturate at 64 bits."""

    minimum: int
    maximum: int

    def plus(self, other: Estimate) -> Estimate:
        return Estimate(
            min(self.minimum + other.minimum, MAX_COST), min(self.maximum + other.maximum, MAX_COST)
        )

    def times(self, other: Estimate) -> Estimate:
        return Estimate(
            min(self.minimum * other.minimum, MAX_COST), min(self.maximum * other.maximum, MAX_COST)
        )

    def scaled(self, factor: float) -> Estimate:
        return Estimate(_scaled(self.minimum, factor), _scaled(self.maximum, factor))

    def union(self, other: Estimate) -> Estimate:
        return Estimate(min(self.minimum, other.minimum), max(self.maximum, other.maximum))


def fixed(value: int) -> Estimate:
    return Estimate(value, value)


def _scaled(value: int, factor: float) -> int:
    scaled = math.ceil(float(value) * factor)
    return min(scaled, MAX_COST)


NOTHING = Estimate(0, 0)
UNKNOWN = Estimate(0, MAX_COST)
Sizes = Sequence[Estimate]
_TEXT = (STRING, BYTES)


def sum_of(parts: Sequence[Estimate]) -> Estimate:
    total = NOTHING
    for part in parts:
        total = total.plus(part)
    return total


def call_cost(
    call: Call, sizes: Sizes, elements: Estimate | None
) -> tuple[Estimate, Estimate | None]:
    """The cost of a call without its arguments, and the size of its result if it is known.
    `elements` is the size of the elements if the first argument is a list."""
    function = call.function.removeprefix(".")
    if function in _OF_LISTS:
        return _traversal(call, sizes[0], elements), None
    if function == "join":
        return _join(sizes, elements), None
    rule = _RULES.get(function)
    if rule is not None:
        return rule(sizes), None
    cost, result = Estimate(MAX_COST, 0), None
    for overload in call.overloads:  # several if types are unknown
        own, size = _overload_cost(function, overload, sizes)
        cost = cost.union(own)
        if size is not None:
            result = size if result is None else result.union(size)
    return cost, result


def _overload_cost(
    function: str, overload: Overload, sizes: Sizes
) -> tuple[Estimate, Estimate | None]:
    if not overload.types:
        return fixed(1), None
    first, last = overload.types[0], overload.types[-1]
    if function in _EQUALITIES or (function in _ORDERS and first in _TEXT):
        return _compared(sizes), None
    if function == "_+_":
        joined = sizes[0].plus(sizes[1])
        if isinstance(first, ListType):
            return fixed(1), joined
        return (joined.scaled(PER_CHARACTER), joined) if first in _TEXT else (fixed(1), None)
    if function in ("bytes", "string") and overload.result in _TEXT and first in _TEXT:
        return (sizes[0].scaled(PER_CHARACTER) if first != overload.result else fixed(1)), None
    if function == "@in" and isinstance(last, ListType):
        return sizes[1].scaled(1), None
    if function == "matches" and overload.method:
        return _pattern(sizes), None
    return fixed(1), None


def _compared(sizes: Sizes) -> Estimate:
    maximum = min(sizes[0].maximum, sizes[1].maximum)
    return Estimate(min(1, maximum), maximum).scaled(PER_CHARACTER)


def _traversal(call: Call, size: Estimate, elements: Estimate | None) -> Estimate:
    if elements is None:  # a string
        return size.scaled(PER_CHARACTER)
    element_cost = fixed(1)
    type_ = call.arguments[0].type
    if isinstance(type_, ListType) and type_.element in _TEXT:
        element_cost = element_cost.plus(elements.scaled(PER_CHARACTER))
    return size.times(element_cost)


def _join(sizes: Sizes, elements: Estimate | None) -> Estimate:
    return _joined(sizes, elements).scaled(PER_CHARACTER)


def _joined(sizes: Sizes, elements: Estimate | None) -> Estimate:
    count = sizes[0]
    size = count.times(elements or NOTHING)
    if len(sizes) > 1:
        between = Estimate(max(count.minimum - 1, 0), max(count.maximum - 1, 0))
        size = size.plus(sizes[1].times(between))
    return size


def _pattern(sizes: Sizes) -> Estimate:
    text = sizes[0].plus(fixed(1)).scaled(PER_CHARACTER)
    return text.times(sizes[1].scaled(PER_PATTERN_CHARACTER))


def _contains(sizes: Sizes) -> Estimate:
    return sizes[0].scaled(PER_CHARACTER).times(sizes[1].scaled(PER_CHARACTER))


def _once(sizes: Sizes) -> Estimate:
    return sizes[0].scaled(PER_CHARACTER)


def _twice(sizes: Sizes) -> Estimate:
    return sizes[0].scaled(2 * PER_CHARACTER)


def _prefix(sizes: Sizes) -> Estimate:
    return sizes[1].scaled(PER_CHARACTER)


_EQUALITIES = ("_==_", "_!=_")
_ORDERS = ("_<_", "_<=_", "_>_", "_>=_")
_OF_LISTS = ("isSorted", "sum", "max", "min", "indexOf", "lastIndexOf")
_RULES: dict[str, Callable[[Sizes], Estimate]] = {
    "find": _pattern,
    "findAll": _pattern,
    "contains": _contains,
    "startsWith": _prefix,
    "endsWith": _prefix,
    **dict.fromkeys(("url", "lowerAscii", "upperAscii", "substring", "trim"), _once),
    **dict.fromkeys(("split", "replace"), _twice),
}


# The sizes of results, which only the later estimate knows


def result_size(
    function: str, call: Call, sizes: Sizes, elements: Estimate | None
) -> Estimate | None:
    """The size of the result of a call; None if it is not known."""
    if function in _SAME_SIZE:
        return sizes[0]
    match function:
        case "replace":
            return _replaced(*sizes[:3])
        case "split":
            return Estimate(0, _split_count(call, sizes[0].maximum))
        case "join":
            return _joined(sizes, elements)
        case "find" | "findAll":
            return Estimate(0, sizes[0].maximum)
        case "bytes" if call.arguments[0].type == STRING:
            return Estimate(sizes[0].minimum, min(sizes[0].maximum * 4, MAX_COST))
        case "string" if call.arguments[0].type == BYTES:
            return Estimate(sizes[0].minimum // 4, sizes[0].maximum)
    return None


_SAME_SIZE = ("url", "lowerAscii", "upperAscii", "substring", "trim")


def _split_count(call: Call, most: int) -> int:
    limit = call.arguments[2] if len(call.arguments) > 2 else None
    if isinstance(limit, Literal) and type(limit.value) is int:
        return limit.value % (MAX_COST + 1)
    return most


def _replaced(text: Estimate, old: Estimate, new: Estimate) -> Estimate:
    """From the fewest and shortest replacements to the most and longest."""
    most_count, most_kept = -(-text.maximum // max(old.minimum, 1)), 0
    if old.minimum == 0:
        most_count, most_kept = min(text.maximum + 1, MAX_COST), text.maximum
    elif new.maximum <= old.minimum:
        most_count, most_kept = 0, text.maximum
    least_count, least_kept = -(-text.minimum // max(old.maximum, 1)), 0
    if old.maximum == 0:
        least_count, least_kept = min(text.minimum + 1, MAX_COST), text.minimum
    elif old.maximum <= new.minimum:
        least_count, least_kept = 0, text.minimum
    kept = Estimate(least_kept, most_kept)
    return Estimate(least_count, most_count).times(new).plus(kept)
