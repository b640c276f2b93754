"""Formats timestamps and ages."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from fairlead.codec.types.times import moment, since

_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_NO_MOMENT = datetime(1, 1, 1, tzinfo=UTC)


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
