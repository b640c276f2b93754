"""Validation of a Job's spec, in a Job and in a CronJob."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from fairlead.resources.apps.shared import UNSET, selector_shown
from fairlead.resources.apps.templates import MISMATCH, selector_is_sound
from fairlead.resources.batch.pod_failure_policy import check_pod_failure_policy
from fairlead.resources.batch.shown_templates import shown_template
from fairlead.resources.behaviour import Object, keep
from fairlead.resources.causes import Causes
from fairlead.resources.context import Context
from fairlead.resources.core.pods.spec import check_pod_template
from fairlead.resources.go_values import given_map, go_map
from fairlead.resources.rules import IMMUTABLE, label_selector, non_negative, selector_matches

# Names that other packages use.
TRACKING = "batch.@/job-tracking"  # finalizer of pods that are not yet counted; annotation of Jobs
INDEXED = "Indexed"  # the completion mode


COMPLETION_MODES = ("NonIndexed", INDEXED)
RESTART_POLICIES = ("OnFailure", "Never")
MAX_INDEXED_PARALLELISM = 100_000
_COUNTS = (
    "parallelism",
    "completions",
    "activeDeadlineSeconds",
    "backoffLimit",
    "ttlSecondsAfterFinished",
)


def check_work(spec: Object, path: str, causes: Causes, context: Context) -> None:
    """Check a Job's spec without its selector."""
    for name in _COUNTS:
        non_negative(spec.get(name), f"{path}.{name}", causes)
    _check_completion_mode(spec, path, causes)
    if spec.get("podFailurePolicy") is not None:
        check_pod_failure_policy(spec, f"{path}.podFailurePolicy", causes)
    check_pod_template(spec["template"], f"{path}.template", causes, context)
    _check_restart_policy(spec, f"{path}.template.spec.restartPolicy", causes)


def _check_completion_mode(spec: Object, path: str, causes: Causes) -> None:
    mode = spec.get("completionMode")
    if mode is not None and mode not in COMPLETION_MODES:
        causes.unsupported(f"{path}.completionMode", mode, COMPLETION_MODES)
    if mode != INDEXED:
        return
    if spec.get("completions") is None:
        causes.required(f"{path}.completions", "when completion mode is Indexed")
    parallelism = spec.get("parallelism")
    if parallelism is not None and parallelism > MAX_INDEXED_PARALLELISM:
        causes.invalid(
            f"{path}.parallelism",
            parallelism,
            f"must be less than or equal to {MAX_INDEXED_PARALLELISM} when completion mode is"
            " Indexed",
        )


def _check_restart_policy(spec: Object, path: str, causes: Causes) -> None:
    policy = spec["template"]["spec"].get("restartPolicy", "")
    if policy in ("", "Always"):
        causes.required(path, 'valid values: "OnFailure", "Never"')
    elif policy not in RESTART_POLICIES:
        causes.unsupported(path, policy, RESTART_POLICIES)
    elif spec.get("podFailurePolicy") is not None and policy != "Never":
        detail = 'only "Never" is supported when podFailurePolicy is specified'
        causes.invalid(path, policy, detail)


def check_job_spec(spec: Object, causes: Causes, context: Context) -> None:
    """Check the spec of a Job, with its selector."""
    check_work(spec, "spec", causes, context)
    selector = spec.get("selector")
    if selector is None:
        causes.required("spec.selector")
    label_selector(selector, "spec.selector", causes)
    labels = given_map(spec["template"]["metadata"], "labels")
    if selector_is_sound(selector) and not selector_matches(selector, labels or {}):
        causes.invalid("spec.template.metadata.labels", go_map(labels), MISMATCH)


def check_job_spec_change(spec: Object, old: Object, may_reschedule: bool, causes: Causes) -> None:
    """Check the immutable fields. `may_reschedule`: scheduling directives may still change."""
    _check_kept(spec, old, "completions", causes)
    if spec.get("selector") != old.get("selector"):
        causes.invalid("spec.selector", selector_shown(spec.get("selector")), IMMUTABLE)
    template = spec["template"]
    if template != (rescheduled(old["template"], template) if may_reschedule else old["template"]):
        causes.invalid("spec.template", shown_template(template), IMMUTABLE)
    _check_kept(spec, old, "completionMode", causes)
    _check_kept(spec, old, "podFailurePolicy", causes)


def _check_kept(spec: Object, old: Object, name: str, causes: Causes) -> None:
    value: Any = spec.get(name)
    if value != old.get(name):
        causes.invalid(f"spec.{name}", UNSET if value is None else value, IMMUTABLE)


def rescheduled(old: Object, new: Object) -> Object:
    """The old template with the scheduling directives of the wanted template: node affinity, node
    selector, tolerations, labels and annotations."""
    result = deepcopy(old)
    for name in ("annotations", "labels"):
        keep(result["metadata"], new["metadata"], name)
    spec, wanted_spec = result["spec"], new["spec"]
    for name in ("nodeSelector", "tolerations"):
        keep(spec, wanted_spec, name)
    affinity, wanted_affinity = spec.get("affinity"), wanted_spec.get("affinity")
    if affinity is not None or wanted_affinity is not None:
        merged = dict(affinity or {})
        keep(merged, wanted_affinity or {}, "nodeAffinity")
        if merged or wanted_affinity is not None:
            spec["affinity"] = merged
        else:
            spec.pop("affinity", None)
    return result
