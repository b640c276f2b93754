"""Validation of the status of a Job, which other controllers than ours may write too."""

from __future__ import annotations

from typing import NamedTuple

from fairlead.resources.apps.shared import StatusCounts
from fairlead.resources.batch.indexes import IndexesError, overlap, parse_intervals
from fairlead.resources.batch.job_spec import INDEXED
from fairlead.resources.behaviour import Object
from fairlead.resources.causes import Causes
from fairlead.resources.rules import IMMUTABLE

COUNTS = StatusCounts(("active", "succeeded", "failed", "ready", "terminating"))
TERMINAL = ("Failed", "Complete", "FailureTarget")


def check_uncounted(pods: Object, causes: Causes) -> None:
    seen: set[str] = set()
    for name in ("succeeded", "failed"):
        for index, uid in enumerate(pods.get(name) or ()):
            path = f"status.uncountedTerminatedPods.{name}[{index}]"
            if not uid:
                causes.invalid(path, uid, "must not be empty")
            elif uid in seen:
                causes.duplicate(path, uid)
            seen.add(uid)


def is_true(status: Object, kind: str) -> bool:
    """Whether a condition of a Job is true."""
    return any(
        condition["type"] == kind and condition["status"] == "True"
        for condition in status.get("conditions") or ()
    )


class _Statuses(NamedTuple):
    """A status and the one before it. Most rules apply only if one of their fields changed."""

    spec: Object
    new: Object
    old: Object

    def has(self, kind: str) -> bool:
        return is_true(self.new, kind)

    def changed(self, *names: str) -> bool:
        """Whether a field (`startTime`) or a condition (`Complete`) changed."""
        return any(
            is_true(self.new, name) != is_true(self.old, name)
            if name[0].isupper()
            else self.new.get(name) != self.old.get(name)
            for name in names
        )

    @property
    def is_finished(self) -> bool:
        return self.has("Complete") or self.has("Failed")


def check_transition(value: Object, old: Object, causes: Causes) -> None:
    """Check that a status is consistent, and follows from the one before it."""
    statuses = _Statuses(value["spec"], value["status"], old["status"])
    _check_conditions(statuses, causes)
    _check_finished(statuses, causes)
    _check_indexes(statuses, causes)
    _check_success_criteria(statuses, causes)
    _check_history(statuses, causes)


def _refuse(detail: str, causes: Causes) -> None:
    causes.add("FieldValueInvalid", "status.conditions", "Invalid value", detail)


def _check_conditions(statuses: _Statuses, causes: Causes) -> None:
    has, new = statuses.has, statuses.new
    if has("Complete") and has("Failed") and statuses.changed("Complete", "Failed"):
        _refuse("cannot set Complete=True and Failed=true conditions", causes)
    is_changed = statuses.changed("Complete", "FailureTarget")
    if has("Complete") and has("FailureTarget") and is_changed:
        _refuse("cannot set Complete=True and FailureTarget=true conditions", causes)
    completed: str | None = new.get("completionTime")
    if statuses.changed("Complete", "completionTime"):
        if completed is not None and not has("Complete"):
            detail = "cannot set completionTime when there is no Complete=True condition"
            causes.invalid("status.completionTime", completed, detail)
        if completed is None and has("Complete"):
            detail = "completionTime is required for Complete jobs"
            causes.required("status.completionTime", detail)
    started: str | None = new.get("startTime")
    is_reversed = bool(started and completed and completed < started)
    if is_reversed and statuses.changed("startTime", "completionTime"):
        detail = "must be equal to or after `startTime`"
        causes.invalid("status.completionTime", completed, detail)
    is_changed = statuses.changed("Failed", "failedIndexes")
    if has("Failed") and not has("FailureTarget") and is_changed:
        detail = "cannot set Failed=True condition without the FailureTarget=true condition"
        _refuse(detail, causes)
    is_changed = statuses.changed("Complete", "SuccessCriteriaMet")
    if has("Complete") and not has("SuccessCriteriaMet") and is_changed:
        detail = "cannot set Complete=True condition without the SuccessCriteriaMet=true condition"
        _refuse(detail, causes)


def _check_finished(statuses: _Statuses, causes: Causes) -> None:
    """A finished Job has a start and no pods."""
    if not statuses.is_finished:
        return
    new, spec = statuses.new, statuses.spec
    was_finished = is_true(statuses.old, "Complete") or is_true(statuses.old, "Failed")
    if new.get("active", 0) > 0 and (not was_finished or statuses.changed("active")):
        causes.invalid("status.active", new["active"], "active>0 is invalid for finished job")
    never_runs = bool(spec.get("suspend")) and spec.get("completions") == 0
    is_changed = not was_finished or statuses.changed("startTime")
    if new.get("startTime") is None and not never_runs and is_changed:
        causes.required("status.startTime", "startTime is required for finished job")
    uncounted = new.get("uncountedTerminatedPods") or {}
    is_changed = not was_finished or statuses.changed("uncountedTerminatedPods")
    if (uncounted.get("failed") or uncounted.get("succeeded")) and is_changed:
        shown = {"Succeeded": uncounted.get("succeeded"), "Failed": uncounted.get("failed")}
        detail = "must be empty for finished job"
        causes.invalid("status.uncountedTerminatedPods", shown, detail)


def _check_indexes(statuses: _Statuses, causes: Causes) -> None:
    spec, new = statuses.spec, statuses.new
    completions: int | None = spec.get("completions")
    completed: str = new.get("completedIndexes", "")
    failed: str | None = new.get("failedIndexes")
    limit: int | None = spec.get("backoffLimitPerIndex")
    if completions is not None and statuses.changed("completedIndexes"):
        _check_format("completedIndexes", completed, completions, causes)
    is_counted = completions is not None and limit is not None
    if is_counted and failed is not None and statuses.changed("failedIndexes"):
        _check_format("failedIndexes", failed, completions or 0, causes)
    if completed and spec.get("completionMode") != INDEXED and statuses.changed("completedIndexes"):
        detail = "cannot set non-empty completedIndexes when non-indexed completion mode"
        causes.invalid("status.completedIndexes", completed, detail)
    if limit is None and failed is not None and statuses.changed("failedIndexes"):
        detail = "cannot set non-null failedIndexes when backoffLimitPerIndex is null"
        causes.invalid("status.failedIndexes", failed, detail)
    if completions is None or failed is None:
        return
    if statuses.changed("failedIndexes", "completedIndexes"):
        index = overlap(completed, failed, completions)
        if index is not None:
            detail = f"failedIndexes and completedIndexes overlap at index: {index}"
            causes.invalid("status.failedIndexes", failed, detail)


def _check_format(name: str, indexes: str, completions: int, causes: Causes) -> None:
    try:
        parse_intervals(indexes, completions)
    except IndexesError as error:
        causes.invalid(f"status.{name}", indexes, f"error parsing {name}: {error}")


def _check_success_criteria(statuses: _Statuses, causes: Causes) -> None:
    has, new = statuses.has, statuses.new
    terminating = new.get("terminating") or 0
    is_changed = statuses.changed("Complete", "Failed", "terminating")
    if terminating > 0 and statuses.is_finished and is_changed:
        detail = "terminating>0 is invalid for finished job"
        causes.invalid("status.terminating", terminating, detail)
    ready = new.get("ready") or 0
    if ready > new.get("active", 0) and statuses.changed("ready", "active"):
        causes.invalid("status.ready", ready, "cannot set more ready pods than active")
    for kind in ("Failed", "FailureTarget"):
        if has("SuccessCriteriaMet") and has(kind):
            _refuse(f"cannot set SuccessCriteriaMet=True and {kind}=true conditions", causes)
    is_met = has("SuccessCriteriaMet")
    if statuses.spec.get("successPolicy") is not None and has("Complete") and not is_met:
        detail = (
            "cannot set Complete=True for Job with SuccessPolicy unless SuccessCriteriaMet=True"
        )
        _refuse(detail, causes)


def _check_history(statuses: _Statuses, causes: Causes) -> None:
    """Check that final conditions stay, counters do not decrease, and times do not change."""
    spec, new, old = statuses.spec, statuses.new, statuses.old
    for kind in TERMINAL:
        if is_true(old, kind) and not statuses.has(kind):
            _refuse(f"cannot disable the terminal {kind}=True condition", causes)
    is_scalable = spec.get("completionMode") == INDEXED and (
        spec.get("completions") == spec.get("parallelism")
    )
    for name in ("failed", "succeeded"):
        count = new.get(name, 0)
        if count < old.get(name, 0) and (name == "failed" or not is_scalable):
            causes.invalid(f"status.{name}", count, f"cannot decrease the {name} counter")
    completed, old_completed = new.get("completionTime"), old.get("completionTime")
    if completed is not None and old_completed is not None and completed != old_completed:
        causes.invalid("status.completionTime", completed, IMMUTABLE)
    resumes = is_true(old, "Suspended") and any(
        condition["type"] == "Suspended" and condition["status"] == "False"
        for condition in new.get("conditions") or ()
    )
    is_moved = old.get("startTime") is not None and statuses.changed("startTime")
    if is_moved and not spec.get("suspend") and not resumes:
        detail = "field is immutable for unsuspended job once set"
        causes.invalid("status.startTime", new.get("startTime"), detail)
    was_met, is_met = is_true(old, "SuccessCriteriaMet"), statuses.has("SuccessCriteriaMet")
    if was_met and not is_met:
        _refuse("cannot disable the SuccessCriteriaMet=True condition", causes)
    if is_true(old, "Complete") and not was_met and is_met:
        detail = "cannot set SuccessCriteriaMet=True for Job already has Complete=true conditions"
        _refuse(detail, causes)
