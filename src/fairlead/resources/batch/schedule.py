"""Parses cron schedules: five fields, or a descriptor such as `@daily` or `@every 1h`, with an
optional time zone in front (`TZ=Europe/Zurich 0 3 * * *`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from zoneinfo import ZoneInfo

from fairlead.base import meter
from fairlead.codec.types.durations import DurationError, parse_duration
from fairlead.resources.causes import quote
from fairlead.resources.rules import bounded_int


class ScheduleError(ValueError):
    """Text that is not a schedule; the message says why."""


class ZoneError(ValueError):
    """A name that is not a time zone."""


@dataclass(frozen=True, slots=True)
class Field:
    """One of the five fields: its range, and names for its numbers."""

    low: int
    high: int
    names: Mapping[str, int]


def _number_words(words: str, first: int) -> Mapping[str, int]:
    return {word: number for number, word in enumerate(words.split(), first)}


FIELDS = (
    Field(0, 59, {}),
    Field(0, 23, {}),
    Field(1, 31, {}),
    Field(1, 12, _number_words("jan feb mar apr may jun jul aug sep oct nov dec", 1)),
    Field(0, 6, _number_words("sun mon tue wed thu fri sat", 0)),
)
DESCRIPTORS = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
EVERY = "@every "
_STEPS_PER_RANGE = 10  # microseconds to parse a range


@dataclass(frozen=True, slots=True)
class Schedule:
    """A parsed schedule: it occurs when minute, hour, day of month, month and day of week are in
    these sets, or after every `interval`. `any_day`, `any_weekday`: that field is `*`, so that only
    the other restricts the day. An empty `zone` is the server's own."""

    minutes: frozenset[int] = frozenset()
    hours: frozenset[int] = frozenset()
    days: frozenset[int] = frozenset()
    months: frozenset[int] = frozenset()
    weekdays: frozenset[int] = frozenset()
    any_day: bool = False
    any_weekday: bool = False
    interval: timedelta | None = None
    zone: str = ""


def parse_schedule(text: str) -> Schedule:
    """Parse a schedule; raises ScheduleError."""
    zone = ""
    if text.startswith(("TZ=", "CRON_TZ=")):
        head, space, text = text.partition(" ")
        zone = head.partition("=")[2]
        try:
            load_zone(zone)
        except ZoneError as error:
            raise ScheduleError(f"provided bad location {zone}: {error}") from None
        if not space:
            raise ScheduleError("expected exactly 5 fields, found 0: []")
        text = text.strip()
    if text.startswith(EVERY):
        return Schedule(interval=_interval(text), zone=zone)
    if text.startswith("@") and text not in DESCRIPTORS:
        raise ScheduleError(f"unrecognized descriptor: {text}")
    return _parse_fields(DESCRIPTORS.get(text, text), zone)


def _parse_fields(text: str, zone: str) -> Schedule:
    words = text.split()
    if len(words) != len(FIELDS):
        listed = " ".join(words)
        raise ScheduleError(f"expected exactly 5 fields, found {len(words)}: [{listed}]")
    sets, stars = [], []
    for word, field in zip(words, FIELDS, strict=True):
        ranges = [_parse_range(part, field) for part in word.split(",") if part]
        sets.append(frozenset(number for numbers, _ in ranges for number in numbers))
        stars.append(any(star for _, star in ranges))
    minutes, hours, days, months, weekdays = sets
    return Schedule(minutes, hours, days, months, weekdays, stars[2], stars[4], zone=zone)


def _parse_range(text: str, field: Field) -> tuple[range, bool]:
    """Parse one of the comma-separated parts: its numbers, and whether it is `*`."""
    meter.spend(_STEPS_PER_RANGE)
    span, *steps = text.split("/")
    low, *highs = span.split("-")
    star = low in ("*", "?")
    if star:
        start, end = field.low, field.high
    else:
        start = end = _parse_number(low, field.names)
        if len(highs) == 1:
            end = _parse_number(highs[0], field.names)
        elif highs:
            raise ScheduleError(f"too many hyphens: {text}")
    if len(steps) > 1:
        raise ScheduleError(f"too many slashes: {text}")
    step = _parse_number(steps[0], {}) if steps else 1
    if steps and not highs:
        end = field.high
    _check_range(text, field, start, end, step)
    return range(start, end + 1, step), star and step == 1


def _check_range(text: str, field: Field, start: int, end: int, step: int) -> None:
    if start < field.low:
        raise ScheduleError(f"beginning of range ({start}) below minimum ({field.low}): {text}")
    if end > field.high:
        raise ScheduleError(f"end of range ({end}) above maximum ({field.high}): {text}")
    if start > end:
        raise ScheduleError(f"beginning of range ({start}) beyond end of range ({end}): {text}")
    if step == 0:
        raise ScheduleError(f"step of range should be a positive number: {text}")


def _parse_number(text: str, names: Mapping[str, int]) -> int:
    named = names.get(text.lower())
    if named is not None:
        return named
    if not re.fullmatch(r"[+-]?[0-9]+", text, re.ASCII):
        reason = f"strconv.Atoi: parsing {quote(text)}: invalid syntax"
        raise ScheduleError(f"failed to parse int from {text}: {reason}")
    number = bounded_int(text)
    if number >= 2**63:
        reason = f"strconv.Atoi: parsing {quote(text)}: value out of range"
        raise ScheduleError(f"failed to parse int from {text}: {reason}")
    if number < 0:
        raise ScheduleError(f"negative number ({number}) not allowed: {text}")
    return number


def _interval(text: str) -> timedelta:
    try:
        seconds = parse_duration(text.removeprefix(EVERY))
    except DurationError as error:
        raise ScheduleError(f"failed to parse duration {text}: {error}") from None
    return timedelta(seconds=max(1, int(seconds)))


def load_zone(name: str) -> None:
    """Raise ZoneError if a name is not in the time zone database."""
    if name in ("", "UTC", "Local"):
        return
    if ".." in name.split("/") or name[0] in "/\\":
        raise ZoneError("time: invalid location name")
    try:
        ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        raise ZoneError(f"unknown time zone {name}") from None
