"""The behaviour of FlowSchema: assigns requests to priority levels."""

from __future__ import annotations

from typing import Any

from fairlead.codec.types.names import dns_label, dns_subdomain
from fairlead.resources.causes import Causes, GoValue, go_composite, go_pointer, quote
from fairlead.resources.core.shared import go_structs
from fairlead.resources.flowcontrol.bootstrap import FLOW_SCHEMAS
from fairlead.resources.flowcontrol.shared import FlowControlBehaviour
from fairlead.resources.go_values import given_list, go_list

PACKAGE = "flowcontrol"
MAX_PRECEDENCE = 10000
METHODS = ("ByNamespace", "ByUser")
SUBJECT_KINDS = {"Group": "group", "ServiceAccount": "serviceAccount", "User": "user"}
VERBS = ("create", "delete", "deletecollection", "get", "list", "patch", "proxy", "update", "watch")
NAMESPACE_INTRO = "each member of this list must be '*' or a DNS-1123 label; "
# The order in which the fields of other subject kinds are reported.
_OTHER_SUBJECTS = {"ServiceAccount": ("User", "Group"), "User": ("ServiceAccount", "Group")}
_OTHER_SUBJECTS["Group"] = ("ServiceAccount", "User")


class FlowSchemaBehaviour(FlowControlBehaviour):
    mandatory = FLOW_SCHEMAS

    def check_spec(self, name: str, spec: dict[str, Any], causes: Causes) -> None:
        _check_precedence(name, spec["matchingPrecedence"], causes)
        method = spec.get("distinguisherMethod")
        if method is not None and method["type"] not in METHODS:
            shown = {"Type": quote(method["type"])}
            causes.unsupported(
                "spec.distinguisherMethod.type",
                go_composite(f"{PACKAGE}.FlowDistinguisherMethod", shown),
                METHODS,
            )
        path, level = "spec.priorityLevelConfiguration.name", spec["priorityLevelConfiguration"]
        if level["name"]:
            causes.invalid_each(path, level["name"], dns_subdomain(level["name"]))
        else:
            causes.required(path, "must reference a priority level")
        for index, rule in enumerate(spec.get("rules") or ()):
            _check_rule(rule, f"spec.rules[{index}]", causes)

    def shown_spec(self, spec: dict[str, Any]) -> GoValue:
        level = {"Name": quote(spec["priorityLevelConfiguration"]["name"])}
        method = spec.get("distinguisherMethod")
        parts = {
            "PriorityLevelConfiguration": go_composite(
                f"{PACKAGE}.PriorityLevelConfigurationReference", level
            ),
            "MatchingPrecedence": str(spec["matchingPrecedence"]),
            "DistinguisherMethod": go_pointer(f"{PACKAGE}.FlowDistinguisherMethod", method),
            "Rules": go_structs(
                f"{PACKAGE}.PolicyRulesWithSubjects", given_list(spec, "rules"), _shown_rule
            ),
        }
        return go_composite(f"{PACKAGE}.FlowSchemaSpec", parts)


def _shown_rule(rule: dict[str, Any]) -> dict[str, str]:
    paths, resources = given_list(rule, "nonResourceRules"), given_list(rule, "resourceRules")
    return {
        "Subjects": go_structs(f"{PACKAGE}.Subject", rule["subjects"], _shown_subject),
        "ResourceRules": go_structs(
            f"{PACKAGE}.ResourcePolicyRule", resources, _shown_resource_rule
        ),
        "NonResourceRules": go_structs(f"{PACKAGE}.NonResourcePolicyRule", paths, _shown_path_rule),
    }


def _shown_subject(subject: dict[str, Any]) -> dict[str, str]:
    kinds = ("User", "Group", "ServiceAccount")
    named = {
        kind: go_pointer(f"{PACKAGE}.{kind}Subject", subject.get(SUBJECT_KINDS[kind]))
        for kind in kinds
    }
    return {"Kind": quote(subject["kind"]), **named}


def _shown_resource_rule(rule: dict[str, Any]) -> dict[str, str]:
    return {
        "Verbs": go_list("string", rule["verbs"]),
        "APIGroups": go_list("string", rule["apiGroups"]),
        "Resources": go_list("string", rule["resources"]),
        "ClusterScope": str(rule.get("clusterScope", False)).lower(),
        "Namespaces": go_list("string", given_list(rule, "namespaces")),
    }


def _shown_path_rule(rule: dict[str, Any]) -> dict[str, str]:
    return {
        "Verbs": go_list("string", rule["verbs"]),
        "NonResourceURLs": go_list("string", rule["nonResourceURLs"]),
    }


def _check_precedence(name: str, precedence: int, causes: Causes) -> None:
    path = "spec.matchingPrecedence"
    if precedence <= 0:
        causes.invalid(path, precedence, "must be a positive value")
    if precedence > MAX_PRECEDENCE:
        causes.invalid(path, precedence, f"must not be greater than {MAX_PRECEDENCE}")
    if precedence == 1 and name != "exempt":
        detail = "only the schema named 'exempt' may have matchingPrecedence 1"
        causes.invalid(path, precedence, detail)


def _check_rule(rule: dict[str, Any], path: str, causes: Causes) -> None:
    subjects = rule["subjects"] or []
    if not subjects:
        causes.required(f"{path}.subjects", "subjects must contain at least one value")
    for index, subject in enumerate(subjects):
        _check_subject(subject, f"{path}.subjects[{index}]", causes)
    resources, paths = rule.get("resourceRules") or [], rule.get("nonResourceRules") or []
    if not resources and not paths:
        detail = "at least one of resourceRules and nonResourceRules has to be non-empty"
        causes.required(path, detail)
    for index, inner in enumerate(resources):
        _check_resource_rule(inner, f"{path}.resourceRules[{index}]", causes)
    for index, inner in enumerate(paths):
        _check_path_rule(inner, f"{path}.nonResourceRules[{index}]", causes)


def _check_subject(subject: dict[str, Any], path: str, causes: Causes) -> None:
    kind = subject["kind"]
    if kind not in SUBJECT_KINDS:
        causes.unsupported(f"{path}.kind", kind, tuple(SUBJECT_KINDS))
        return
    field = SUBJECT_KINDS[kind]
    named = subject.get(field)
    if named is None:
        causes.required(f"{path}.{field}", f"{field} is required when subject kind is '{kind}'")
    else:
        _check_named(named, kind, f"{path}.{field}", causes)
    for other in _OTHER_SUBJECTS[kind]:
        field = SUBJECT_KINDS[other]
        if subject.get(field) is not None:
            detail = f"{field} is forbidden when subject kind is not '{other}'"
            causes.forbidden(f"{path}.{field}", detail)


def _check_named(named: dict[str, str], kind: str, path: str, causes: Causes) -> None:
    if not named["name"]:
        causes.required(f"{path}.name")
    if kind != "ServiceAccount":
        return
    if named["name"] not in ("", "*"):
        causes.invalid_each(f"{path}.name", named["name"], dns_subdomain(named["name"]))
    if named["namespace"]:
        causes.invalid_each(f"{path}.namespace", named["namespace"], dns_label(named["namespace"]))
    else:
        causes.required(f"{path}.namespace", "must specify namespace for service account")


def _check_verbs(verbs: list[str], path: str, causes: Causes) -> None:
    if not verbs:
        causes.required(path, "verbs must contain at least one value")
    elif "*" in verbs:
        _check_lone_star(verbs, "verbs", path, causes)
    elif not set(verbs) <= set(VERBS):
        causes.unsupported(path, go_list("string", verbs), VERBS)


def _check_lone_star(values: list[str], noun: str, path: str, causes: Causes) -> None:
    if len(values) > 1 and "*" in values:
        detail = f"if '*' is present, must not specify other {noun}"
        causes.invalid(path, go_list("string", values), detail)


def _check_resource_rule(rule: dict[str, Any], path: str, causes: Causes) -> None:
    _check_verbs(rule["verbs"] or [], f"{path}.verbs", causes)
    for name, singular, many in (
        ("apiGroups", "api group", "api groups"),
        ("resources", "resource", "resources"),
    ):
        values = rule[name] or []
        if not values:
            causes.required(f"{path}.{name}", f"resource rules must supply at least one {singular}")
        _check_lone_star(values, many, f"{path}.{name}", causes)
    namespaces, field_path = rule["namespaces"] or [], f"{path}.namespaces"
    if not namespaces and not rule.get("clusterScope"):
        detail = "resource rules that are not cluster scoped must supply at least one namespace"
        causes.required(field_path, detail)
    elif "*" in namespaces:
        _check_lone_star(namespaces, "namespaces", field_path, causes)
    else:
        for index, name in enumerate(namespaces):
            errors = (NAMESPACE_INTRO + error for error in dns_label(name))
            causes.invalid_each(f"{field_path}[{index}]", name, errors)


def _check_path_rule(rule: dict[str, Any], path: str, causes: Causes) -> None:
    _check_verbs(rule["verbs"] or [], f"{path}.verbs", causes)
    urls, field_path = rule["nonResourceURLs"] or [], f"{path}.nonResourceURLs"
    if not urls:
        causes.required(field_path, "nonResourceURLs must contain at least one value")
    elif "*" in urls:
        _check_lone_star(urls, "non-resource URLs", field_path, causes)
    else:
        for index, url in enumerate(urls):
            error = _path_error(url)
            if error:
                causes.invalid(f"{field_path}[{index}]", url, error)


def _path_error(url: str) -> str:
    """The first error of a path; `*` may only be its last segment."""
    if not url:
        return "must not be empty"
    if url == "/":
        return ""
    if not url.startswith("/"):
        return "must start with slash"
    if " " in url:
        return "must not contain white-space"
    if "//" in url:
        return "must not contain double slash"
    if "*" in url and (url.count("*") > 1 or not url.endswith("/*")):
        return "wildcard can only do suffix matching"
    return ""
