"""Validation of the pod failure policy of a Job."""

from __future__ import annotations

from fairlead.codec.types.names import qualified_name
from fairlead.resources.behaviour import Object
from fairlead.resources.causes import Causes, GoValue, quote
from fairlead.resources.context import Context
from fairlead.resources.go_values import given_list
from fairlead.resources.rules import STATUSES

ACTIONS = ("Count", "FailJob", "Ignore")
ACTIONS_WITH_INDEXES = ("Count", "FailIndex", "FailJob", "Ignore")
OPERATORS = ("In", "NotIn")
MAX_RULES = 20
MAX_EXIT_CODES = 255
MAX_CONDITIONS = 20


def fill_condition_defaults(policy: Object) -> None:
    for rule in policy["rules"] or ():
        for pattern in rule.get("onPodConditions") or ():
            pattern["status"] = pattern.get("status") or "True"


def check_pod_failure_policy(spec: Object, path: str, causes: Causes, context: Context) -> None:
    """Check the policy in a Job's spec; `path` is that of the policy."""
    rules = spec["podFailurePolicy"]["rules"] or []
    if len(rules) > MAX_RULES:
        causes.too_many(f"{path}.rules", len(rules), MAX_RULES)
    pod = spec["template"]["spec"]
    groups = (pod.get("containers"), pod.get("initContainers"))
    names = {container["name"] for group in groups for container in group or ()}
    has_indexes = context.gates["JobBackoffLimitPerIndex"]
    actions = ACTIONS_WITH_INDEXES if has_indexes else ACTIONS
    for index, rule in enumerate(rules):
        action, action_path = rule["action"], f"{path}.rules[{index}].action"
        if has_indexes and action == "FailIndex" and spec.get("backoffLimitPerIndex") is None:
            detail = "requires the backoffLimitPerIndex to be set"
            causes.invalid(action_path, action, detail)
        else:
            _check_choice(action, actions, action_path, causes)
        _check_rule(rule, f"{path}.rules[{index}]", names, causes)


def _check_rule(rule: Object, path: str, names: set[str], causes: Causes) -> None:
    codes, conditions = rule.get("onExitCodes"), rule.get("onPodConditions") or []
    if codes is not None:
        _check_exit_codes(codes, f"{path}.onExitCodes", names, causes)
    if conditions:
        _check_conditions(conditions, f"{path}.onPodConditions", causes)
    if codes is not None and conditions:
        _invalid(path, "specifying both OnExitCodes and OnPodConditions is not supported", causes)
    if codes is None and not conditions:
        _invalid(path, "specifying one of OnExitCodes and OnPodConditions is required", causes)


def _invalid(path: str, reason: str, causes: Causes) -> None:
    """Add a cause that shows no value."""
    causes.add("FieldValueInvalid", path, "Invalid value", reason)


def _check_choice(value: str, choices: tuple[str, ...], path: str, causes: Causes) -> None:
    if not value:
        listed = " ".join(quote(choice) for choice in choices)
        causes.required(path, f"valid values: [{listed}]")
    elif value not in choices:
        causes.unsupported(path, value, choices)


def _check_exit_codes(codes: Object, path: str, names: set[str], causes: Causes) -> None:
    operator, exit_codes = codes["operator"], given_list(codes, "values")
    values = exit_codes or []
    _check_choice(operator, OPERATORS, f"{path}.operator", causes)
    name = codes.get("containerName")
    if name is not None and name not in names:
        detail = "must be one of the container or initContainer names in the pod template"
        causes.invalid(f"{path}.containerName", name, detail)
    values_path = f"{path}.values"
    if not values:
        causes.invalid(values_path, _codes_shown(exit_codes), "at least one value is required")
    elif len(values) > MAX_EXIT_CODES:
        causes.too_many(values_path, len(values), MAX_EXIT_CODES)
    seen: set[int] = set()
    for index, value in enumerate(values):
        if operator == "In" and value == 0:
            causes.invalid(f"{values_path}[{index}]", value, "must not be 0 for the In operator")
        if value in seen:
            causes.duplicate(f"{values_path}[{index}]", value)
        seen.add(value)
    if values != sorted(values):
        causes.invalid(values_path, _codes_shown(values), "must be ordered")


def _codes_shown(values: list[int] | None) -> GoValue:
    listed = "(nil)" if values is None else f"{{{', '.join(map(str, values))}}}"
    return GoValue(f"[]int32{listed}")


def _check_conditions(conditions: list[Object], path: str, causes: Causes) -> None:
    if len(conditions) > MAX_CONDITIONS:
        causes.too_many(path, len(conditions), MAX_CONDITIONS)
    for index, pattern in enumerate(conditions):
        item_path = f"{path}[{index}]"
        causes.invalid_each(f"{item_path}.type", pattern["type"], qualified_name(pattern["type"]))
        _check_choice(pattern.get("status", ""), STATUSES, f"{item_path}.status", causes)
