"""Durations such as `1h30m`, as flags, query parameters and schedules write them."""

from __future__ import annotations

import re

import orjson

_UNITS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ms": 1e-3, "s": 1, "m": 60, "h": 3600}
_PART = re.compile(r"([0-9]*\.?[0-9]*)([^0-9.]*)")
_LONGEST = 2**63 / 1e9


class DurationError(ValueError):
    """Text that is not a duration; says what is wrong with it."""


def parse_duration(text: str) -> float:
    """The seconds of a duration; raises DurationError."""
    shown = orjson.dumps(text).decode()
    rest = text[1:] if text[:1] in ("+", "-") else text
    if rest == "0":
        return 0
    if not rest:
        raise DurationError(f"time: invalid duration {shown}")
    seconds, position = 0.0, 0
    while position < len(rest):
        match = _PART.match(rest, position)
        number, unit = match.groups() if match else ("", "")
        if number in ("", "."):
            raise DurationError(f"time: invalid duration {shown}")
        if not unit:
            raise DurationError(f"time: missing unit in duration {shown}")
        if unit not in _UNITS:
            unit = orjson.dumps(unit).decode()
            raise DurationError(f"time: unknown unit {unit} in duration {shown}")
        seconds += float(number) * _UNITS[unit]
        position += len(number) + len(unit)
    if seconds > _LONGEST:
        raise DurationError(f"time: invalid duration {shown}")
    return -seconds if text[0] == "-" else seconds
