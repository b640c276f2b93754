"""Which run of a CronJob is due."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from fairlead.base import clock
from fairlead.base.records import dataclass
from fairlead.codec.types.times import parse_time
from fairlead.operations.api import Object
from fairlead.resources.batch.occurrences import last_time, next_time
from fairlead.resources.batch.schedule import Schedule, ScheduleError, load_zone, parse_schedule

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)  # nothing was due before
_DELAY = 0.1  # seconds, so that the time has come for sure


def schedule_of(spec: Object, *, zones: bool) -> Schedule:
    """The schedule of a CronJob, in the zone that it names if `zones` count. Raises ZoneError,
    ScheduleError."""
    text, zone = spec["schedule"], spec.get("timeZone")
    if zone is not None and zones:
        load_zone(zone)
        if "TZ" not in text:
            text = f"TZ={zone} {text}"
    return parse_schedule(text)


@dataclass(frozen=True, slots=True)
class Due:
    """The last time that came round since the last run, if one did, and how many did. `is_late` if
    it is too long ago to start. `next` is the time that comes then."""

    time: datetime | None
    count: int
    is_late: bool
    next: datetime

    def wait(self) -> float:
        """The seconds until the next time."""
        return max(0.0, (self.next - clock.now()).total_seconds()) + _DELAY


def due(schedule: Schedule, cron: Object) -> Due:
    """What a CronJob is to do now. Raises ScheduleError for a schedule that never comes round."""
    now, since = clock.now(), _last_run(cron)
    deadline = cron["spec"].get("startingDeadlineSeconds")
    found = last_time(schedule, since, now) if since <= now else None
    following = next_time(schedule, found or min(since, now) if schedule.interval else now)
    if following is None:
        raise ScheduleError("time difference between two schedules less than 1 second")
    if found is None:
        return Due(None, 0, is_late=False, next=following)
    late = deadline is not None and found.timestamp() + deadline < now.timestamp()
    start = since
    if deadline is not None and deadline < (now - since).total_seconds():
        start = now - timedelta(seconds=deadline)
    return Due(found, _missed(schedule, start, now), late, following)


def _last_run(cron: Object) -> datetime:
    text = (cron.get("status") or {}).get("lastScheduleTime")
    return max(parse_time(text or cron["metadata"]["creationTimestamp"]), _EPOCH)


def _missed(schedule: Schedule, since: datetime, now: datetime) -> int:
    """About how many times came round: as if all were as far apart as the first two."""
    first = next_time(schedule, since)
    if first is None or first > now:
        return 0
    second = next_time(schedule, first)
    return 1 if second is None else (now - first) // (second - first) + 1


def minutes(moment: datetime) -> int:
    """The number by which a run is named."""
    return int(moment.timestamp()) // 60
