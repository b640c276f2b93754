"""How long something took or is ago, in the words of tables and commands."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

UNKNOWN = "<unknown>"

_MICROSECOND = timedelta(microseconds=1)
_SECOND = 1_000_000

_MINUTE = 60
_HOUR = 60 * _MINUTE
_DAY = 24 * _HOUR
_YEAR = 365 * _DAY

# Below each limit (in seconds) a duration is told in this unit and, if named, the next smaller one.
_SCALES: tuple[tuple[int, int, str, int, str], ...] = (
    (2 * _MINUTE, 1, "s", 0, ""),
    (10 * _MINUTE, _MINUTE, "m", 1, "s"),
    (3 * _HOUR, _MINUTE, "m", 0, ""),
    (8 * _HOUR, _HOUR, "h", _MINUTE, "m"),
    (2 * _DAY, _HOUR, "h", 0, ""),
    (8 * _DAY, _DAY, "d", _HOUR, "h"),
    (2 * _YEAR, _DAY, "d", 0, ""),
    (8 * _YEAR, _YEAR, "y", _DAY, "d"),
)


def moment(stamp: Any) -> datetime | None:
    """A timestamp's moment; None for an absent, zero or unreadable one."""
    if not isinstance(stamp, str):
        return None
    try:
        when = datetime.fromisoformat(stamp)
    except ValueError:
        return None
    if when.tzinfo is None:
        when = when.replace(tzinfo=UTC)
    return None if when.year == 1 else when


def duration_text(length: timedelta) -> str:
    """A duration in two or three significant figures; a small clock skew counts as none."""
    return _text(length // _MICROSECOND)


def _text(microseconds: int) -> str:
    if microseconds <= -2 * _SECOND:
        return "<invalid>"
    seconds = max(microseconds, 0) // _SECOND
    for limit, unit, letter, small, small_letter in _SCALES:
        if seconds < limit:
            rest = seconds % unit // small if small else 0
            return f"{seconds // unit}{letter}" + (f"{rest}{small_letter}" if rest else "")
    return f"{seconds // _YEAR}y"


def since(stamp: Any, now: datetime) -> str:
    """The age of a timestamp."""
    when = moment(stamp)
    return UNKNOWN if when is None else duration_text(now - when)


def instant(when: datetime) -> int:
    """A moment in microseconds since the epoch."""
    return round(when.timestamp() * _SECOND)


def age_text(start: int, now: int) -> str:
    """How long a moment is ago, both as `instant`."""
    return _text(now - start)


class Age(NamedTuple):
    """A text that grows old: how long a moment is ago, between words that stay."""

    start: int  # an `instant`
    before: str = ""
    behind: str = ""

    def at(self, now: int) -> str:
        return f"{self.before}{age_text(self.start, now)}{self.behind}"


def age_since(stamp: Any) -> Age | str:
    """The age of a timestamp, or what is shown without one."""
    when = moment(stamp)
    return UNKNOWN if when is None else Age(instant(when))
