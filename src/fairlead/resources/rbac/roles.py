"""The behaviour of Role and ClusterRole: named sets of permissions."""

from __future__ import annotations

from typing import Any

from fairlead.codec.types.names import label_value, path_segment, qualified_name
from fairlead.resources.behaviour import Object
from fairlead.resources.causes import Causes
from fairlead.resources.context import Context
from fairlead.resources.go_values import go_list
from fairlead.resources.rules import (
    checks_selector_values,
    label_selector,
)
from fairlead.resources.storage.shared import OrderedBehaviour, Step

_MAX_RULES = 5_000  # all rules are compiled again when a role is written


class RoleBehaviour(OrderedBehaviour):
    name_rule = staticmethod(path_segment)
    update_order = (Step.METADATA, Step.RULES, Step.METADATA, Step.RULES, Step.METADATA_CHANGE)
    once_order = (Step.METADATA, Step.RULES, Step.METADATA_CHANGE)

    def check(self, value: Object, causes: Causes, context: Context) -> None:
        self.check_again(value, {}, causes, context)

    def check_again(self, value: Object, old: Object, causes: Causes, context: Context) -> None:
        rules = value["rules"] or ()
        if len(rules) > _MAX_RULES:
            causes.too_many("rules", len(rules), _MAX_RULES)
            return
        for index, rule in enumerate(rules):
            check_policy_rule(rule, self.resource.namespaced, f"rules[{index}]", causes)
        aggregation = value.get("aggregationRule")
        if aggregation is not None:
            before = (old.get("aggregationRule") or {}).get("clusterRoleSelectors") or ()
            check_aggregation(
                aggregation.get("clusterRoleSelectors") or [],
                "aggregationRule.clusterRoleSelectors",
                causes,
                check_values=checks_selector_values(context.gates, *before),
            )


# Rules of roles


def check_policy_rule(rule: dict[str, Any], namespaced: bool, path: str, causes: Causes) -> None:
    """A rule is for resources or for non-resource URLs; the latter only in ClusterRoles."""
    if not rule["verbs"]:
        causes.required(f"{path}.verbs", "verbs must contain at least one value")
    urls = rule.get("nonResourceURLs")
    if urls:
        shown = go_list("string", urls)
        if namespaced:
            detail = "namespaced rules cannot apply to non-resource URLs"
            causes.invalid(f"{path}.nonResourceURLs", shown, detail)
        if any(rule.get(name) for name in ("apiGroups", "resources", "resourceNames")):
            detail = "rules cannot apply to both regular resources and non-resource URLs"
            causes.invalid(f"{path}.nonResourceURLs", shown, detail)
        return
    if not rule.get("apiGroups"):
        detail = "resource rules must supply at least one api group"
        causes.required(f"{path}.apiGroups", detail)
    if not rule.get("resources"):
        detail = "resource rules must supply at least one resource"
        causes.required(f"{path}.resources", detail)


def check_aggregation(
    selectors: list[dict[str, Any]], path: str, causes: Causes, *, check_values: bool
) -> None:
    if not selectors:
        detail = "at least one clusterRoleSelector required if aggregationRule is non-nil"
        causes.required(path, detail)
    for index, selector in enumerate(selectors):
        item_path = f"{path}[{index}]"
        label_selector(selector, item_path, causes, check_values=check_values)
        if not _is_usable(selector):
            causes.invalid(item_path, None, "invalid label selector.")


def _is_usable(selector: dict[str, Any]) -> bool:
    """Whether a selector can be evaluated, which is stricter than its validation."""
    pairs = (selector.get("matchLabels") or {}).items()
    if any(qualified_name(key) or label_value(value) for key, value in pairs):
        return False
    return all(_is_usable_rule(rule) for rule in selector.get("matchExpressions") or ())


def _is_usable_rule(rule: dict[str, Any]) -> bool:
    values = rule.get("values") or []
    if rule["operator"] in ("In", "NotIn"):
        fits = bool(values)
    else:
        fits = rule["operator"] in ("Exists", "DoesNotExist") and not values
    return fits and not qualified_name(rule["key"]) and not any(map(label_value, values))
