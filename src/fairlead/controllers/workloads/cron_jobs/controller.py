"""The controller of CronJobs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from fairlead.base import budget, clock
from fairlead.base.errors import StatusError
from fairlead.codec.types.times import format_time, parse_time
from fairlead.controllers.events import NORMAL, WARNING, Recorder
from fairlead.controllers.framework import Keys
from fairlead.controllers.workloads.index import Owned, read_full
from fairlead.controllers.workloads.jobs.controller import JOBS
from fairlead.controllers.workloads.jobs.progress import COMPLETE, FAILED, has_ended
from fairlead.controllers.workloads.owners import (
    controller_among,
    controller_of,
    controller_reference,
)
from fairlead.controllers.workloads.pod_control import is_namespace_terminating
from fairlead.controllers.workloads.statuses import replace_status
from fairlead.operations.api import Api, Object
from fairlead.operations.client import Client
from fairlead.operations.options import DeleteOptions
from fairlead.resources.batch.occurrences import last_time, next_time
from fairlead.resources.batch.schedule import (
    Schedule,
    ScheduleError,
    ZoneError,
    load_zone,
    parse_schedule,
)
from fairlead.resources.causes import quote
from fairlead.resources.registry import Resource
from fairlead.storage.version import Change

CRON_JOBS = "batch/v1/cronjobs"
_MAX_MISSED = 100  # missed runs
_RFC1123 = "%a, %d %b %Y %H:%M:%S +0000"
_LIMITS = ((COMPLETE, "successfulJobsHistoryLimit"), (FAILED, "failedJobsHistoryLimit"))
_SCHEDULED = "batch.@/cronjob-scheduled-timestamp"
_ZONE_ADVICE = (
    "CRON_TZ or TZ used in schedule {} is not officially supported, see"
    " https://@/docs/concepts/workloads/controllers/cron-jobs/ for more details"
)


class CronJobs:
    """Keys are `namespace/name` of CronJobs."""

    workers = 5

    def __init__(self, api: Api, objects: Client, events: Recorder) -> None:
        self._resource = api.resources.named(CRON_JOBS)
        self._job_resource = api.resources.named(JOBS)
        self._dialect = api.dialect
        self._zones = api.gates["CronJobTimeZone"]
        self._notes_times = api.gates["CronJobsScheduledAnnotation"]
        self._objects = objects
        self._events = events
        self._owned = Owned(objects.collection(JOBS), read_full)

    def follows(self) -> Mapping[str, Keys]:
        return {
            CRON_JOBS: lambda change: () if change.deleted else (change.key,),
            JOBS: self._owners_of_job,
        }

    def _owners_of_job(self, change: Change) -> Iterable[str]:
        owners = set()
        for version in (change.before, change.after):
            controller = controller_of(version) if version is not None else None
            if controller is not None and controller["kind"] == self._resource.kind:
                owners.add(f"{change.namespace}/{controller['name']}")
        return owners

    async def sync(self, key: str) -> float | None:
        namespace, _, name = key.partition("/")
        cron = self._objects.find(CRON_JOBS, namespace, name)
        if cron is None:
            return None
        sync_state = CronJobSync(cron)
        jobs = [dependent.value for dependent in self._owned.of(cron)]
        sync_state.look_at(jobs)
        try:
            await self._clean_up(sync_state, jobs)
            delay = await self._run(sync_state)
        except StatusError:
            await self._write_status(sync_state)
            raise
        await self._write_status(sync_state)
        return delay.wait() if delay is not None else None

    async def _write_status(self, sync_state: CronJobSync) -> None:
        status = sync_state.new_status()
        if status != (sync_state.cron.get("status") or {}):
            await replace_status(self._objects, self._resource, sync_state.cron, status)
        for kind, reason, text in sync_state.events:
            self._events.record(self._resource, sync_state.cron, kind, reason, text)

    async def _clean_up(self, sync_state: CronJobSync, jobs: Sequence[Object]) -> None:
        """Delete the oldest finished Jobs beyond the history limits."""
        for end, name in _LIMITS:
            limit = sync_state.cron["spec"].get(name)
            ended = sorted((job for job in jobs if has_ended(job) == end), key=_start)
            if limit is None or len(ended) <= limit:
                continue
            for job in ended[: len(ended) - limit]:
                await self._delete(sync_state, job["metadata"]["name"])

    async def _delete(self, sync_state: CronJobSync, name: str) -> None:
        options = DeleteOptions(propagation="Background")
        try:
            await self._objects.delete(JOBS, sync_state.namespace, name, options)
        except StatusError as error:
            sync_state.record_event(WARNING, "FailedDelete", f"Deleted job: {error}")
            raise
        sync_state.record_event(NORMAL, "SuccessfulDelete", f"Deleted job {name}")

    async def _run(self, sync_state: CronJobSync) -> DueRun | None:
        """Start a Job if it is due. Returns the evaluated schedule, or None if there are no further
        runs."""
        spec = sync_state.cron["spec"]
        if sync_state.cron["metadata"].get("deletionTimestamp") is not None:
            return None
        schedule = None if spec.get("suspend") else await self._schedule(sync_state)
        if schedule is None:
            return None
        try:
            due_run = due(schedule, sync_state.cron)
        except ScheduleError as error:
            sync_state.record_event(
                WARNING, "InvalidSchedule", f"invalid schedule: {spec['schedule']} : {error}"
            )
            return None
        if due_run.time is not None and _may_start(sync_state, due_run, due_run.time):
            await self._start(sync_state, due_run.time)
        return due_run

    async def _schedule(self, sync_state: CronJobSync) -> Schedule | None:
        """The parsed schedule; None, with an event, if it is invalid."""
        spec = sync_state.cron["spec"]
        text = quote(spec["schedule"])
        if "TZ" in spec["schedule"]:
            advice = self._dialect.label(_ZONE_ADVICE).format(text)
            sync_state.record_event(WARNING, "UnsupportedSchedule", advice)
        try:
            return await budget.run(0, schedule_of, spec, zones=self._zones)
        except ZoneError as error:
            zone = quote(spec["timeZone"])
            sync_state.record_event(
                WARNING, "UnknownTimeZone", f"invalid timeZone: {zone}: {error}"
            )
        except ScheduleError as error:
            sync_state.record_event(
                WARNING, "UnparseableSchedule", f"unparseable schedule: {text} : {error}"
            )
        return None

    async def _start(self, sync_state: CronJobSync, moment: datetime) -> None:
        if sync_state.cron["spec"].get("concurrencyPolicy") == "Replace":
            for reference in list(sync_state.active):
                await self._delete(sync_state, reference.get("name", ""))
                sync_state.ended(reference.get("uid", ""))
        job = await self._create(sync_state, moment)
        sync_state.status["lastScheduleTime"] = format_time(moment)
        if not has_ended(job) and not sync_state.is_active(job):
            sync_state.started(self._job_resource, job)

    async def _create(self, sync_state: CronJobSync, moment: datetime) -> Object:
        """Create the Job of a scheduled time. Its name contains the time, so a server that restarts
        before it wrote the status does not create a second one."""
        name = f"{sync_state.name}-{minutes(moment)}"
        try:
            job = await self._objects.create(JOBS, self._job(sync_state, name, moment))
        except StatusError as error:
            before = self._objects.find(JOBS, sync_state.namespace, name)
            if (
                error.reason == "AlreadyExists"
                and before is not None
                and _is_of(before, sync_state.cron)
            ):
                return before
            if error.reason != "AlreadyExists" and not is_namespace_terminating(error):
                sync_state.record_event(WARNING, "FailedCreate", f"Error creating job: {error}")
            raise
        sync_state.record_event(NORMAL, "SuccessfulCreate", f"Created job {name}")
        return job

    def _job(self, sync_state: CronJobSync, name: str, moment: datetime) -> Object:
        template = sync_state.cron["spec"]["jobTemplate"]
        metadata = dict(template.get("metadata") or {})
        if self._notes_times:
            note = self._dialect.label(_SCHEDULED)
            zone = sync_state.cron["spec"].get("timeZone")
            metadata["annotations"] = {
                **(metadata.get("annotations") or {}),
                note: _time_in(moment, zone),
            }
        return {
            "metadata": {
                "name": name,
                "namespace": sync_state.namespace,
                **{
                    part: metadata[part] for part in ("labels", "annotations") if metadata.get(part)
                },
                "ownerReferences": [controller_reference(self._resource, sync_state.cron)],
            },
            "spec": template["spec"],
            "status": {},
        }


def _may_start(sync_state: CronJobSync, due_run: DueRun, moment: datetime) -> bool:
    """Whether a due Job may start; records an event if not."""
    if due_run.is_late:
        when = moment.strftime(_RFC1123)
        sync_state.record_event(
            WARNING, "MissSchedule", f"Missed scheduled time to start a job: {when}"
        )
        return False
    if due_run.count > _MAX_MISSED:
        text = (
            f"too many missed start times: {due_run.count}. Set or decrease"
            " .spec.startingDeadlineSeconds or check clock skew"
        )
        sync_state.record_event(WARNING, "TooManyMissedTimes", text)
    if sync_state.cron["spec"].get("concurrencyPolicy") == "Forbid" and sync_state.active:
        text = (
            "Not starting job because prior execution is running and concurrency policy is Forbid"
        )
        sync_state.record_event(NORMAL, "JobAlreadyActive", text)
        return False
    return True


def _start(job: Object) -> tuple[bool, str, str]:
    """Sort key: by start time, Jobs that never started last."""
    started = job["status"].get("startTime") or ""
    return not started, started, job["metadata"]["name"]


def _is_of(job: Object, cron: Object) -> bool:
    controller = controller_among(job["metadata"].get("ownerReferences"))
    return controller is not None and controller["uid"] == cron["metadata"]["uid"]


# One evaluation of a CronJob: collects its new status and events.


class CronJobSync:
    """Holds the changes to the status of a CronJob, which is written once, at the end."""

    def __init__(self, cron: Object) -> None:
        self.cron = cron
        self.namespace: str = cron["metadata"]["namespace"]
        self.name: str = cron["metadata"]["name"]
        self.status: Object = {**(cron.get("status") or {})}
        self.active: list[Object] = list(self.status.get("active") or ())
        self.events: list[tuple[str, str, str]] = []

    def record_event(self, kind: str, reason: str, text: str) -> None:
        self.events.append((kind, reason, text))

    def new_status(self) -> Object:
        """The status with the Jobs that are active now."""
        status = {**self.status}
        status.pop("active", None)
        return {**status, "active": self.active} if self.active else status

    def is_active(self, job: Object) -> bool:
        return any(reference.get("uid") == job["metadata"]["uid"] for reference in self.active)

    def started(self, resource: Resource, job: Object) -> None:
        metadata = job["metadata"]
        names = ("namespace", "name", "uid", "resourceVersion")
        reference = {"kind": resource.kind, "apiVersion": resource.api_version}
        self.active.append({**reference, **{name: metadata[name] for name in names}})

    def ended(self, uid: str) -> None:
        self.active = [reference for reference in self.active if reference.get("uid") != uid]

    def look_at(self, jobs: Iterable[Object]) -> None:
        """Update the active list and the last success from the Jobs that exist."""
        uids = set()
        for job in jobs:
            uids.add(job["metadata"]["uid"])
            self._look_at(job)
        for reference in self.active:
            if reference.get("uid") not in uids:
                text = f"Active job went missing: {reference.get('name', '')}"
                self.record_event(NORMAL, "MissingJob", text)
        self.active = [reference for reference in self.active if reference.get("uid") in uids]

    def _look_at(self, job: Object) -> None:
        name, end = job["metadata"]["name"], has_ended(job)
        if not end:
            if not self.is_active(job):
                text = f"Saw a job that the controller did not create or forgot: {name}"
                self.record_event(WARNING, "UnexpectedJob", text)
            return
        if self.is_active(job):
            self.ended(job["metadata"]["uid"])
            text = f"Saw completed job: {name}, status: {end}"
            self.record_event(NORMAL, "SawCompletedJob", text)
        finished = job["status"].get("completionTime")
        if end == COMPLETE and finished and finished > self.status.get("lastSuccessfulTime", ""):
            self.status["lastSuccessfulTime"] = finished


# Due runs.

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)  # lower bound for the last run
_TIMER_DELAY = 0.1  # seconds added so that the timer fires after the scheduled time


def _time_in(moment: datetime, zone: str | None) -> str:
    """A time in API format, in a time zone."""
    if zone is None:
        return format_time(moment)
    local = moment.astimezone(ZoneInfo("UTC" if zone in ("", "Local") else zone))
    return local.isoformat(timespec="seconds") if local.utcoffset() else format_time(moment)


def schedule_of(spec: Object, *, zones: bool) -> Schedule:
    """The schedule of a CronJob. `zones` enables spec.timeZone. Raises ZoneError, ScheduleError."""
    text, zone = spec["schedule"], spec.get("timeZone")
    if zone is not None and zones:
        load_zone(zone)
        if "TZ" not in text:
            text = f"TZ={zone} {text}"
    return parse_schedule(text)


@dataclass(frozen=True, slots=True)
class DueRun:
    """`time`: the latest scheduled time since the last run, or None; `count`: how many there were;
    `is_late`: the starting deadline for it has passed; `next`: the following scheduled time."""

    time: datetime | None
    count: int
    is_late: bool
    next: datetime

    def wait(self) -> float:
        """Seconds until the next scheduled time."""
        return max(0.0, (self.next - clock.now()).total_seconds()) + _TIMER_DELAY


def due(schedule: Schedule, cron: Object) -> DueRun:
    """Evaluate the schedule now. Raises ScheduleError if it never matches."""
    now, since = clock.now(), _last_run(cron)
    deadline = cron["spec"].get("startingDeadlineSeconds")
    moment = last_time(schedule, since, now) if since <= now else None
    following = next_time(schedule, moment or min(since, now) if schedule.interval else now)
    if following is None:
        raise ScheduleError("time difference between two schedules less than 1 second")
    if moment is None:
        return DueRun(None, 0, is_late=False, next=following)
    late = deadline is not None and moment.timestamp() + deadline < now.timestamp()
    start = since
    if deadline is not None and deadline < (now - since).total_seconds():
        start = now - timedelta(seconds=deadline)
    return DueRun(moment, _missed(schedule, start, now), late, following)


def _last_run(cron: Object) -> datetime:
    text = (cron.get("status") or {}).get("lastScheduleTime")
    return max(parse_time(text or cron["metadata"]["creationTimestamp"]), _EPOCH)


def _missed(schedule: Schedule, since: datetime, now: datetime) -> int:
    """Estimate the number of scheduled times, from the interval between the first two."""
    first = next_time(schedule, since)
    if first is None or first > now:
        return 0
    second = next_time(schedule, first)
    return 1 if second is None else (now - first) // (second - first) + 1


def minutes(moment: datetime) -> int:
    """The number in the Job's name: minutes since the epoch."""
    return int(moment.timestamp()) // 60
