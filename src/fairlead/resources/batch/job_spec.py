"""Validation of a Job's spec, in a Job and in a CronJob."""

from __future__ import annotations

from copy import deepcopy
from typing import Any, NamedTuple

from fairlead.codec.types.model import Struct, struct_at
from fairlead.resources.apps.shared import selector_shown
from fairlead.resources.apps.templates import MISMATCH, selector_is_sound
from fairlead.resources.batch.indexes import check_success_policy
from fairlead.resources.batch.pod_failure_policy import check_pod_failure_policy
from fairlead.resources.batch.shown_templates import shown_template
from fairlead.resources.behaviour import Object, keep
from fairlead.resources.causes import Causes, GoValue
from fairlead.resources.context import Context
from fairlead.resources.core.pods.container_lists import DECLARED_LISTS
from fairlead.resources.core.pods.spec import check_pod_template
from fairlead.resources.go_values import given_list, given_map, go_map
from fairlead.resources.internal_types import internal_value
from fairlead.resources.networking.shared import check_prefixed_path
from fairlead.resources.rules import (
    IMMUTABLE,
    checks_selector_values,
    label_selector,
    non_negative,
    selector_matches,
)

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
    "backoffLimitPerIndex",
    "maxFailedIndexes",
)
MAX_FAILED_INDEXES = 100_000
# Above this many completions, parallelism and failed indexes have a lower limit.
MANY_COMPLETIONS, LIMIT_FOR_MANY = 100_000, 10_000
MAX_MANAGER_LENGTH = 63
REPLACEMENT_POLICIES = ("Failed", "TerminatingOrFailed")


def check_work(spec: Object, path: str, causes: Causes, context: Context) -> None:
    """Check a Job's spec without its selector."""
    for name in _COUNTS:
        non_negative(spec.get(name), f"{path}.{name}", causes)
    if "maxFailedIndexes" in spec and "backoffLimitPerIndex" not in spec:
        causes.required(f"{path}.backoffLimitPerIndex", "when maxFailedIndexes is specified")
    if "managedBy" in spec:
        _check_manager(spec["managedBy"], f"{path}.managedBy", causes)
    _check_completion_mode(spec, path, causes)
    _check_limits_per_index(spec, path, causes)
    if spec.get("podFailurePolicy") is not None:
        check_pod_failure_policy(spec, f"{path}.podFailurePolicy", causes, context)
    if "successPolicy" in spec:
        if spec.get("completionMode") == INDEXED:
            check_success_policy(spec, f"{path}.successPolicy", causes)
        else:
            shown = _success_policy_shown(spec["successPolicy"])
            causes.invalid(f"{path}.successPolicy", shown, NOT_INDEXED)
    if "podReplacementPolicy" in spec:
        has_policy = spec.get("podFailurePolicy") is not None
        supported = ("Failed",) if has_policy else REPLACEMENT_POLICIES
        policy = spec["podReplacementPolicy"]
        if policy not in supported:
            causes.unsupported(f"{path}.podReplacementPolicy", policy, supported)
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


NOT_INDEXED = "requires indexed completion mode"


def _success_policy_shown(policy: Object) -> Object:
    rules = given_list(policy, "rules")
    if not rules:
        return {"Rules": rules}
    return {
        "Rules": [
            {
                "SucceededIndexes": rule.get("succeededIndexes"),
                "SucceededCount": rule.get("succeededCount"),
            }
            for rule in rules
        ]
    }


def _check_manager(manager: str, path: str, causes: Causes) -> None:
    """Check the name of the controller that manages the Job."""
    check_prefixed_path(manager, path, causes)
    if len(manager.encode()) > MAX_MANAGER_LENGTH:
        causes.too_long(path, MAX_MANAGER_LENGTH)


def _check_limits_per_index(spec: Object, path: str, causes: Causes) -> None:
    limit, failed = spec.get("backoffLimitPerIndex"), spec.get("maxFailedIndexes")
    if limit is None and failed is None:
        return
    failed_path = f"{path}.maxFailedIndexes"
    if spec.get("completionMode") != INDEXED:
        if spec.get("completionMode") in (None, "NonIndexed"):
            for name in ("backoffLimitPerIndex", "maxFailedIndexes"):
                if spec.get(name) is not None:
                    causes.invalid(f"{path}.{name}", spec[name], NOT_INDEXED)
        return
    completions: int | None = spec.get("completions")
    if completions is not None and failed is not None and failed > completions:
        causes.invalid(failed_path, failed, "must be less than or equal to completions")
    if failed is not None and failed > MAX_FAILED_INDEXES:
        detail = f"must be less than or equal to {MAX_FAILED_INDEXES}"
        causes.invalid(failed_path, failed, detail)
    if completions is None or completions <= MANY_COMPLETIONS or limit is None:
        return
    if failed is None:
        detail = f"must be specified when completions is above {MANY_COMPLETIONS}"
        causes.required(failed_path, detail)
    for name in ("parallelism", "maxFailedIndexes"):
        count = spec.get(name)
        if count is not None and count > LIMIT_FOR_MANY:
            detail = (
                f"must be less than or equal to {LIMIT_FOR_MANY} when completions are above"
                f" {MANY_COMPLETIONS} and used with backoff limit per index"
            )
            causes.invalid(f"{path}.{name}", count, detail)


def _check_restart_policy(spec: Object, path: str, causes: Causes) -> None:
    policy = spec["template"]["spec"].get("restartPolicy", "")
    if policy in ("", "Always"):
        causes.required(path, 'valid values: "OnFailure", "Never"')
    elif policy not in RESTART_POLICIES:
        causes.unsupported(path, policy, RESTART_POLICIES)
    elif spec.get("podFailurePolicy") is not None and policy != "Never":
        detail = 'only "Never" is supported when podFailurePolicy is specified'
        causes.invalid(path, policy, detail)


def check_job_spec(
    spec: Object, causes: Causes, context: Context, old_selector: Object | None = None
) -> None:
    """Check the spec of a Job, with its selector."""
    check_work(spec, "spec", causes, context)
    selector = spec.get("selector")
    if selector is None:
        causes.required("spec.selector")
    check_values = checks_selector_values(context.gates, old_selector)
    label_selector(selector, "spec.selector", causes, check_values=check_values)
    labels = given_map(spec["template"]["metadata"], "labels")
    if selector_is_sound(selector) and not selector_matches(selector, labels or {}):
        causes.invalid("spec.template.metadata.labels", go_map(labels), MISMATCH)


class Changeable(NamedTuple):
    """What may still be changed in a Job: the scheduling directives of its template, the resources
    of the template's containers, and its completions together with its parallelism."""

    scheduling: bool
    resources: bool
    completions: bool


def changeable(old: Object, context: Context) -> Changeable:
    gates, status = context.gates, old["status"]
    is_suspended = bool(old["spec"].get("suspend"))
    has_started = status.get("startTime") is not None
    is_idle = (
        is_suspended and not status.get("active") and (not has_started or _is_suspended(status))
    )
    if gates["MutableSchedulingDirectivesForSuspendedJobs"]:
        scheduling = is_idle
    else:
        is_allowed = gates["JobMutableNodeSchedulingDirectives"]
        scheduling = is_allowed and is_suspended and not has_started
    resources = gates["MutablePodResourcesForSuspendedJobs"] and is_idle
    return Changeable(scheduling, resources, gates["ElasticIndexedJob"])


def _is_suspended(status: Object) -> bool:
    return any(
        condition["type"] == "Suspended" and condition["status"] == "True"
        for condition in status.get("conditions") or ()
    )


def check_job_spec_change(
    struct: Struct, spec: Object, old: Object, may: Changeable, causes: Causes
) -> None:
    """Check the immutable fields."""
    if may.completions and spec.get("completionMode") == INDEXED:
        _check_completions(spec, old, causes)
    else:
        _check_kept(struct, spec, old, "completions", causes)
    if spec.get("selector") != old.get("selector"):
        causes.invalid("spec.selector", selector_shown(spec.get("selector")), IMMUTABLE)
    template = spec["template"]
    expected = rescheduled(old["template"], template) if may.scheduling else old["template"]
    if may.resources:
        expected_spec = _with_resources_of(template["spec"], expected["spec"])
        if template["spec"] != expected_spec:
            shown = internal_value(struct_at(struct, "template.spec"), template["spec"])
            causes.invalid("spec.template.spec", shown, IMMUTABLE)
    elif template != expected:
        as_json = internal_value(struct_at(struct, "template"), template)
        causes.invalid("spec.template", GoValue(shown_template(template), as_json), IMMUTABLE)
    for name in _IMMUTABLE:
        _check_kept(struct, spec, old, name, causes)


_IMMUTABLE = (
    "completionMode",
    "podFailurePolicy",
    "backoffLimitPerIndex",
    "managedBy",
    "successPolicy",
)


def _check_completions(spec: Object, old: Object, causes: Causes) -> None:
    completions = spec.get("completions")
    if completions is None or completions == old.get("completions"):
        return
    if completions != spec.get("parallelism"):
        detail = "can only be modified in tandem with spec.parallelism"
        causes.invalid("spec.completions", completions, detail)


def _with_resources_of(pod: Object, old: Object) -> Object:
    """The old pod spec with the resources that its containers have in the wanted one."""
    result = dict(old)
    for name in DECLARED_LISTS:
        containers, before = pod.get(name) or [], old.get(name) or []
        if len(containers) == len(before) and before:
            result[name] = [
                {**old_container, "resources": container["resources"]}
                if container["name"] == old_container["name"]
                else old_container
                for container, old_container in zip(containers, before, strict=True)
            ]
    return result


def _check_kept(struct: Struct, spec: Object, old: Object, name: str, causes: Causes) -> None:
    value: Any = spec.get(name)
    if value != old.get(name):
        if causes.has_later_wording:
            value = internal_value(struct.fields[name].type, value)
        causes.invalid(f"spec.{name}", value, IMMUTABLE)


def rescheduled(old: Object, new: Object) -> Object:
    """The old template with the scheduling directives of the wanted template: node affinity, node
    selector, tolerations, labels and annotations."""
    result = deepcopy(old)
    for name in ("annotations", "labels"):
        keep(result["metadata"], new["metadata"], name)
    spec, wanted_spec = result["spec"], new["spec"]
    for name in ("nodeSelector", "tolerations", "schedulingGates"):
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
