"""Durations such as `1h30m`, as flags, query parameters and schedules write them."""

from __future__ import annotations

import re
from typing import Final

import orjson

_UNITS: Final = {
    "ns": 1e-9,
    "us": 1e-6,
    "µs": 1e-6,
    "μs": 1e-6,
    "ms": 1e-3,
    "s": 1,
    "m": 60,
    "h": 3600,
}
_PART: Final = re.compile(r"([0-9]*\.?[0-9]*)([^0-9.]*)")
_MAX_SECONDS: Final = 2**63 / 1e9


class DurationError(ValueError):
    """Text that is not a duration; the message says why."""


def parse_duration(text: str) -> float:
    """A duration in seconds; raises DurationError."""
    rest = text[1:] if text[:1] in ("+", "-") else text
    if rest == "0":
        return 0
    if not rest:
        raise DurationError(f"time: invalid duration {_shown(text)}")
    seconds, position = 0.0, 0
    while position < len(rest):
        match = _PART.match(rest, position)
        number, unit = match.groups() if match else ("", "")
        if number in ("", "."):
            raise DurationError(f"time: invalid duration {_shown(text)}")
        if not unit:
            raise DurationError(f"time: missing unit in duration {_shown(text)}")
        if unit not in _UNITS:
            raise DurationError(f"time: unknown unit {_shown(unit)} in duration {_shown(text)}")
        seconds += float(number) * _UNITS[unit]
        position += len(number) + len(unit)
    if seconds > _MAX_SECONDS:
        raise DurationError(f"time: invalid duration {_shown(text)}")
    return -seconds if text[0] == "-" else seconds


def _shown(text: str) -> str:
    return orjson.dumps(text).decode()
