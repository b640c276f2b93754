"""Layouts of jobs and cron jobs."""

from __future__ import annotations

from fairlead.cli.describe.fields import Fields
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


def _replacement_policy(job: Subject) -> str:
    """The policy; empty for the default."""
    policy = job.text("spec.podReplacementPolicy")
    return "" if policy == "TerminatingOrFailed" else policy


def _draw_job(page: Page, job: Subject) -> None:
    page.pairs(("Name", job.name), ("Namespace", job.namespace), ("Selector", label_selector(job)))
    draw_labels_and_annotations(page, job)
    draw_controller(page, job)
    page.pairs_if(
        ("Parallelism", job.text("spec.parallelism")),
        ("Completions", job.text("spec.completions", UNSET)),
        ("Completion Mode", job.text("spec.completionMode")),
        ("Suspend", job.text("spec.suspend").lower()),
        ("Backoff Limit", job.at("spec.backoffLimit")),
        ("Managed By", job.text("spec.managedBy")),
        ("Pod Replacement Policy", _replacement_policy(job)),
        ("Backoff Limit Per Index", job.at("spec.backoffLimitPerIndex")),
        ("Max Failed Indexes", job.at("spec.maxFailedIndexes")),
    )
    if job.has("spec.successPolicy"):
        page.entries("Success Policy", list(map(_rule, job.items("spec.successPolicy.rules"))))
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
        if job.has("status.failedIndexes"):
            page.pair("Failed Indexes", _indexes(job.text("status.failedIndexes")))
    draw_template(page, job)


def _rule(rule: Fields) -> str:
    """The indexes of a rule of the success policy, and how many of them have to succeed."""
    indexes = rule.text("succeededIndexes")
    number = rule.text("succeededCount", "all" if indexes else "")
    return f"{number} of indexes {indexes}" if indexes else f"any {number} indexes"


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
    )
    page.pairs_if(("Time Zone", spec.text("timeZone")))
    page.pairs(
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
