"""Validation of scheduling constraints: node selectors, affinities, tolerations and spreading."""

from __future__ import annotations

import re
from collections import Counter
from typing import Final

from fairlead.base.caches import memoized
from fairlead.base.release import join_reworded
from fairlead.codec.types.names import (
    dns_label,
    dns_subdomain,
    is_qualified_name,
    label_value,
    qualified_name,
)
from fairlead.resources.behaviour import Object
from fairlead.resources.causes import Causes
from fairlead.resources.core.pods import (
    NO_EXECUTE,
    NO_SCHEDULE,
    PREFER_NO_SCHEDULE,
    PREFERRED,
    REQUIRED,
)
from fairlead.resources.core.pods.go_text import TOLERATION, go_struct
from fairlead.resources.gates import Gates
from fairlead.resources.rules import ABOVE_ZERO, NOT_AN_OPERATOR, is_set_operator, label_selector

_MAX_KEY_LENGTH: Final = 317  # a domain, a slash and a name
WEIGHT_RANGE = "must be in the range 1-100"
TAINT_EFFECTS: Final[tuple[str, ...]] = (NO_SCHEDULE, PREFER_NO_SCHEDULE, NO_EXECUTE)
TOLERATION_OPERATORS = ("Equal", "Exists")
COMPARISONS = ("Lt", "Gt")  # operators for taints whose values are numbers
NOT_AN_INTEGER = "must be a valid decimal integer in canonical form"
_INTEGER = re.compile(r"\A(?:0|-?[1-9][0-9]{0,18})\Z", re.ASCII)
UNSATISFIABLE = ("DoNotSchedule", "ScheduleAnyway")
INCLUSION_POLICIES = ("Honor", "Ignore")


def check_node_selector(
    selector: Object, path: str, causes: Causes, *, check_values: bool = False
) -> None:
    """Check a NodeSelector, which must have a term; `check_values` also checks the syntax of the
    values of labels."""
    terms = selector["nodeSelectorTerms"]
    if not terms:
        detail = "must have at least one node selector term"
        causes.required(f"{path}.nodeSelectorTerms", detail)
    for index, term in enumerate(terms or ()):
        term_path = f"{path}.nodeSelectorTerms[{index}]"
        check_node_selector_term(term, term_path, causes, check_values=check_values)


def check_node_selector_term(
    term: Object, path: str, causes: Causes, *, check_values: bool = False
) -> None:
    for index, rule in enumerate(term.get("matchExpressions") or ()):
        rule_path = f"{path}.matchExpressions[{index}]"
        _check_node_rule(rule, rule_path, causes)
        if check_values:
            for number, value in enumerate(rule.get("values") or ()):
                causes.invalid_each(f"{rule_path}.values[{number}]", value, label_value(value))
    for index, rule in enumerate(term.get("matchFields") or ()):
        _check_node_field_rule(rule, f"{path}.matchFields[{index}]", causes)


def _check_node_rule(rule: Object, path: str, causes: Causes) -> None:
    operator, values = rule["operator"], rule.get("values") or []
    if operator in ("Gt", "Lt"):
        if len(values) != 1:
            detail = "must be specified single value when `operator` is 'Lt' or 'Gt'"
            causes.required(f"{path}.values", detail)
    elif not is_set_operator(operator, values, path, causes):
        causes.invalid(f"{path}.operator", operator, NOT_AN_OPERATOR)
    causes.invalid_each(f"{path}.key", rule["key"], qualified_name(rule["key"]))


def _check_node_field_rule(rule: Object, path: str, causes: Causes) -> None:
    operator, values = rule["operator"], rule.get("values") or []
    if operator not in ("In", "NotIn"):
        causes.invalid(f"{path}.operator", operator, NOT_AN_OPERATOR)
    elif len(values) != 1:
        detail = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector"
        causes.required(f"{path}.values", detail)
    if rule["key"] != "metadata.name":
        causes.invalid(f"{path}.key", rule["key"], "not a valid field selector key")
        return
    for index, value in enumerate(values):
        causes.invalid_each(f"{path}.values[{index}]", value, dns_subdomain(value))


def check_affinity(affinity: Object, path: str, causes: Causes, gates: Gates) -> None:
    node = affinity.get("nodeAffinity")
    if node is not None:
        _check_node_affinity(node, f"{path}.nodeAffinity", causes, gates)
    for name in ("podAffinity", "podAntiAffinity"):
        rules = affinity.get(name)
        if rules is not None:
            _check_pod_affinity(rules, f"{path}.{name}", causes, gates)


def _check_weight(term: Object, path: str, causes: Causes) -> None:
    if not 1 <= term["weight"] <= 100:
        causes.invalid(f"{path}.weight", term["weight"], WEIGHT_RANGE)


def _check_node_affinity(affinity: Object, path: str, causes: Causes, gates: Gates) -> None:
    if affinity.get(REQUIRED) is not None:
        check_values = gates["SelectorValuesChecked"]
        required_path = f"{path}.{REQUIRED}"
        check_node_selector(affinity[REQUIRED], required_path, causes, check_values=check_values)
    for index, term in enumerate(affinity.get(PREFERRED) or ()):
        term_path = f"{path}.{PREFERRED}[{index}]"
        _check_weight(term, term_path, causes)
        check_node_selector_term(term["preference"], f"{term_path}.preference", causes)


def _check_pod_affinity(affinity: Object, path: str, causes: Causes, gates: Gates) -> None:
    check_values = gates["SelectorValuesChecked"]
    for index, term in enumerate(affinity.get(REQUIRED) or ()):
        _check_pod_term(term, f"{path}.{REQUIRED}[{index}]", causes, check_values)
    for index, weighted in enumerate(affinity.get(PREFERRED) or ()):
        term_path = f"{path}.{PREFERRED}[{index}]"
        _check_weight(weighted, term_path, causes)
        inner_path = f"{term_path}.podAffinityTerm"
        _check_pod_term(weighted["podAffinityTerm"], inner_path, causes, check_values)


def _check_pod_term(term: Object, path: str, causes: Causes, check_values: bool) -> None:
    for name in ("labelSelector", "namespaceSelector"):
        label_selector(term.get(name), f"{path}.{name}", causes, check_values=check_values)
    for name in term.get("namespaces") or ():
        causes.invalid_each(f"{path}.namespace", name, dns_label(name))
    if "matchLabelKeys" in term or "mismatchLabelKeys" in term:
        check_merged_label_keys(term, path, causes)
    key = term["topologyKey"]
    if not key:
        causes.required(f"{path}.topologyKey", "can not be empty")
    causes.invalid_each(f"{path}.topologyKey", key, qualified_name(key))


def check_merged_label_keys(holder: Object, path: str, causes: Causes) -> None:
    """Check the keys of labels whose values were merged into the selector of `holder`."""
    selector: Object | None = holder.get("labelSelector")
    for name in ("matchLabelKeys", "mismatchLabelKeys"):
        keys: list[str] = holder.get(name) or []
        if keys and selector is None:
            detail = "must not be specified when labelSelector is not set"
            causes.forbidden(f"{path}.{name}", detail)
            continue
        for index, key in enumerate(keys):
            causes.invalid_each(f"{path}.{name}[{index}]", key, qualified_name(key))
    matched: list[str] = holder.get("matchLabelKeys") or []
    indexes = {key: index for index, key in enumerate(matched)}
    selected = set((selector or {}).get("matchLabels") or ())
    for rule in (selector or {}).get("matchExpressions") or ():
        key = rule["key"]
        if key in indexes and key in selected:
            detail = "exists in both matchLabelKeys and labelSelector"
            causes.invalid(f"{path}[{indexes[key]}]", key, detail)
        selected.add(key)
    excluded = set(holder.get("mismatchLabelKeys") or ())
    for index, key in enumerate(matched):
        if key in excluded:
            detail = "exists in both matchLabelKeys and mismatchLabelKeys"
            causes.invalid(f"{path}.matchLabelKeys[{index}]", key, detail)


def merge_label_keys(spec: Object, labels: dict[str, str] | None, gates: Gates) -> None:
    """Add the values that the pod's labels have for `matchLabelKeys` and `mismatchLabelKeys` to the
    selectors of affinities and spread constraints."""
    affinity: Object = spec.get("affinity") or {}
    for name in ("podAffinity", "podAntiAffinity"):
        rules: Object = affinity.get(name) or {}
        for weighted in rules.get(PREFERRED) or ():
            _merge_keys(weighted["podAffinityTerm"], labels or {})
        for term in rules.get(REQUIRED) or ():
            _merge_keys(term, labels or {})
    if gates["MatchLabelKeysInPodTopologySpreadSelectorMerge"]:
        for constraint in spec.get("topologySpreadConstraints") or ():
            _merge_keys(constraint, labels or {})


def _merge_keys(holder: Object, labels: dict[str, str]) -> None:
    selector: Object | None = holder.get("labelSelector")
    if selector is None:
        return
    merged = [
        {"key": key, "operator": operator, "values": [labels[key]]}
        for field, operator in (("matchLabelKeys", "In"), ("mismatchLabelKeys", "NotIn"))
        for key in holder.get(field) or ()
        if key in labels
    ]
    if merged:
        selector["matchExpressions"] = [*(selector.get("matchExpressions") or ()), *merged]


def check_tolerations(
    tolerations: list[Object], path: str, causes: Causes, *, can_compare: bool = False
) -> None:
    """`can_compare`: operators that compare numbers are allowed."""
    for index, toleration in enumerate(tolerations):
        _check_toleration(toleration, f"{path}[{index}]", causes, can_compare)


@memoized(256, longest=_MAX_KEY_LENGTH)
def _is_taint_key(key: str) -> bool:
    """Cached: nearly all pods tolerate the same few taints, which the server adds."""
    return is_qualified_name(key)


def _check_toleration(toleration: Object, path: str, causes: Causes, can_compare: bool) -> None:
    key, operator = toleration.get("key", ""), toleration.get("operator", "")
    value, effect = toleration.get("value", ""), toleration.get("effect", "")
    if key:
        if not _is_taint_key(key):
            causes.invalid_each(f"{path}.key", key, qualified_name(key))
    elif operator != "Exists":
        detail = (
            'operator must be Exists when `key` is empty, which means "match all values and all'
            ' keys"'
        )
        causes.invalid(f"{path}.operator", operator, detail)
    if toleration.get("tolerationSeconds") is not None and effect != NO_EXECUTE:
        detail = "effect must be 'NoExecute' when `tolerationSeconds` is set"
        causes.invalid(f"{path}.effect", effect, detail)
    if operator in ("Equal", ""):
        errors = label_value(value)
        if errors:
            causes.invalid(f"{path}.operator", value, join_reworded(";", errors))
    elif operator in COMPARISONS and can_compare:
        if not _is_integer(value):
            causes.invalid(f"{path}.value", value, NOT_AN_INTEGER)
    elif operator != "Exists":
        has_comparisons = operator in COMPARISONS and causes.has_later_wording
        supported = (*TOLERATION_OPERATORS, *(COMPARISONS if has_comparisons else ()))
        causes.unsupported(f"{path}.operator", operator, supported)
    elif value:
        shown = value
        if not causes.has_later_wording:
            shown = go_struct("Toleration", toleration, TOLERATION)
        detail = "value must be empty when `operator` is 'Exists'"
        causes.invalid(f"{path}.operator", shown, detail)
    if effect and effect not in TAINT_EFFECTS:
        causes.unsupported(f"{path}.effect", effect, TAINT_EFFECTS)


def _is_integer(text: str) -> bool:
    return bool(_INTEGER.match(text)) and -(2**63) <= int(text) < 2**63


def check_spreading(constraints: list[Object], path: str, causes: Causes, gates: Gates) -> None:
    later = Counter(map(_spread_by, constraints))
    for index, constraint in enumerate(constraints):
        later[_spread_by(constraint)] -= 1
        repeats = later[_spread_by(constraint)] > 0
        _check_constraint(constraint, repeats, f"{path}[{index}]", causes)
        if gates["MatchLabelKeysInPodTopologySpreadSelectorMerge"]:
            check_merged_label_keys(constraint, f"{path}[{index}]", causes)
        else:
            _check_label_keys(constraint, f"{path}[{index}].matchLabelKeys", causes)
        if gates["SelectorValuesChecked"]:
            selector_path = f"{path}[{index}].labelSelector"
            label_selector(
                constraint.get("labelSelector"), selector_path, causes, check_values=True
            )


def _spread_by(constraint: Object) -> tuple[str, str]:
    return constraint["topologyKey"], constraint["whenUnsatisfiable"]


def _check_constraint(constraint: Object, repeats: bool, path: str, causes: Causes) -> None:
    """`repeats`: a later constraint has the same key and action."""
    key, action = _spread_by(constraint)
    if constraint["maxSkew"] <= 0:
        causes.invalid(f"{path}.maxSkew", constraint["maxSkew"], ABOVE_ZERO)
    if not key:
        causes.required(f"{path}.topologyKey", "can not be empty")
    if action not in UNSATISFIABLE:
        causes.unsupported(f"{path}.whenUnsatisfiable", action, UNSATISFIABLE)
    if repeats:
        causes.duplicate(f"{path}.{{topologyKey, whenUnsatisfiable}}", f"{{{key}, {action}}}")
    _check_domains(constraint.get("minDomains"), action, f"{path}.minDomains", causes)
    for name in ("nodeAffinityPolicy", "nodeTaintsPolicy"):
        policy = constraint.get(name)
        if policy is not None and policy not in INCLUSION_POLICIES:
            causes.unsupported(f"{path}.{name}", policy, INCLUSION_POLICIES)


def _check_domains(minimum: int | None, action: str, path: str, causes: Causes) -> None:
    if minimum is None:
        return
    if minimum <= 0:
        causes.invalid(path, minimum, ABOVE_ZERO)
    if action != "DoNotSchedule":
        detail = f"can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {action}"
        causes.invalid(path, minimum, detail)


def _check_label_keys(constraint: Object, path: str, causes: Causes) -> None:
    keys = constraint.get("matchLabelKeys") or ()
    selector = constraint.get("labelSelector") or {}
    selected = {*(selector.get("matchLabels") or ())}
    selected.update(rule["key"] for rule in selector.get("matchExpressions") or ())
    for index, key in enumerate(keys):
        causes.invalid_each(f"{path}[{index}]", key, qualified_name(key))
        if key in selected:
            detail = "exists in both matchLabelKeys and labelSelector"
            causes.invalid(f"{path}[{index}]", key, detail)
