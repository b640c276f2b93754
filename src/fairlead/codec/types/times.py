"""Timestamps in the API's form: RFC 3339 in UTC, with whole seconds or microseconds."""

from __future__ import annotations

import os
import re
from datetime import UTC, datetime, timedelta
from typing import Any, Final, NamedTuple

from fairlead.base.clock import time

_SECONDS: Final = r"\A\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d"
_USUAL_LAYOUT: Final = re.compile(  # only days that every month has
    r"\A[12]\d{3}-(?:0[1-9]|1[0-2])-(?:0[1-9]|1\d|2[0-8])T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\dZ\Z",
    re.ASCII,
)
_CANONICAL: Final = re.compile(_SECONDS + r"Z\Z", re.ASCII)
_RFC3339: Final = re.compile(_SECONDS + r"(\.\d+)?(Z|[+-]\d\d:\d\d)\Z", re.ASCII)
_MICRO: Final = re.compile(_SECONDS + r"\.\d{6}(Z|[+-]\d\d:\d\d)\Z", re.ASCII)
_MICRO_START: Final = re.compile(_SECONDS + r"\.\d{6}", re.ASCII)
_MICRO_LAYOUT: Final = "2006-01-02T15:04:05.000000Z07:00"
_LAYOUT: Final = "2006-01-02T15:04:05Z07:00"


class TimeError(ValueError):
    """Text that is not an RFC 3339 time."""


def parse_time(text: str) -> datetime:
    if not _RFC3339.match(text):
        raise TimeError(f'parsing time "{text}" as "{_LAYOUT}": cannot parse "{text}" as "2006"')
    try:
        return datetime.fromisoformat(text).astimezone(UTC)
    except (ValueError, OverflowError):
        raise TimeError(f'parsing time "{text}": out of range') from None


def format_time(moment: datetime) -> str:
    """A time in UTC; years below 1000 have four digits too."""
    return moment.isoformat(timespec="seconds")[:19] + "Z"


def format_micro_time(moment: datetime) -> str:
    return moment.isoformat(timespec="microseconds")[:26] + "Z"


def canonical_time(text: str) -> str:
    if _USUAL_LAYOUT.match(text):
        return text
    moment = parse_time(text)
    return text if _CANONICAL.match(text) else format_time(moment)


def canonical_micro_time(text: str) -> str:
    if not _MICRO.match(text):
        rest, micro = _unlike_micro(text)
        raise TimeError(
            f'parsing time "{text}" as "{_MICRO_LAYOUT}": cannot parse "{rest}" as "{micro}"'
        )
    return format_micro_time(parse_time(text))


def _unlike_micro(text: str) -> tuple[str, str]:
    """Where a text leaves the layout of microseconds, and what the layout expects there."""
    if not _RFC3339.match(text):
        return text, "2006"
    if _MICRO_START.match(text):
        return text[26:], "Z07:00"
    return text[19:], ".000000"


_second, _second_text = 0, ""


def now() -> str:
    """The current second as text, formatted once per second."""
    global _second, _second_text
    second = int(time())
    if second != _second:
        _second_text = format_time(datetime.fromtimestamp(second, UTC))
        _second = second
    return _second_text


# Random UIDs.

_UIDS_PER_READ: Final = 256
_drawn: Final[list[str]] = []  # random digits, drawn in batches: each system call releases the GIL
os.register_at_fork(after_in_child=_drawn.clear)


def new_uid() -> str:
    """A random (version 4) UUID; a tenth of the cost of `uuid.uuid4`."""
    try:
        digits = _drawn.pop()
    except IndexError:
        many = os.urandom(16 * _UIDS_PER_READ).hex()
        digits = many[:32]
        _drawn.extend(many[start : start + 32] for start in range(32, len(many), 32))
    variant = "89ab"[int(digits[16], 16) & 3]
    return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-{variant}{digits[17:20]}-{digits[20:]}"


# Durations and ages as tables and commands show them.

UNKNOWN: Final = "<unknown>"

_MICROSECOND: Final = timedelta(microseconds=1)
_SECOND: Final = 1_000_000

_MINUTE: Final = 60
_HOUR: Final = 60 * _MINUTE
_DAY: Final = 24 * _HOUR
_YEAR: Final = 365 * _DAY

# Below each limit (in seconds), durations are in this unit and, if given, the next smaller one.
_SCALES: Final[tuple[tuple[int, int, str, int, str], ...]] = (
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
    """Parse a timestamp; None if it is absent, zero or malformed."""
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
    """A duration with two or three significant figures; a small clock skew counts as zero."""
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
    """A time in microseconds since the epoch."""
    return round(when.timestamp() * _SECOND)


def age_text(start: int, now: int) -> str:
    """The age of a time; both arguments are in the form of `instant`."""
    return _text(now - start)


class Age(NamedTuple):
    """The age of a time, formatted on demand between two fixed texts."""

    start: int  # an `instant`
    before: str = ""
    behind: str = ""

    def at(self, now: int) -> str:
        return f"{self.before}{age_text(self.start, now)}{self.behind}"


def age_since(stamp: Any) -> Age | str:
    """The age of a timestamp, or the text shown if there is none."""
    when = moment(stamp)
    return UNKNOWN if when is None else Age(instant(when))
