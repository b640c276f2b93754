"""The behaviour of CronJob: Jobs on a schedule."""

from __future__ import annotations

import re

from fairlead.resources.apps.shared import selector_shown
from fairlead.resources.apps.templates import TemplateBehaviour
from fairlead.resources.batch.job_spec import check_work
from fairlead.resources.batch.jobs import warn_of_counts
from fairlead.resources.batch.schedule import ScheduleError, ZoneError, load_zone, parse_schedule
from fairlead.resources.behaviour import Object
from fairlead.resources.causes import Causes
from fairlead.resources.context import Context
from fairlead.resources.metadata import check_metadata_update
from fairlead.resources.rules import non_negative, one_of

# The names of its Jobs add eleven characters and may have 63.
MAX_NAME_LENGTH = 52
CONCURRENCY_POLICIES = ("Allow", "Forbid", "Replace")
ZONE_WARNING = (
    "CRON_TZ or TZ used in spec.spec.schedule is not officially supported, see"
    " https://@/docs/concepts/workloads/controllers/cron-jobs/ for more details"
)
ZONE_REFUSED_WARNING = (
    "cannot use TZ or CRON_TZ in spec.spec.schedule, use timeZone instead, see"
    " https://@/docs/concepts/workloads/controllers/cron-jobs/ for more details"
)
NAMED_ZONE = "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones"


class CronJobBehaviour(TemplateBehaviour):
    template_path = "spec.jobTemplate.spec.template"
    names_pods = True

    def check_create(self, value: Object, causes: Causes, context: Context) -> None:
        super().check_create(value, causes, context)
        name = value["metadata"].get("name", "")
        if len(name) > MAX_NAME_LENGTH:
            causes.invalid(
                "metadata.name", name, f"must be no more than {MAX_NAME_LENGTH} characters"
            )

    def check(self, value: Object, causes: Causes, context: Context) -> None:
        _check_spec(value["spec"], {}, causes, context)

    def check_update(self, value: Object, old: Object, causes: Causes, context: Context) -> None:
        check_metadata_update(value["metadata"], old["metadata"], causes)
        _check_spec(value["spec"], old["spec"], causes, context)

    def check_subresource_update(
        self, subresource: str, value: Object, old: Object, causes: Causes, context: Context
    ) -> None:
        """Accept any status."""

    def warnings(self, value: Object, old: Object | None, context: Context) -> None:
        if context.gates["PodWarnings"]:
            job = value["spec"]["jobTemplate"]["spec"]
            if old is None or value["metadata"]["generation"] != old["metadata"]["generation"]:
                warn_of_counts(job, "spec.jobTemplate.spec", context)
        super().warnings(value, old, context)
        if "TZ" in value["spec"]["schedule"]:
            is_refused = context.gates["CronJobTimeZoneOnly"]
            warning = ZONE_REFUSED_WARNING if is_refused else ZONE_WARNING
            context.warn(context.dialect.label(warning))


def _check_spec(spec: Object, old: Object, causes: Causes, context: Context) -> None:
    zone = spec.get("timeZone")
    may_have_zone = "TZ" in old.get("schedule", "") or not context.gates["CronJobTimeZoneOnly"]
    _check_schedule(spec["schedule"], zone, may_have_zone, causes)
    non_negative(spec.get("startingDeadlineSeconds"), "spec.startingDeadlineSeconds", causes)
    if zone is not None and zone != old.get("timeZone"):
        _check_zone(zone, causes, context)
    policy = spec.get("concurrencyPolicy")
    one_of(policy, CONCURRENCY_POLICIES, "spec.concurrencyPolicy", causes)
    _check_job_template(spec["jobTemplate"]["spec"], "spec.jobTemplate.spec", causes, context)
    for name in ("successfulJobsHistoryLimit", "failedJobsHistoryLimit"):
        non_negative(spec.get(name), f"spec.{name}", causes)


def _check_schedule(schedule: str, zone: str | None, may_have_zone: bool, causes: Causes) -> None:
    """`may_have_zone`: the schedule may start with a time zone."""
    path = "spec.schedule"
    if not schedule:
        causes.required(path)
        return
    try:
        parse_schedule(schedule)
    except ScheduleError as error:
        causes.invalid(path, schedule, str(error))
    if "TZ" in schedule and not may_have_zone:
        detail = "cannot use TZ or CRON_TZ in schedule, use timeZone field instead"
        causes.invalid(path, schedule, detail)
    elif "TZ" in schedule and zone is not None:
        detail = "cannot use both timeZone field and TZ or CRON_TZ in schedule"
        causes.invalid(path, schedule, detail)


_ZONE_PART = re.compile(r"\A(?!-|\.{1,2}\Z)[A-Za-z.\-_0-9+]{1,14}\Z", re.ASCII)


def _check_zone(zone: str, causes: Causes, context: Context) -> None:
    path = "spec.timeZone"
    if not zone:
        causes.invalid(path, zone, "timeZone must be nil or non-empty string")
        return
    is_strict = context.gates["CronJobTimeZoneOnly"]
    if is_strict and not all(_ZONE_PART.match(part) for part in zone.split("/")):
        causes.invalid(path, zone, f"unknown time zone {zone}")
        return
    if zone.lower() == "local":
        causes.invalid(path, zone, NAMED_ZONE)
    try:
        load_zone(zone)
    except ZoneError as error:
        causes.invalid(path, zone, str(error))


def _check_job_template(spec: Object, path: str, causes: Causes, context: Context) -> None:
    check_work(spec, path, causes, context)
    selector = spec.get("selector")
    if selector is not None:
        detail = "`selector` will be auto-generated"
        causes.invalid(f"{path}.selector", selector_shown(selector), detail)
    if spec.get("manualSelector"):
        causes.unsupported(f"{path}.manualSelector", True, ["nil", "false"])
