"""Selectors of nodes: terms of which one must hold, each of requirements that all must hold."""

from __future__ import annotations

from fairlead.kinds.behaviour import Object
from fairlead.kinds.causes import Causes
from fairlead.kinds.context import Context
from fairlead.schema.names import dns_subdomain, qualified_name

_FIELDS = {"metadata.name": dns_subdomain}
_DEPRECATED = {
    "beta.@/arch": ("v1.14", "@/arch"),
    "beta.@/os": ("v1.14", "@/os"),
    "failure-domain.beta.@/region": ("v1.17", "topology.@/region"),
    "failure-domain.beta.@/zone": ("v1.17", "topology.@/zone"),
    "beta.@/instance-type": ("v1.17", "node.@/instance-type"),
}


def check_node_selector(selector: Object, path: str, causes: Causes) -> None:
    terms = selector["nodeSelectorTerms"] or []
    if not terms:
        detail = "must have at least one node selector term"
        causes.required(f"{path}.nodeSelectorTerms", detail)
    for index, term in enumerate(terms):
        check_node_selector_term(term, f"{path}.nodeSelectorTerms[{index}]", causes)


def check_node_selector_term(term: Object, path: str, causes: Causes) -> None:
    for index, rule in enumerate(term.get("matchExpressions") or ()):
        _check_label_rule(rule, f"{path}.matchExpressions[{index}]", causes)
    for index, rule in enumerate(term.get("matchFields") or ()):
        _check_field_rule(rule, f"{path}.matchFields[{index}]", causes)


def _check_label_rule(rule: Object, path: str, causes: Causes) -> None:
    values = rule.get("values") or []
    match rule["operator"]:
        case "In" | "NotIn":
            if not values:
                detail = "must be specified when `operator` is 'In' or 'NotIn'"
                causes.required(f"{path}.values", detail)
        case "Exists" | "DoesNotExist":
            if values:
                detail = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
                causes.forbidden(f"{path}.values", detail)
        case "Gt" | "Lt":
            if len(values) != 1:
                detail = "must be specified single value when `operator` is 'Lt' or 'Gt'"
                causes.required(f"{path}.values", detail)
        case other:
            causes.invalid(f"{path}.operator", other, "not a valid selector operator")
    causes.invalid_each(f"{path}.key", rule["key"], qualified_name(rule["key"]))


def _check_field_rule(rule: Object, path: str, causes: Causes) -> None:
    values = rule.get("values") or []
    if rule["operator"] not in ("In", "NotIn"):
        causes.invalid(f"{path}.operator", rule["operator"], "not a valid selector operator")
    elif len(values) != 1:
        detail = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector"
        causes.required(f"{path}.values", detail)
    check = _FIELDS.get(rule["key"])
    if check is None:
        causes.invalid(f"{path}.key", rule["key"], "not a valid field selector key")
        return
    for index, value in enumerate(values):
        causes.invalid_each(f"{path}.values[{index}]", value, check(value))


def node_selector_warnings(selector: Object, path: str, context: Context) -> None:
    """Say which labels have newer names."""
    for index, term in enumerate(selector["nodeSelectorTerms"] or ()):
        for position, rule in enumerate(term.get("matchExpressions") or ()):
            for old, (version, new) in _DEPRECATED.items():
                if rule["key"] == context.dialect.label(old):
                    field = f"{path}.nodeSelectorTerms[{index}].matchExpressions[{position}].key"
                    instead = context.dialect.label(new)
                    text = f'{rule["key"]} is deprecated since {version}; use "{instead}" instead'
                    context.warn(f"{field}: {text}")
