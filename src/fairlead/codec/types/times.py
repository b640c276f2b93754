"""Timestamps as the API writes them: RFC 3339 in UTC, whole seconds or microseconds."""

from __future__ import annotations

import re
from datetime import UTC, datetime

from fairlead.base.clock import time

_SECONDS = r"\A\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d"
_EVIDENT = re.compile(  # days that every month has
    r"\A[12]\d{3}-(?:0[1-9]|1[0-2])-(?:0[1-9]|1\d|2[0-8])T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\dZ\Z",
    re.ASCII,
)
_CANONICAL = re.compile(_SECONDS + r"Z\Z", re.ASCII)
_RFC3339 = re.compile(_SECONDS + r"(\.\d+)?(Z|[+-]\d\d:\d\d)\Z", re.ASCII)
_MICRO = re.compile(_SECONDS + r"\.\d{6}(Z|[+-]\d\d:\d\d)\Z", re.ASCII)
_MICRO_START = re.compile(_SECONDS + r"\.\d{6}", re.ASCII)
_MICRO_LAYOUT = "2006-01-02T15:04:05.000000Z07:00"
_LAYOUT = "2006-01-02T15:04:05Z07:00"


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
    """A moment in UTC; years below 1000 have four digits too."""
    return moment.isoformat(timespec="seconds")[:19] + "Z"


def format_micro_time(moment: datetime) -> str:
    return moment.isoformat(timespec="microseconds")[:26] + "Z"


def canonical_time(text: str) -> str:
    if _EVIDENT.match(text):
        return text
    moment = parse_time(text)
    return text if _CANONICAL.match(text) else format_time(moment)


def canonical_micro_time(text: str) -> str:
    if not _MICRO.match(text):
        rest, wanted = _unlike_micro(text)
        raise TimeError(
            f'parsing time "{text}" as "{_MICRO_LAYOUT}": cannot parse "{rest}" as "{wanted}"'
        )
    return format_micro_time(parse_time(text))


def _unlike_micro(text: str) -> tuple[str, str]:
    """Where a text leaves the layout of microseconds, and what should stand there."""
    if not _RFC3339.match(text):
        return text, "2006"
    if _MICRO_START.match(text):
        return text[26:], "Z07:00"
    return text[19:], ".000000"


_second, _second_text = 0, ""


def now() -> str:
    """The current second, formatted once for all who ask within it."""
    global _second, _second_text
    second = int(time())
    if second != _second:
        _second_text = format_time(datetime.fromtimestamp(second, UTC))
        _second = second
    return _second_text
