"""Timestamps and durations in nanoseconds: parsing, formatting, parts."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta, timezone
from functools import cache
from zoneinfo import ZoneInfo, available_timezones

from fairlead.codec.cel.errors import EvaluationError
from fairlead.codec.cel.values import INT_MAX, INT_MIN, Duration, Timestamp

SECOND = 1_000_000_000
EARLIEST = -62135596800 * SECOND  # 0001-01-01T00:00:00Z
LATEST = 253402300800 * SECOND - 1  # the last nanosecond of the year 9999
_UNITS = {
    "ns": 1, "us": 1000, "µs": 1000, "μs": 1000, "ms": 1_000_000, "s": SECOND,
    "m": 60 * SECOND, "h": 3600 * SECOND,
}  # fmt: skip
_TIMESTAMP = re.compile(
    r"(\d{4}-\d\d-\d\d)[Tt](\d\d:\d\d:\d\d)(?:[.,](\d+))?(?:[Zz]|([+-])(\d\d):(\d\d))", re.ASCII
)
_PART = re.compile(r"(\d*)(?:\.(\d*))?([a-zµμ]+)", re.ASCII | re.IGNORECASE)
_OFFSET = re.compile(r"([+-]?)(\d\d):(\d\d)", re.ASCII)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def parse_timestamp(text: str) -> Timestamp:
    """Parse an RFC 3339 time; raises ValueError."""
    match = _TIMESTAMP.fullmatch(text)
    if match is None:
        raise ValueError(f'cannot parse "{text}" as a timestamp')
    day, clock, fraction, sign, hours, minutes = match.groups()
    seconds = round((datetime.fromisoformat(f"{day}T{clock}+00:00") - _EPOCH).total_seconds())
    offset = 0
    if sign:
        if int(hours) > 23 or int(minutes) > 59:
            raise ValueError(f'cannot parse "{text}" as a timestamp: offset out of range')
        offset = (int(hours) * 60 + int(minutes)) * (-1 if sign == "-" else 1)
    nanoseconds = int((fraction or "0")[:9].ljust(9, "0"))
    return moment((seconds - offset * 60) * SECOND + nanoseconds, offset)


def parse_date(text: str) -> Timestamp:
    """Parse a date, as its first instant; raises ValueError."""
    return Timestamp((date.fromisoformat(text).toordinal() - 719163) * 86400 * SECOND)


def parse_duration(text: str) -> Duration:
    """Parse text such as `1h2m3.5s`; raises ValueError."""
    rest = text[1:] if text[:1] in ("+", "-") else text
    if rest == "0":
        return Duration(0)
    total, position = 0, 0
    while position < len(rest):
        match = _PART.match(rest, position)
        if match is None or not (match[1] or match[2]) or match[3] not in _UNITS:
            raise ValueError(f'invalid duration "{text}"')
        unit = _UNITS[match[3]]
        if len(match[1]) > 40:
            raise ValueError(f'invalid duration "{text}"')
        fraction = (match[2] or "")[:18]
        total += int(match[1] or "0") * unit + int(fraction or "0") * unit // 10 ** len(fraction)
        position = match.end()
    if not rest or total > INT_MAX:
        raise ValueError(f'invalid duration "{text}"')
    return Duration(-total if text[0] == "-" else total)


def moment(nanoseconds: int, offset: int = 0) -> Timestamp:
    if not EARLIEST <= nanoseconds <= LATEST:
        raise EvaluationError("timestamp overflow")
    value = Timestamp(nanoseconds)
    if offset:
        value.offset = offset
    return value


def span(nanoseconds: int) -> Duration:
    if INT_MIN <= nanoseconds <= INT_MAX:
        return Duration(nanoseconds)
    raise EvaluationError("duration overflow")


def show_timestamp(value: Timestamp) -> str:
    seconds, fraction = divmod(int(value), SECOND)
    seconds += value.offset * 60
    text = (_EPOCH + timedelta(seconds=seconds)).isoformat(timespec="seconds")[:19]
    hours, minutes = divmod(abs(value.offset), 60)
    zone = f"{'-' if value.offset < 0 else '+'}{hours:02}:{minutes:02}" if value.offset else "Z"
    return f"{text}{_fraction(fraction)}{zone}"


def show_duration(value: Duration) -> str:
    seconds, fraction = divmod(abs(int(value)), SECOND)
    return f"{'-' if value < 0 else ''}{seconds}{_fraction(fraction)}s"


def _fraction(nanoseconds: int) -> str:
    return f".{nanoseconds:09}".rstrip("0") if nanoseconds else ""


def _local(value: Timestamp, zone: str) -> datetime:
    seconds = int(value) // SECOND
    try:
        return (_EPOCH + timedelta(seconds=seconds)).astimezone(_zone(zone))
    except OverflowError:
        raise EvaluationError("timestamp overflow") from None


@cache
def _known_zones() -> frozenset[str]:
    return frozenset(available_timezones())


@cache
def _known_zone(name: str) -> ZoneInfo:
    return ZoneInfo(name)


def _zone(name: str) -> timezone | ZoneInfo:
    match = _OFFSET.fullmatch(name)
    if match:
        minutes = int(match[2]) * 60 + int(match[3])
        if minutes >= 24 * 60:
            raise EvaluationError(f"unknown time zone {name}")
        return timezone(timedelta(minutes=-minutes if match[1] == "-" else minutes))
    if name in ("", "UTC"):
        return UTC
    if name not in _known_zones():
        raise EvaluationError(f"unknown time zone {name}")
    return _known_zone(name)


_PARTS: dict[str, Callable[[datetime], int]] = {
    "getFullYear": lambda local: local.year,
    "getMonth": lambda local: local.month - 1,
    "getDayOfYear": lambda local: local.timetuple().tm_yday - 1,
    "getDayOfMonth": lambda local: local.day - 1,
    "getDate": lambda local: local.day,
    "getDayOfWeek": lambda local: local.isoweekday() % 7,
    "getHours": lambda local: local.hour,
    "getMinutes": lambda local: local.minute,
    "getSeconds": lambda local: local.second,
}
_SPANS = {
    "getHours": 3600 * SECOND,
    "getMinutes": 60 * SECOND,
    "getSeconds": SECOND,
    "getMilliseconds": SECOND // 1000,
}


def _part(read: Callable[[datetime], int]) -> Callable[..., int]:
    return lambda value, zone="UTC": read(_local(value, zone))


def _milliseconds(value: Timestamp, zone: str = "UTC") -> int:
    _zone(zone)
    return int(value) % SECOND // 1_000_000


def _truncate_to(unit: int) -> Callable[[Duration], int]:
    return lambda value: abs(int(value)) // unit * (-1 if value < 0 else 1)


TIMESTAMP_PARTS: dict[str, Callable[..., int]] = {
    **{name: _part(read) for name, read in _PARTS.items()},
    "getMilliseconds": _milliseconds,
}
DURATION_PARTS = {name: _truncate_to(unit) for name, unit in _SPANS.items()}
