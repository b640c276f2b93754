"""Sizes and costs between a least and a most, and what calls cost in them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

from fairlead.cel.costs import PER_CHARACTER, PER_PATTERN_CHARACTER
from fairlead.cel.types import BYTES, DYN, STRING, ListType, MapType, Type

MOST = 2**64 - 1


class Estimate(NamedTuple):
    """A range of costs or sizes; no bound goes over 64 bits."""

    least: int
    most: int

    def plus(self, other: Estimate) -> Estimate:
        return Estimate(min(self.least + other.least, MOST), min(self.most + other.most, MOST))

    def times(self, other: Estimate) -> Estimate:
        return Estimate(min(self.least * other.least, MOST), min(self.most * other.most, MOST))

    def scaled(self, factor: float) -> Estimate:
        return Estimate(_scaled(self.least, factor), _scaled(self.most, factor))

    def union(self, other: Estimate) -> Estimate:
        return Estimate(min(self.least, other.least), max(self.most, other.most))


def fixed(value: int) -> Estimate:
    return Estimate(value, value)


def _scaled(value: int, factor: float) -> int:
    found = math.ceil(float(value) * factor)
    return min(found, MOST)


NOTHING = Estimate(0, 0)
UNKNOWN = Estimate(0, MOST)
Sizes = Sequence[Estimate]
Found = tuple[Estimate, Estimate | None]  # the cost, and the size of the result if known
_ONE: Found = (fixed(1), None)
_TEXT = (STRING, BYTES, DYN)


def call_cost(
    function: str, types: Sequence[Type], sizes: Sizes, elements: Estimate | None
) -> Found:
    """What a call costs beside its arguments; `elements` are those of a list it is called on."""
    if function in _COMPARED:
        return _compared(function, types, sizes), None
    if function in _OF_LISTS:
        return _traversal(sizes[0], types[0], elements), None
    if function == "join":
        return _join(sizes, elements)
    rule = _RULES.get(function)
    return rule(types, sizes) if rule else _ONE


def _compared(function: str, types: Sequence[Type], sizes: Sizes) -> Estimate:
    if function not in ("_==_", "_!=_") and types[0] not in _TEXT:
        return fixed(1)
    most = min(sizes[0].most, sizes[1].most)
    return Estimate(min(1, most), most).scaled(PER_CHARACTER)


def _traversal(size: Estimate, type_: Type, elements: Estimate | None) -> Estimate:
    if elements is None:
        return size.scaled(PER_CHARACTER)
    each = fixed(1)
    if isinstance(type_, ListType) and type_.element in (STRING, BYTES):
        each = each.plus(elements.scaled(PER_CHARACTER))
    return size.times(each)


def _join(sizes: Sizes, elements: Estimate | None) -> Found:
    count = sizes[0]
    made = count.times(elements or NOTHING)
    if len(sizes) > 1:
        between = Estimate(max(count.least - 1, 0), max(count.most - 1, 0))
        made = made.plus(sizes[1].times(between))
    return made.scaled(PER_CHARACTER), made


def _added(types: Sequence[Type], sizes: Sizes) -> Found:
    made = sizes[0].plus(sizes[1])
    if isinstance(types[0], ListType) or isinstance(types[1], ListType):
        return fixed(1), made
    if types[0] in (STRING, BYTES) or types[1] in (STRING, BYTES):
        return made.scaled(PER_CHARACTER), made
    if types[0] == DYN and types[1] == DYN:
        return made.scaled(PER_CHARACTER).union(fixed(1)), made
    return _ONE


def _pattern(types: Sequence[Type], sizes: Sizes) -> Found:
    text = sizes[0].plus(fixed(1)).scaled(PER_CHARACTER)
    cost = text.times(sizes[1].scaled(PER_PATTERN_CHARACTER))
    return cost, Estimate(0, sizes[0].most)


def _matches(types: Sequence[Type], sizes: Sizes) -> Found:
    return _pattern(types, sizes)[0], None


def _contains(types: Sequence[Type], sizes: Sizes) -> Found:
    return sizes[0].scaled(PER_CHARACTER).times(sizes[1].scaled(PER_CHARACTER)), None


def _prefix(types: Sequence[Type], sizes: Sizes) -> Found:
    return sizes[1].scaled(PER_CHARACTER), None


def _in(types: Sequence[Type], sizes: Sizes) -> Found:
    if isinstance(types[1], ListType):
        return sizes[1], None
    return _ONE if isinstance(types[1], MapType) else (sizes[1].union(fixed(1)), None)


def _text_to_bytes(types: Sequence[Type], sizes: Sizes) -> Found:
    if types[0] not in (STRING, DYN):
        return _ONE
    size = sizes[0]
    return size.scaled(PER_CHARACTER), Estimate(size.least, min(size.most * 4, MOST))


def _bytes_to_text(types: Sequence[Type], sizes: Sizes) -> Found:
    if types[0] not in (BYTES, DYN):
        return _ONE
    return sizes[0].scaled(PER_CHARACTER), Estimate(sizes[0].least // 4, sizes[0].most)


def _url(types: Sequence[Type], sizes: Sizes) -> Found:
    return sizes[0].scaled(PER_CHARACTER), None


def _same_size(types: Sequence[Type], sizes: Sizes) -> Found:
    return sizes[0].scaled(PER_CHARACTER), sizes[0]


def _split(types: Sequence[Type], sizes: Sizes) -> Found:
    return sizes[0].scaled(2 * PER_CHARACTER), Estimate(0, sizes[0].most)


def _replace(types: Sequence[Type], sizes: Sizes) -> Found:
    """The result is longest when the shortest is replaced by the longest, and shortest when the
    longest is replaced by the shortest."""
    text, old, new = sizes[:3]
    most = _replaced(text.most, old.least, new.most, longer=new.most > old.least)
    least = _replaced(text.least, old.most, new.least, longer=new.least < old.most)
    return text.scaled(2 * PER_CHARACTER), Estimate(min(least, MOST), min(most, MOST))


def _replaced(text: int, old: int, new: int, longer: bool) -> int:
    if old == 0:  # stands between all characters
        return (text + 1) * new + text
    return -(-text // old) * new if longer else text


_COMPARED = ("_==_", "_!=_", "_<_", "_<=_", "_>_", "_>=_")
_OF_LISTS = ("isSorted", "sum", "max", "min", "indexOf", "lastIndexOf")
_RULES: dict[str, Callable[[Sequence[Type], Sizes], Found]] = {
    "_+_": _added,
    "@in": _in,
    "matches": _matches,
    "find": _pattern,
    "findAll": _pattern,
    "contains": _contains,
    "startsWith": _prefix,
    "endsWith": _prefix,
    "bytes": _text_to_bytes,
    "string": _bytes_to_text,
    "url": _url,
    **dict.fromkeys(("lowerAscii", "upperAscii", "substring", "trim"), _same_size),
    "split": _split,
    "replace": _replace,
}
