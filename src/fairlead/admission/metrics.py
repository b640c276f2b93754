"""The metrics of admission, under the names of the reference."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from fairlead.base.metrics import REGISTRY

_BOUNDS = (0.005, 0.025, 0.1, 0.5, 1.0, 2.5)
FIRST_BOUND = _BOUNDS[0]  # seconds

REFUSALS = REGISTRY.counter(
    "fairlead_admission_refusals",
    "Writes that a plugin refused, by plugin and operation.",
    ("plugin", "operation"),
)
STEPS = REGISTRY.histogram(
    "apiserver_admission_step_admission_duration_seconds",
    "Duration of all admission plugins together, by step and operation.",
    _BOUNDS,
    ("type", "operation", "rejected"),
)
CONTROLLERS = REGISTRY.histogram(
    "apiserver_admission_controller_admission_duration_seconds",
    "Duration of one admission plugin, by step and operation.",
    _BOUNDS,
    ("name", "type", "operation", "rejected"),
)
WEBHOOKS = REGISTRY.histogram(
    "apiserver_admission_webhook_admission_duration_seconds",
    "Duration of a call to a webhook, by step and operation.",
    _BOUNDS,
    ("name", "type", "operation", "rejected"),
)
WEBHOOK_REQUESTS = REGISTRY.counter(
    "apiserver_admission_webhook_request",
    "Calls to a webhook, by step, operation and HTTP code.",
    ("name", "type", "operation", "code", "rejected"),
)
WEBHOOK_REJECTIONS = REGISTRY.counter(
    "apiserver_admission_webhook_rejection_count",
    "Writes that a webhook refused, or that failed because the webhook failed.",
    ("name", "type", "operation", "error_type", "rejection_code"),
    bare=True,
)
WEBHOOK_FAIL_OPEN = REGISTRY.counter(
    "apiserver_admission_webhook_fail_open_count",
    "Calls to a webhook that failed and were ignored.",
    ("name", "type"),
    bare=True,
)

_CONDITIONS = "apiserver_admission_match_condition_"
_CONDITION_LABELS = ("name", "kind", "type", "operation")
_CONDITION_ERRORS = REGISTRY.counter(
    f"{_CONDITIONS}evaluation_errors",
    "Match conditions of webhooks and policies that failed.",
    _CONDITION_LABELS,
)
CONDITION_EXCLUSIONS = REGISTRY.counter(
    f"{_CONDITIONS}exclusions",
    "Writes for which a webhook was not called because of its match conditions.",
    _CONDITION_LABELS,
)
_CONDITION_SECONDS = REGISTRY.histogram(
    f"{_CONDITIONS}evaluation_seconds",
    "Duration of evaluating match conditions that failed or excluded a write.",
    (0.001, 0.005, 0.01, 0.025, 0.1, 0.2, 0.25),
    _CONDITION_LABELS,
)
_POLICY_BOUNDS = (0.0000005, 0.001, 0.01, 0.1, 1.0)
_POLICY_LABELS = ("policy", "policy_binding", "error_type")
_VALIDATIONS = REGISTRY.counter(
    "apiserver_validating_admission_policy_check",
    "Validations that denied a write or failed, by what was done about it.",
    (*_POLICY_LABELS, "enforcement_action"),
)
_VALIDATION_SECONDS = REGISTRY.histogram(
    "apiserver_validating_admission_policy_check_duration_seconds",
    "Duration of validations that denied a write or failed, by what was done about it.",
    _POLICY_BOUNDS,
    (*_POLICY_LABELS, "enforcement_action"),
)
_MUTATIONS = REGISTRY.counter(
    "apiserver_mutating_admission_policy_check", "Mutations of policies.", _POLICY_LABELS
)
_MUTATION_SECONDS = REGISTRY.histogram(
    "apiserver_mutating_admission_policy_check_duration_seconds",
    "Duration of mutations of policies.",
    _POLICY_BOUNDS,
    _POLICY_LABELS,
)


class ConditionResult(Protocol):
    """The result of match conditions, see `policies/evaluation.py`."""

    @property
    def is_false(self) -> bool: ...

    @property
    def errors(self) -> Sequence[str]: ...

    @property
    def seconds(self) -> float: ...


def count_conditions(
    result: ConditionResult, name: str, kind: str, step: str, operation: str
) -> None:
    row = name, kind, step, operation
    if result.errors:
        _CONDITION_ERRORS.add(len(result.errors), row)
    if result.is_false or result.errors:
        _CONDITION_SECONDS.observe(result.seconds, row)


def count_validation(policy: str, binding: str, error: str, action: str, seconds: float) -> None:
    """`error` is the error of a validation that failed, empty if it denied the write."""
    row = policy, binding, _error_type(error), action
    _VALIDATIONS.add(of=row)
    _VALIDATION_SECONDS.observe(seconds, row)


def count_mutation(policy: str, binding: str, error: str | None, seconds: float) -> None:
    row = policy, binding, "no_error" if error is None else _error_type(error)
    _MUTATIONS.add(of=row)
    _MUTATION_SECONDS.observe(seconds, row)


def _error_type(error: str) -> str:
    if error.startswith("compilation"):
        return "compile_error"
    if error.startswith("validation failed due to running out of cost budget"):
        return "out_of_budget"
    return "invalid_error"
