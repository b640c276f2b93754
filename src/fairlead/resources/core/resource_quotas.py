"""The behaviour of ResourceQuota: limits on the total of a namespace, for objects in certain
scopes.
"""

from __future__ import annotations

from collections.abc import Mapping

from fairlead.base.release import Reworded
from fairlead.resources.behaviour import Behaviour, Object
from fairlead.resources.causes import Causes, GoValue, quote
from fairlead.resources.context import Context
from fairlead.resources.core.pods.resources import round_up_amounts
from fairlead.resources.core.resource_names import (
    check_amount,
    check_quota_resource_name,
    is_quota_resource,
)
from fairlead.resources.go_values import given_list, go_list
from fairlead.resources.metadata import check_metadata_update
from fairlead.resources.rules import IMMUTABLE, NOT_AN_OPERATOR

_POD_RESOURCES = frozenset(
    {"pods", "cpu", "memory"}
    | {f"{kind}.{name}" for kind in ("limits", "requests") for name in ("cpu", "memory")}
)
Scopes = Mapping[str, frozenset[str]]
# The resources that can be limited in each scope.
SCOPES: Scopes = {
    "Terminating": _POD_RESOURCES,
    "NotTerminating": _POD_RESOURCES,
    "BestEffort": frozenset({"pods"}),
    "NotBestEffort": _POD_RESOURCES,
    "PriorityClass": _POD_RESOURCES,
    "CrossNamespacePodAffinity": _POD_RESOURCES,
}
_LATER_SCOPES = {
    **SCOPES,
    "VolumeAttributesClass": frozenset({"persistentvolumeclaims", "requests.storage"}),
}
_EXISTING = frozenset(SCOPES) - {"PriorityClass"}  # scopes without values
MAX_NAMES = 3_000  # limited resources; every write is checked against all of them
_EXCLUSIVE = ({"BestEffort", "NotBestEffort"}, {"Terminating", "NotTerminating"})
_NOT_APPLICABLE = "unsupported scope applied to resource"
_NEEDED_OPERATOR = (
    "when scope is any of ResourceQuotaScopeTerminating,"
    " ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort,"
    " ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity"
)
_MUST_EXIST = Reworded(
    f"must be 'Exist' {_NEEDED_OPERATOR}", f"must be 'Exists' {_NEEDED_OPERATOR}"
)


class ResourceQuotaBehaviour(Behaviour):
    def fill_defaults(self, value: Object, context: Context) -> None:
        round_up_amounts(value["spec"].get("hard"))
        for name in ("hard", "used"):
            round_up_amounts(value["status"].get(name))

    def check(self, value: Object, causes: Causes, context: Context) -> None:
        spec = value["spec"]
        _check_amounts(spec.get("hard"), "spec.hard", causes, context)
        supported = SCOPES if not context.gates["VolumeAttributesClass"] else _LATER_SCOPES
        _check_scopes(spec, "spec.scopes", causes, supported)
        if spec.get("scopeSelector") is not None:
            _check_selector(spec, "spec.scopeSelector.matchExpressions", causes, supported)

    def check_change(self, value: Object, old: Object, causes: Causes, context: Context) -> None:
        scopes = value["spec"].get("scopes") or []
        if set(scopes) != set(old["spec"].get("scopes") or []):
            shown = _format_scopes(given_list(value["spec"], "scopes"))
            causes.invalid("spec.scopes", shown, IMMUTABLE)

    def check_subresource_update(
        self, subresource: str, value: Object, old: Object, causes: Causes, context: Context
    ) -> None:
        check_metadata_update(value["metadata"], old["metadata"], causes)
        for name in ("hard", "used"):
            _check_amounts(value["status"].get(name), f"status.{name}", causes, context)


def _check_amounts(
    amounts: dict[str, str] | None, path: str, causes: Causes, context: Context
) -> None:
    if amounts and len(amounts) > MAX_NAMES:
        causes.too_many(path, len(amounts), MAX_NAMES)
        return
    for name, text in (amounts or {}).items():
        check_quota_resource_name(name, f"{path}[{name}]", causes)
        check_amount(name, text, f"{path}[{name}]", causes, context.dialect)


def _format_scopes(scopes: list[str] | None) -> GoValue:
    return go_list("core.ResourceQuotaScope", scopes)


def _unsupported_counts(spec: Object, supported: Scopes) -> dict[str, int]:
    """The number of limited resources that each scope does not support."""
    limited = {name for name in spec.get("hard") or () if is_quota_resource(name)}
    return {scope: len(limited - counted) for scope, counted in supported.items()}


def _check_scopes(spec: Object, path: str, causes: Causes, supported: Scopes) -> None:
    scopes: list[str] = spec.get("scopes") or []
    unsupported, shown = _unsupported_counts(spec, supported), _format_scopes(scopes)
    for scope in scopes:
        if scope not in supported:
            causes.invalid(path, shown, "unsupported scope")
        for _ in range(unsupported.get(scope, 0)):
            causes.invalid(path, shown, _NOT_APPLICABLE)
    for pair in _EXCLUSIVE:
        if pair <= set(scopes):
            causes.invalid(path, _format_scopes(scopes), "conflicting scopes")


def _check_selector(spec: Object, path: str, causes: Causes, supported: Scopes) -> None:
    rules: list[Object] = spec["scopeSelector"].get("matchExpressions") or []
    unsupported = _unsupported_counts(spec, supported)
    for rule in rules:
        scope = rule["scopeName"]
        if scope not in supported:
            causes.invalid(f"{path}.scopeName", scope, "unsupported scope")
        for _ in range(unsupported.get(scope, 0)):
            causes.invalid(path, _shown_selector(rules), _NOT_APPLICABLE)
        if scope in _EXISTING and rule["operator"] != "Exists":
            causes.invalid(f"{path}.operator", rule["operator"], _MUST_EXIST)
        _check_operator(rule, path, causes)
    for pair in _EXCLUSIVE:
        if pair <= {rule["scopeName"] for rule in rules}:
            causes.invalid(path, _format_scopes(given_list(spec, "scopes")), "conflicting scopes")


def _check_operator(rule: Object, path: str, causes: Causes) -> None:
    values = rule.get("values") or []
    match rule["operator"]:
        case "In" | "NotIn":
            if not values:
                detail = (
                    "must be at least one value when `operator` is 'In' or 'NotIn' for scope"
                    " selector"
                )
                causes.required(f"{path}.values", detail)
        case "Exists" | "DoesNotExist":
            if values:
                detail = (
                    "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope"
                    " selector"
                )
                causes.invalid(f"{path}.values", go_list("string", values), detail)
        case other:
            causes.invalid(f"{path}.operator", other, NOT_AN_OPERATOR)


def _shown_selector(rules: list[Object]) -> GoValue:
    kind = "core.ScopedResourceSelectorRequirement"
    shown = ", ".join(
        f"{kind}{{ScopeName:{quote(rule['scopeName'])}, Operator:{quote(rule['operator'])},"
        f" Values:{go_list('string', rule.get('values'))}}}"
        for rule in rules
    )
    return GoValue(f"core.ScopeSelector{{MatchExpressions:[]{kind}{{{shown}}}}}")
