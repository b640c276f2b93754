"""When a schedule comes round.

Like the clocks on the wall: a time that a change to summer time leaves out does not come, one that
a change back brings twice comes twice.
"""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, tzinfo

from fairlead.resources.batch.schedule import Schedule

_MINUTE = timedelta(minutes=1)
_YEARS = 5  # ahead of which a schedule that never comes round is given up
# How far to look back for the last time, nearest first: few times lie in the one that has one.
_WINDOWS = tuple(timedelta(**{unit: 1}) for unit in ("minutes", "hours", "days")) + tuple(
    timedelta(days=days) for days in (32, 367, 367 * _YEARS)
)


def next_time(schedule: Schedule, after: datetime) -> datetime | None:
    """The first time after a moment, in UTC; None for a schedule that never comes round."""
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
    """The last time after a moment and not after another one."""
    if schedule.interval is not None:
        count = (until - after) // schedule.interval
        return after.replace(microsecond=0) + count * schedule.interval if count > 0 else None
    for window in _WINDOWS:
        start = max(after, until - window)
        found = next_time(schedule, start)
        if found is not None and found <= until:
            return _last_from(schedule, found, until)
        if start == after:
            break
    return None


def _last_from(schedule: Schedule, found: datetime, until: datetime) -> datetime:
    while (later := next_time(schedule, found)) is not None and later <= until:
        found = later
    return found


def _zone(name: str) -> tzinfo | None:
    """None stands for the server's own zone."""
    if name in ("", "Local"):
        return None
    if name == "UTC":
        return UTC
    from zoneinfo import ZoneInfo  # few schedules name a zone, and it loads much

    return ZoneInfo(name)


def _not_before(schedule: Schedule, local: datetime) -> date | timedelta | None:
    """How far on to look if a schedule does not come round at a time: a day, or so much later."""
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
    """Where both kinds of days are named either will do."""
    day = local.day in schedule.days
    weekday = local.isoweekday() % 7 in schedule.weekdays
    if schedule.any_day or schedule.any_weekday:
        return day and weekday
    return day or weekday
