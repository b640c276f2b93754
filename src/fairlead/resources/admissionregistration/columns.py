"""Columns of webhook configurations, admission policies and their bindings."""

from __future__ import annotations

from typing import Any

from fairlead.resources.columns.cell_text import count
from fairlead.resources.columns.model import AGE, NAME, number, table, text

_UNSET = "<unset>"


def _param_kind(value: dict[str, Any]) -> str:
    kind = value["spec"].get("paramKind")
    if kind is None:
        return _UNSET
    return f"{kind.get('apiVersion', '')}/{kind.get('kind', '')}"


def _param_ref(value: dict[str, Any]) -> str:
    ref = value["spec"].get("paramRef") or {}
    name, selector = ref.get("name"), ref.get("selector")
    if name:
        return f"{ref.get('namespace') or '*'}/{name}"
    return _UNSET if selector is None else _selector(selector)


def _selector(selector: dict[str, Any]) -> str:
    """A selector as the reference prints it."""
    labels = selector.get("matchLabels") or {}
    shown = "".join(f"{key}: {labels[key]}," for key in sorted(labels))
    rules = "".join(map(_requirement, selector.get("matchExpressions") or ()))
    return (
        f"&LabelSelector{{MatchLabels:map[string]string{{{shown}}},"
        f"MatchExpressions:[]LabelSelectorRequirement{{{rules}}},}}"
    )


def _requirement(rule: dict[str, Any]) -> str:
    values = " ".join(rule.get("values") or ())
    return (
        f"LabelSelectorRequirement{{Key:{rule['key']},Operator:{rule['operator']},"
        f"Values:[{values}],}},"
    )


_PARAM_KIND = text("ParamKind", _param_kind, "Kind of the parameters")
_WEBHOOKS = table(
    NAME,
    number("Webhooks", count("webhooks"), "Number of webhooks"),
    AGE,
)
_BINDINGS = table(
    NAME,
    text("PolicyName", "spec.policyName", "Policy that is bound"),
    text("ParamRef", _param_ref, "Parameters of the policy"),
    AGE,
)

PRINTERS = {
    "admissionregistration/v1/mutatingadmissionpolicies": table(
        NAME,
        number("Mutations", count("spec.mutations"), "Number of mutations"),
        _PARAM_KIND,
        AGE,
    ),
    "admissionregistration/v1/mutatingadmissionpolicybindings": _BINDINGS,
    "admissionregistration/v1/mutatingwebhookconfigurations": _WEBHOOKS,
    "admissionregistration/v1/validatingadmissionpolicies": table(
        NAME,
        number("Validations", count("spec.validations"), "Number of validations"),
        _PARAM_KIND,
        AGE,
    ),
    "admissionregistration/v1/validatingadmissionpolicybindings": _BINDINGS,
    "admissionregistration/v1/validatingwebhookconfigurations": _WEBHOOKS,
}
