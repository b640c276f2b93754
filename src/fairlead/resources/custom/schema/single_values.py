"""Checks of strings and numbers, and `enum`."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from math import inf
from typing import Any

import orjson

from fairlead.base.patterns import matcher
from fairlead.codec.types.json_numbers import plain
from fairlead.codec.types.mismatch import number_text, quoted, shown
from fairlead.codec.types.string_formats import check_of
from fairlead.resources.causes import show_json
from fairlead.resources.custom.schema.markers import Schema
from fairlead.resources.custom.schema.problems import (
    INVALID,
    TOO_LONG,
    TYPE,
    UNSUPPORTED,
    Check,
    Problem,
)

_FLOAT_32 = 3.4028235677973366e38  # the greatest number of 32 bits, and what is rounded to it


def string_checks(schema: Schema, is_later: bool) -> list[Check]:
    checks: list[Check] = []
    minimum, maximum = schema.get("minLength") or 0, schema.get("maxLength")
    pattern, form = schema.get("pattern"), schema.get("format")
    if minimum or maximum is not None or pattern:
        checks.append(_text(minimum, maximum, pattern or "", is_later))
    is_of = check_of(form, is_later) if isinstance(form, str) and form else None
    if is_of is not None:
        checks.append(lambda value: None if is_of(value) else _not_of_format(value, form or ""))
    return checks


def _not_of_format(value: str, form: str) -> list[Problem]:
    shown = quoted(value)
    text = f"in body must be of type {form}: {shown}"
    return [Problem(TYPE, lambda path: f"Invalid value: {shown}: {path} {text}")]


def _text(minimum: int, maximum: int | None, pattern: str, is_later: bool) -> Check:
    matches = matcher(pattern) if pattern else None
    limit = f"longer than {maximum}"
    if is_later:
        limit = f"more than {maximum} {'byte' if maximum == 1 else 'bytes'}"

    def check(value: str) -> list[Problem] | None:
        length = len(value)
        if maximum is not None and length > maximum:
            return [Problem(TOO_LONG, lambda _: f"Too long: may not be {limit}")]
        if length < minimum:
            return [bad(value, f"should be at least {minimum} chars long")]
        if matches is not None and not matches(value):
            return [bad(value, f"should match '{pattern}'")]
        return None

    return check


def bad(value: Any, detail: str) -> Problem:
    return Problem(INVALID, lambda path: f"Invalid value: {shown(value)}: {path} in body {detail}")


def number_checks(schema: Schema, is_later: bool) -> list[Check]:
    factor, minimum, maximum = (schema.get(name) for name in ("multipleOf", "minimum", "maximum"))
    checks: list[Check] = [] if factor is None else [_multiple(factor)]
    if minimum is not None or maximum is not None:
        checks.append(_range(schema))
    if is_later and has_number_range(schema):
        checks.insert(0, _in_type(schema["type"], schema.get("format") or ""))
    return checks


def has_number_range(schema: Schema) -> bool:
    """Whether not all numbers are values of the type and format of a schema."""
    ranges = _NUMBER_RANGES.get(schema.get("type") or "", {})
    return "" in ranges or schema.get("format") in ranges


# The values of number types, by format; others are those of the empty format.
_NUMBER_RANGES: dict[str, dict[str, tuple[float, float]]] = {
    "integer": {
        "": (-(2**63), 2**63 - 1),
        "int32": (-(2**31), 2**31 - 1),
        "int64": (-(2**63), 2**63 - 1),
    },
    "number": {"float": (-_FLOAT_32, _FLOAT_32)},
}


@cache
def _in_type(kind: str, form: str) -> Check:
    """The check that a number is one of its type and format."""
    ranges = _NUMBER_RANGES[kind]
    minimum, maximum = ranges[form] if form in ranges else ranges[""]
    with_format = f"with format {form}" if form in ranges and form else "(default format)"

    def text(path: str) -> str:
        detail = f"Checked value must be of type {kind} {with_format} in {path}"
        return f'Invalid value: "": {detail}'

    def check(value: float) -> list[Problem] | None:
        is_whole = kind == "number" or value == int(value)
        if is_whole and minimum <= value <= maximum:
            return None
        return [Problem(INVALID, text, placed=False)]

    return check


def _range(schema: Schema) -> Check:
    given_minimum, given_maximum = schema.get("minimum"), schema.get("maximum")
    minimum: float = -inf if given_minimum is None else given_minimum
    maximum: float = inf if given_maximum is None else given_maximum
    above, below = bool(schema.get("exclusiveMinimum")), bool(schema.get("exclusiveMaximum"))
    more = "greater than" if above else "greater than or equal to"
    less = "less than" if below else "less than or equal to"

    def check(value: float) -> list[Problem] | None:
        if minimum < value < maximum:
            return None
        problems: list[Problem] = []
        if value < minimum or (above and value == minimum):
            problems.append(bad(value, f"should be {more} {_format_bound(value, minimum)}"))
        if value > maximum or (below and value == maximum):
            problems.append(bad(value, f"should be {less} {_format_bound(value, maximum)}"))
        return problems

    return check


def _format_bound(value: float, bound: float) -> str:
    """A bound for a message about a value: a whole bound has the number format of the value."""
    if not float(bound).is_integer():
        return number_text(bound)
    is_integer = isinstance(value, int) and -(2**63) <= value < 2**63
    return number_text(int(bound) if is_integer else float(bound))


def _multiple(factor: float) -> Check:
    def check(value: float) -> list[Problem] | None:
        if factor > 0 and _is_multiple(value, factor):
            return None
        return [bad(value, f"should be a multiple of {_format_bound(value, factor)}")]

    return check


def _is_multiple(value: float, factor: float) -> bool:
    """Exact for integers; for doubles within a relative error of 1e-9."""
    if isinstance(value, int) and float(factor).is_integer():
        return value % int(factor) == 0
    try:
        times = value / factor
        return abs(times - round(times)) <= 1e-9 * max(1.0, abs(times))
    except (OverflowError, ValueError):
        return False


def enum_check(allowed: list[Any], is_text: bool, is_later: bool) -> Check:
    """The check that a value is among the allowed values; `is_text` for strings."""
    same: Callable[[Any], Any] = _itself if is_text else identity
    choices = frozenset(same(choice) for choice in allowed if isinstance(choice, str) is is_text)
    listed = ", ".join(
        quoted(choice if isinstance(choice, str) else orjson.dumps(choice).decode())
        for choice in allowed
    )

    def refused(value: Any) -> list[Problem]:
        given = show_json(value) if is_later else shown(value)
        text = f"Unsupported value: {given}: supported values: {listed}"
        return [Problem(UNSUPPORTED, lambda _: text)]

    if is_text:
        return lambda value: None if value in choices else refused(value)
    return lambda value: None if choices and identity(value) in choices else refused(value)


def _itself(value: Any) -> Any:
    return value


def identity(value: Any) -> bytes:
    """The same bytes for values that are equal as JSON, whatever the notation of their numbers."""
    return orjson.dumps(plain(value), option=orjson.OPT_SORT_KEYS)
