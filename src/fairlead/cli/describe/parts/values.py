"""Formats values, timestamps and ages as the reference prints them."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from fairlead.codec.types.times import moment, since

NONE = "<none>"
UNSET = "<unset>"
NIL = "<nil>"
_MAX_DEPTH = 50
_MIN_INT64, _MAX_INT64 = -(2**63), 2**63 - 1  # range of 64-bit integers
_PLAIN_EXPONENTS = range(-4, 6)  # exponents of numbers written without exponent
_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_NO_MOMENT = datetime(1, 1, 1, tzinfo=UTC)


def shown(value: Any, depth: int = 0) -> str:
    """Any value on one line: `[a b]`, `map[a:1]`, `true`, `<nil>`."""
    if isinstance(value, str):
        return value
    if value is None:
        return NIL
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) or (
        isinstance(value, int) and not _MIN_INT64 <= value <= _MAX_INT64
    ):
        return _fraction(float(value))
    if depth >= _MAX_DEPTH:
        return "..."
    if isinstance(value, list):
        return f"[{' '.join(shown(item, depth + 1) for item in value)}]"
    if isinstance(value, dict):
        inside = (f"{key}:{shown(value[key], depth + 1)}" for key in sorted(value))
        return f"map[{' '.join(inside)}]"
    return str(value)


def _fraction(value: float) -> str:
    """The shortest digits that identify the number."""
    sign, digits, power = Decimal(repr(value)).normalize().as_tuple()
    if not isinstance(power, int):  # NaN or infinity
        return str(value)
    exponent = len(digits) - 1 + power
    if exponent in _PLAIN_EXPONENTS:
        return f"{Decimal((sign, digits, power)):f}"
    figures = "".join(map(str, digits))
    point = "." if len(figures) > 1 else ""
    return f"{'-' * sign}{figures[0]}{point}{figures[1:]}e{exponent:+03d}"


def listed(values: Iterable[str]) -> str:
    """A list: `[a b]`."""
    return f"[{' '.join(values)}]"


def yes_or_no(value: Any) -> str:
    """A boolean that may be unset."""
    return UNSET if value is None else ("True" if value is True else "False")


def host_and_port(host: str, port: Any) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def in_full(stamp: Any) -> str:
    """The timestamp in local time: `Sun, 15 Nov 2026 18:05:30 +0000`."""
    when = _local(stamp)
    day = f"{_DAYS[when.weekday()]}, {when.day:02d} {_MONTHS[when.month - 1]} {when.year:04d}"
    return f"{day} {when:%H:%M:%S %z}"


def in_numbers(stamp: Any) -> str:
    """The timestamp in local time: `2026-11-15 18:05:30 +0000 UTC`."""
    when = _local(stamp)
    return f"{when.year:04d}-{when:%m-%d %H:%M:%S %z %Z}"


def age(stamp: Any) -> str:
    """The time since the timestamp: `5m`."""
    return since(stamp, datetime.now(UTC))


def _local(stamp: Any) -> datetime:
    when = moment(stamp)
    if when is None:
        return _NO_MOMENT
    try:
        return when.astimezone()
    except (OverflowError, ValueError, OSError):  # outside of the range of local times
        return when
