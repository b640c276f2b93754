"""The rules that say which requests a webhook is asked about."""

from __future__ import annotations

from typing import Any

from fairlead.resources.causes import Causes
from fairlead.resources.go_values import go_list

OPERATIONS = ("*", "CONNECT", "CREATE", "DELETE", "UPDATE")
SCOPES = ("*", "Cluster", "Namespaced")


def check_rule(rule: dict[str, Any], path: str, causes: Causes) -> None:
    operations = rule.get("operations") or []
    _check_list(
        operations,
        f"{path}.operations",
        "operations",
        "admissionregistration.OperationType",
        causes,
    )
    for index, operation in enumerate(operations):
        if operation not in OPERATIONS:
            causes.unsupported(f"{path}.operations[{index}]", operation, OPERATIONS)
    _check_list(rule.get("apiGroups") or [], f"{path}.apiGroups", "API groups", "string", causes)
    versions = rule.get("apiVersions") or []
    _check_list(versions, f"{path}.apiVersions", "API versions", "string", causes)
    for index, version in enumerate(versions):
        if not version:
            causes.required(f"{path}.apiVersions[{index}]")
    _check_resources(rule.get("resources") or [], f"{path}.resources", causes)
    scope = rule.get("scope")
    if scope is not None and scope not in SCOPES:
        causes.unsupported(f"{path}.scope", scope, SCOPES)


def _check_list(values: list[str], path: str, what: str, element: str, causes: Causes) -> None:
    """At least one, and a star only alone."""
    if not values:
        causes.required(path)
    if len(values) > 1 and "*" in values:
        detail = f"if '*' is present, must not specify other {what}"
        causes.invalid(path, go_list(element, values), detail)


def _check_resources(resources: list[str], path: str, causes: Causes) -> None:
    """No resource twice: by its own name and by a star that stands for it."""
    if not resources:
        causes.required(path)
    with_any_sub: set[str] = set()
    of_any_resource: set[str] = set()
    plain = False
    for index, name in enumerate(resources):
        if not name:
            causes.required(f"{path}[{index}]")
            continue
        resource, slash, sub = name.partition("/")
        if not slash:
            plain = name != "*"  # as in the reference, only the last plain name counts
            continue
        if resource in with_any_sub:
            causes.invalid(f"{path}[{index}]", name, _covered(f"{resource}/*", name))
        if sub in of_any_resource:
            causes.invalid(f"{path}[{index}]", name, _covered(f"*/{sub}", name))
        if sub == "*":
            with_any_sub.add(resource)
        if resource == "*":
            of_any_resource.add(sub)
    shown = go_list("string", resources)
    if len(resources) > 1 and "*/*" in resources:
        causes.invalid(path, shown, "if '*/*' is present, must not specify other resources")
    if plain and "*" in resources:
        detail = "if '*' is present, must not specify other resources without subresources"
        causes.invalid(path, shown, detail)


def _covered(by: str, name: str) -> str:
    return f"if '{by}' is present, must not specify {name}"
