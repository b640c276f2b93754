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
    moment,
    selector_at,
)
from fairlead.resources.columns.model import AGE, NAME, Object, flag, number, table, text
from fairlead.resources.columns.workloads import containers, selector


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
        text("Completions", _completions, "Pods that succeeded, of those needed"),
        text("Duration", _duration, "How long the job took, or has been at work"),
        AGE,
        *containers("spec.template.spec"),
        selector(),
    ),
    "batch/v1/cronjobs": table(
        NAME,
        text("Schedule", "spec.schedule", "When jobs are started"),
        flag("Suspend", _suspended, "Whether new runs are held back"),
        number("Active", count("status.active"), "Jobs at work"),
        text("Last Schedule", age_of("status.lastScheduleTime", NONE), "Time since the last run"),
        AGE,
        *containers("spec.jobTemplate.spec.template.spec"),
        selector(selector_at("spec.jobTemplate.spec.selector")),
    ),
}
