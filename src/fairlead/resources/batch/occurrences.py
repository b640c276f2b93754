"""Computes the times of a cron schedule.

Goes by local time: a time that the change to summer time skips does not occur, a time that the
change back repeats occurs twice.
"""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, tzinfo
from zoneinfo import ZoneInfo

from fairlead.resources.batch.schedule import Schedule

_MINUTE = timedelta(minutes=1)
_YEARS = 5  # how far ahead to search before a schedule counts as never occurring
# How far to look back for the last time, smallest window first: the first window with an occurrence
# contains few of them.
_WINDOWS = tuple(timedelta(**{unit: 1}) for unit in ("minutes", "hours", "days")) + tuple(
    timedelta(days=days) for days in (32, 367, 367 * _YEARS)
)


def next_time(schedule: Schedule, after: datetime) -> datetime | None:
    """The first time after `after`, in UTC; None if the schedule never occurs."""
    after = after.astimezone(UTC)
    if schedule.interval is not None:
        return after.replace(microsecond=0) + schedule.interval
    if not all((schedule.minutes, schedule.hours, schedule.months)):
        return None
    zone = _zone(schedule.zone)
    moment = after.replace(second=0, microsecond=0) + _MINUTE
    last = moment.year + _YEARS
    while moment.year <= last:
        local = moment.astimezone(zone)
        later = _not_before(schedule, local)
        if later is None:
            return moment
        if isinstance(later, date):
            start = datetime(later.year, later.month, later.day, tzinfo=zone)
            moment = max(start.astimezone(UTC), moment + _MINUTE)
        else:
            moment += later
    return None


def last_time(schedule: Schedule, after: datetime, until: datetime) -> datetime | None:
    """The last time after `after` and not after `until`."""
    if schedule.interval is not None:
        count = (until - after) // schedule.interval
        return after.replace(microsecond=0) + count * schedule.interval if count > 0 else None
    for window in _WINDOWS:
        start = max(after, until - window)
        first = next_time(schedule, start)
        if first is not None and first <= until:
            return _last_from(schedule, first, until)
        if start == after:
            break
    return None


def _last_from(schedule: Schedule, last: datetime, until: datetime) -> datetime:
    while (later := next_time(schedule, last)) is not None and later <= until:
        last = later
    return last


def _zone(name: str) -> tzinfo | None:
    """None is the server's own time zone."""
    if name in ("", "Local"):
        return None
    if name == "UTC":
        return UTC
    return ZoneInfo(name)


def _not_before(schedule: Schedule, local: datetime) -> date | timedelta | None:
    """How far to skip if the schedule does not occur at a time: to a date or by a duration; None if
    it does occur."""
    if local.month not in schedule.months:
        return (local.date().replace(day=1) + timedelta(days=31)).replace(day=1)
    if not _has_day(schedule, local):
        return local.date() + timedelta(days=1)
    if local.hour not in schedule.hours:
        return timedelta(minutes=60 - local.minute)
    if local.minute not in schedule.minutes:
        later = (minute for minute in schedule.minutes if minute > local.minute)
        return timedelta(minutes=min(later, default=60) - local.minute)
    return None


def _has_day(schedule: Schedule, local: datetime) -> bool:
    """If both days and weekdays are restricted, either may match."""
    day = local.day in schedule.days
    weekday = local.isoweekday() % 7 in schedule.weekdays
    if schedule.any_day or schedule.any_weekday:
        return day and weekday
    return day or weekday
