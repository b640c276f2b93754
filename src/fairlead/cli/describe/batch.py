"""Layouts of jobs and cron jobs."""

from __future__ import annotations

from fairlead.cli.describe.layout import Layout, Subject
from fairlead.cli.describe.page import Page
from fairlead.cli.describe.parts.metadata import (
    draw_controller,
    draw_head,
    draw_labels_and_annotations,
    selector_text,
)
from fairlead.cli.describe.parts.pods import draw_template, label_selector
from fairlead.cli.describe.parts.values import NONE, UNSET, in_full, yes_or_no
from fairlead.codec.types.times import duration_text, moment

_MAX_INDEXES = 50  # characters; the last index is completed


def _draw_job(page: Page, job: Subject) -> None:
    page.pairs(("Name", job.name), ("Namespace", job.namespace), ("Selector", label_selector(job)))
    draw_labels_and_annotations(page, job)
    draw_controller(page, job)
    page.pairs_if(
        ("Parallelism", job.text("spec.parallelism")),
        ("Completions", job.text("spec.completions", UNSET)),
        ("Completion Mode", job.text("spec.completionMode")),
    )
    started, completed = job.at("status.startTime"), job.at("status.completionTime")
    if started is not None:
        page.pair("Start Time", in_full(started))
    if completed is not None:
        page.pair("Completed At", in_full(completed))
    begin, end = moment(started), moment(completed)
    if begin and end:
        page.pair("Duration", duration_text(end - begin))
    if job.has("spec.activeDeadlineSeconds"):
        page.pair("Active Deadline Seconds", f"{job.number('spec.activeDeadlineSeconds')}s")
    page.pair("Pods Statuses", _counts(job))
    if job.text("spec.completionMode") == "Indexed":
        page.pair("Completed Indexes", _indexes(job.text("status.completedIndexes")))
    draw_template(page, job)


def _counts(job: Subject) -> str:
    status = job.part("status")
    ready = f" ({status.number('ready')} Ready)" if status.has("ready") else ""
    active = f"{status.number('active')} Active{ready}"
    return f"{active} / {status.number('succeeded')} Succeeded / {status.number('failed')} Failed"


def _indexes(text: str) -> str:
    """Shorten a long list of indexes after a comma."""
    end = text.find(",", _MAX_INDEXES)
    return (text if end < 0 else f"{text[: end + 1]}...") or NONE


def _draw_cron_job(page: Page, cron_job: Subject) -> None:
    draw_head(page, cron_job)
    spec = cron_job.part("spec")
    job = spec.part("jobTemplate.spec")
    deadline = spec.text("startingDeadlineSeconds")
    selector = selector_text(job.part("selector")) if job.has("selector") else UNSET
    page.pairs(
        ("Schedule", spec.text("schedule")),
        ("Concurrency Policy", spec.text("concurrencyPolicy")),
        ("Suspend", yes_or_no(spec.at("suspend"))),
        ("Successful Job History Limit", spec.text("successfulJobsHistoryLimit", UNSET)),
        ("Failed Job History Limit", spec.text("failedJobsHistoryLimit", UNSET)),
        ("Starting Deadline Seconds", f"{deadline}s" if deadline else UNSET),
        ("Selector", selector),
        ("Parallelism", job.text("parallelism", UNSET)),
        ("Completions", job.text("completions", UNSET)),
    )
    if job.has("activeDeadlineSeconds"):
        page.pair("Active Deadline Seconds", f"{job.number('activeDeadlineSeconds')}s")
    draw_template(page, cron_job, "spec.jobTemplate.spec.template")
    last = cron_job.at("status.lastScheduleTime")
    page.pair("Last Schedule Time", UNSET if last is None else in_full(last))
    active = [reference.text("name") for reference in cron_job.items("status.active")]
    page.pair("Active Jobs", ", ".join(active) or NONE)


JOB = Layout(_draw_job)
CRON_JOB = Layout(_draw_cron_job)
