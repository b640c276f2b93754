"""Columns of jobs and cron jobs."""

from __future__ import annotations

from fairlead.resources.columns.cell_text import (
    NONE,
    UNSET,
    Age,
    age_of,
    count,
    duration_text,
    field,
    instant,
    items,
    moment,
    selector_at,
)
from fairlead.resources.columns.model import AGE, NAME, Object, flag, number, since, table, text
from fairlead.resources.columns.workloads import containers, selector

# The first state that holds is shown.
_STATES = ("Complete", "Failed", "Terminating", "Suspended", "FailureTarget", "SuccessCriteriaMet")


def _status(job: Object) -> str:
    met = {
        condition.get("type")
        for condition in items(job, "status.conditions")
        if condition.get("status") == "True"
    }
    if field(job, "metadata.deletionTimestamp") is not None:
        met.add("Terminating")
    return next((state for state in _STATES if state in met), "Running")


def _completions(job: Object) -> str:
    succeeded = field(job, "status.succeeded") or 0
    completions = field(job, "spec.completions")
    if completions is not None:
        return f"{succeeded}/{completions}"
    parallel = field(job, "spec.parallelism") or 0
    return f"{succeeded}/1 of {parallel}" if parallel > 1 else f"{succeeded}/1"


def _duration(job: Object) -> Age | str:
    start = moment(field(job, "status.startTime"))
    if start is None:
        return ""
    end = moment(field(job, "status.completionTime"))
    return Age(instant(start)) if end is None else duration_text(end - start)


def _suspended(cron_job: Object) -> str:
    suspend = field(cron_job, "spec.suspend")
    return UNSET if suspend is None else str(bool(suspend))


PRINTERS = {
    "batch/v1/jobs": table(
        NAME,
        since(36, text("Status", _status, "State of the job in a word")),
        text("Completions", _completions, "Pods that succeeded, of those needed"),
        text("Duration", _duration, "How long the job took, or has been at work"),
        AGE,
        *containers("spec.template.spec"),
        selector(),
    ),
    "batch/v1/cronjobs": table(
        NAME,
        text("Schedule", "spec.schedule", "When jobs are started"),
        since(36, text("Timezone", "spec.timeZone", "Time zone of the schedule", missing=NONE)),
        flag("Suspend", _suspended, "Whether new runs are held back"),
        number("Active", count("status.active"), "Jobs at work"),
        text("Last Schedule", age_of("status.lastScheduleTime", NONE), "Time since the last run"),
        AGE,
        *containers("spec.jobTemplate.spec.template.spec"),
        selector(selector_at("spec.jobTemplate.spec.selector")),
    ),
}
