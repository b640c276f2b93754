"""Compiles the JSONPaths of printer columns: `.status.conditions[?(@.type=="Ready")].status`.

The grammar is that of the reference's client tools: names (with `\\` before a dot inside a name),
`['name']`, numbers, ranges, `*`, `..` and filters. A path is compiled once into steps, each of
which maps a list of values to a list of values.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

Values = list[Any]
Step = Callable[[Values], Values]

_LONGEST = 4096
# Bounds: a column shows one value, and a row of a Table may have dozens of columns.
_MAX_VALUES = 5_000
_MAX_FILTERED = 500
_MAX_DESCENDANTS = 1_000
_NAME = re.compile(r"(?:\\.|[^\s.\[\]{}'\"(),\\])+")
_QUOTED = re.compile(r"'((?:\\.|[^'\\])*)'|\"((?:\\.|[^\"\\])*)\"")
_RANGE = re.compile(r"(-?\d{1,9})?(?::(-?\d{1,9})?)?(?::(-?\d{1,9})?)?")
_FILTER = re.compile(r"\?\((.*)\)", re.DOTALL)
_OPERATOR = re.compile(r"==|!=|<=|>=|<|>")
_ESCAPED = re.compile(r"\\(.)")


class PathError(ValueError):
    """The text is not a valid path."""


def compile_path(text: str) -> Callable[[Any], Values]:
    """A function that returns the values at a path, an empty list if there are none."""
    if len(text) > _LONGEST:
        raise PathError("the path is too long")
    steps = list(_steps(text))

    def find(value: Any) -> Values:
        values = [value]
        for step in steps:
            values = step(values)
        return values

    return find


def _steps(text: str) -> Iterator[Step]:
    at = 0
    while at < len(text):
        if text.startswith("..", at):
            yield _below
            at += 1 if text.startswith("..[", at) else 2
            if at < len(text) and text[at] not in ".[":
                step, at = _member(text, at)
                yield step
            elif text.startswith(".[", at):
                at += 1
        elif text[at] == ".":
            if at + 1 == len(text) or text[at + 1] == "[":
                at += 1  # the current value
                continue
            step, at = _member(text, at + 1)
            yield step
        elif text[at] == "[":
            end = _closing(text, at)
            yield _bracket(text[at + 1 : end].strip())
            at = end + 1
        else:
            raise PathError(f"unexpected {text[at:]!r}")


def _member(text: str, at: int) -> tuple[Step, int]:
    if text.startswith("*", at):
        return _all, at + 1
    found = _NAME.match(text, at)
    if found is None:
        raise PathError(f"no name at {text[at:]!r}")
    return _named(_ESCAPED.sub(r"\1", found[0])), found.end()


def _closing(text: str, at: int) -> int:
    """The index of the bracket that closes the bracket at `at`; brackets in quotes do not count."""
    depth, i = 0, at
    while i < len(text):
        quoted = _QUOTED.match(text, i)
        if quoted is not None:
            i = quoted.end()
            continue
        depth += {"[": 1, "]": -1}.get(text[i], 0)
        if not depth:
            return i
        i += 1
    raise PathError("a bracket is not closed")


def _bracket(inside: str) -> Step:
    if inside == "*":
        return _all
    inside = inside or "0"  # empty brackets mean the first item
    chosen = _FILTER.fullmatch(inside)
    if chosen is not None:
        return _filter(chosen[1].strip())
    parts = _split(inside)
    if len(parts) > 1:
        choices = [_bracket(part.strip()) for part in parts]
        return lambda values: [found for choice in choices for found in choice(values)]
    quoted = _QUOTED.fullmatch(inside)
    if quoted is not None:
        return _named(_unquoted(quoted))
    numbers = _RANGE.fullmatch(inside)
    if numbers is not None:
        return _range(inside, *numbers.groups())
    if _NAME.fullmatch(inside):
        return _named(_ESCAPED.sub(r"\1", inside))
    raise PathError(f"[{inside}] is not understood")


def _split(inside: str) -> list[str]:
    """Split at the commas that are not in quotes."""
    parts, start, i = [], 0, 0
    while i < len(inside):
        quoted = _QUOTED.match(inside, i)
        if quoted is not None:
            i = quoted.end()
            continue
        if inside[i] == ",":
            parts.append(inside[start:i])
            start = i + 1
        i += 1
    return [*parts, inside[start:]]


def _unquoted(quoted: re.Match[str]) -> str:
    return _ESCAPED.sub(r"\1", quoted[1] if quoted[1] is not None else quoted[2])


def _named(name: str) -> Step:
    def step(values: Values) -> Values:
        return [value[name] for value in values if isinstance(value, dict) and name in value]

    return step


def _all(values: Values) -> Values:
    found: Values = []
    for value in values:
        if isinstance(value, dict):
            found += value.values()
        elif isinstance(value, list):
            found += value
    return found[:_MAX_VALUES]


def _below(values: Values) -> Values:
    """The values and all their descendants."""
    found: Values = []
    todo = values[::-1]
    while todo and len(found) < _MAX_DESCENDANTS:
        value = todo.pop()
        found.append(value)
        if isinstance(value, dict):
            todo += reversed(value.values())
        elif isinstance(value, list):
            todo += reversed(value)
    return found


def _range(text: str, start: str | None, end: str | None, step: str | None) -> Step:
    first = int(start) if start else None
    if ":" not in text:
        assert first is not None
        index: int = first

        def one(values: Values) -> Values:
            lists = [value for value in values if isinstance(value, list)]
            return [value[index] for value in lists if -len(value) <= index < len(value)]

        return one
    width = int(step) if step else 1
    if width <= 0:
        raise PathError("the step of a range must be positive")
    cut = slice(first, int(end) if end else None, width)
    return lambda values: [one for value in values if isinstance(value, list) for one in value[cut]]


def _filter(text: str) -> Step:
    """Keeps the items for which a comparison holds, or that have a value at a path."""
    at = _operator(text)
    if at is None:
        there = _operand(text)
        return lambda values: [one for one in _items(values) if there(one)]
    left, right = _operand(text[: at.start()].strip()), _operand(text[at.end() :].strip())
    holds = _COMPARISONS[at[0]]

    def step(values: Values) -> Values:
        return [one for one in _items(values) if _compare(holds, left(one), right(one))]

    return step


def _operator(text: str) -> re.Match[str] | None:
    i = 0
    while i < len(text):
        quoted = _QUOTED.match(text, i)
        if quoted is not None:
            i = quoted.end()
            continue
        found = _OPERATOR.match(text, i)
        if found is not None:
            return found
        i += 1
    return None


def _items(values: Values) -> Values:
    found = (item for value in values if isinstance(value, list) for item in value)
    return list(islice(found, _MAX_FILTERED))


def _operand(text: str) -> Callable[[Any], Values]:
    if text.startswith("@"):
        return compile_path(text[1:])
    quoted = _QUOTED.fullmatch(text)
    if quoted is not None:
        constant: Any = _unquoted(quoted)
    elif text in ("true", "false"):
        constant = text == "true"
    else:
        try:
            constant = float(text) if any(c in text for c in ".eE") else int(text)
        except ValueError:
            raise PathError(f"{text!r} cannot be compared") from None
    return lambda _: [constant]


_COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
}


def _compare(holds: Callable[[Any, Any], bool], left: Values, right: Values) -> bool:
    """Compare two numbers, two strings or two booleans; other pairs are not comparable: False."""
    if not left or not right:
        return False
    a, b = left[0], right[0]
    numbers = _is_number(a) and _is_number(b)
    alike = type(a) is type(b) and isinstance(a, (str, bool))
    return (numbers or alike) and holds(a, b)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
