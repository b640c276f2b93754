"""The steps of a JSONPath expression. Each maps a list of values to a list of values."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from fairlead.base.records import dataclass
from fairlead.cli.output.values import plain

Values = list[Any]


class JsonPathError(Exception):
    """Invalid expression, or it does not fit the value; the text says why."""


@dataclass(frozen=True, slots=True)
class Text:
    text: str

    def walk(self, values: Values, strict: bool) -> Values:
        return [self.text]


@dataclass(frozen=True, slots=True)
class Constant:
    """A number or boolean."""

    value: Any

    def walk(self, values: Values, strict: bool) -> Values:
        return [self.value] * len(values)


@dataclass(frozen=True, slots=True)
class Word:
    """`range` and `end` delimit a loop; `range` passes its values on unchanged."""

    name: str

    def walk(self, values: Values, strict: bool) -> Values:
        if self.name != "range":
            raise JsonPathError(f"unrecognized identifier {self.name}")
        return values


@dataclass(frozen=True, slots=True)
class Field:
    name: str

    def walk(self, values: Values, strict: bool) -> Values:
        found = [
            value[self.name] for value in values if isinstance(value, dict) and self.name in value
        ]
        if strict and not found:
            raise JsonPathError(f"{self.name} is not found")
        return found


@dataclass(frozen=True, slots=True)
class Wildcard:
    def walk(self, values: Values, strict: bool) -> Values:
        return [child for value in values for child in _children(value)]


@dataclass(frozen=True, slots=True)
class Descent:
    """`..`: all non-empty objects and lists at any depth."""

    def walk(self, values: Values, strict: bool) -> Values:
        found: Values = []
        waiting = values[::-1]
        while waiting:
            value = waiting.pop()
            children = _children(value)
            if children:
                found.append(value)
                waiting += reversed(children)
        return found


@dataclass(frozen=True, slots=True)
class Slice:
    """`[first:end:step]`; a single index is a slice with `is_index`, which computes its end."""

    first: int | None
    end: int | None
    step: int | None
    is_index: bool

    def walk(self, values: Values, strict: bool) -> Values:
        return [one for value in values if value is not None for one in self._of(value)]

    def _of(self, value: Any) -> Values:
        if not isinstance(value, list):
            raise JsonPathError(f"{_type(value)} is not a list")
        size = len(value)
        first = self.first or 0
        end = first + 1 if self.is_index else size if self.end is None else self.end
        first += size if first < 0 else 0
        if end < 0 or (end == 0 and self.is_index):
            end += size
        if first == end:
            return []
        if not 0 <= first < size:
            raise JsonPathError(f"there is no item {first}: the list has {size}")
        if not 0 <= end <= size:
            raise JsonPathError(f"there is no item {end - 1}: the list has {size}")
        if first > end:
            raise JsonPathError(f"the slice ends before it begins: {first}:{end}")
        if self.step is not None and self.step <= 0:
            raise JsonPathError("step must be > 0")
        return value[first : end : self.step or 1]


@dataclass(frozen=True, slots=True)
class Union:
    parts: Sequence[Steps]

    def walk(self, values: Values, strict: bool) -> Values:
        return [found for part in self.parts for found in follow(part, values, strict)]


@dataclass(frozen=True, slots=True)
class Filter:
    """`[?(left operator right)]`, or `[?(left)]` with an empty operator."""

    left: Steps
    operator: str
    right: Steps

    def walk(self, values: Values, strict: bool) -> Values:
        return [one for value in values for one in self._of(value, strict)]

    def _of(self, value: Any, strict: bool) -> Iterator[Any]:
        if not isinstance(value, list):
            raise JsonPathError(f"a filter needs a list, not: {plain(value)}")
        for one in value:
            if self._matches(one, strict):
                yield one

    def _matches(self, one: Any, strict: bool) -> bool:
        if not self.operator:
            return bool(follow(self.left, [one], False))
        sides = []
        for steps in (self.left, self.right):
            found = follow(steps, [one], strict)
            if not found:
                return False
            if len(found) > 1:
                raise JsonPathError("only single values can be compared")
            sides += found
        return _compare(self.operator, *sides)


Step = Text | Constant | Word | Field | Wildcard | Descent | Slice | Union | Filter
Steps = tuple[Step, ...]


def follow(steps: Steps, values: Values, strict: bool) -> Values:
    """Apply all steps to the values; raises JsonPathError, with `strict` also for a missing
    field."""
    for step in steps:
        values = step.walk(values, strict)
    return values


def _children(value: Any) -> Values:
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else []


_COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_TYPES = {
    bool: "bool",
    int: "int64",
    float: "float64",
    str: "string",
    dict: "map[string]interface {}",
    list: "[]interface {}",
    type(None): "<nil>",
}


def _type(value: Any) -> str:
    return _TYPES[type(value)]


def _compare(sign: str, left: Any, right: Any) -> bool:
    if sign not in _COMPARISONS:
        raise JsonPathError(f"unrecognized filter operator {sign}")
    for side in (left, right):
        if side is None or isinstance(side, dict | list):
            raise JsonPathError("invalid type for comparison")
    if type(left) is not type(right):
        raise JsonPathError("incompatible types for comparison")
    if isinstance(left, bool) and sign not in ("==", "!="):
        raise JsonPathError("invalid type for comparison")
    return _COMPARISONS[sign](left, right)
