"""Rules of the parts that admission policies and their bindings share: the resources they match,
their parameters, and the match conditions that webhooks have too."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from fairlead.base.release import Release
from fairlead.codec.types.names import dns_1035_label, dns_subdomain, path_segment, qualified_name
from fairlead.resources.admissionregistration import expressions
from fairlead.resources.behaviour import Object
from fairlead.resources.causes import Causes
from fairlead.resources.context import Context
from fairlead.resources.go_values import go_list
from fairlead.resources.rules import label_selector, one_of_if_given

MATCH_POLICIES = ("Equivalent", "Exact")
NOT_FOUND_ACTIONS = ("Deny", "Allow")
MUTATED_OPERATIONS = ("*", "CONNECT", "CREATE", "UPDATE")
MAX_MATCH_CONDITIONS = 64
_EXCLUSIVE = "name and selector are mutually exclusive"


_STATIC_SUFFIX = ".static.@"


def warn_of_static_name(value: Object, context: Context) -> None:
    """Warn of names that the reference reserves for configurations in files."""
    suffix = context.dialect.group_name(_STATIC_SUFFIX)
    if value["metadata"].get("name", "").endswith(suffix):
        context.warn(
            f'metadata.name: names ending with "{suffix}" are reserved for static manifest-based'
            " configurations and cannot be managed via the API"
        )


def check_match_resources(match: dict[str, Any], path: str, causes: Causes) -> None:
    policy = match.get("matchPolicy")
    if policy is None:
        causes.required(f"{path}.matchPolicy")
    one_of_if_given(policy, MATCH_POLICIES, f"{path}.matchPolicy", causes)
    for name in ("namespaceSelector", "objectSelector"):
        if match.get(name) is None:
            causes.required(f"{path}.{name}")
        else:
            label_selector(match[name], f"{path}.{name}", causes, check_values=True)
    for name in ("resourceRules", "excludeResourceRules"):
        for index, rule in enumerate(match.get(name) or ()):
            _check_named_rule(rule, f"{path}.{name}[{index}]", causes)


def _check_named_rule(rule: dict[str, Any], path: str, causes: Causes) -> None:
    seen: set[str] = set()
    for index, name in enumerate(rule.get("resourceNames") or ()):
        item_path = f"{path}.resourceNames[{index}]"
        causes.invalid_each(item_path, name, path_segment(name))
        if name in seen:
            causes.duplicate(item_path, name)
        seen.add(name)
    check_rule(rule, path, causes)


def check_mutated_operations(match: dict[str, Any], path: str, causes: Causes) -> None:
    """A mutating policy cannot match deletes."""
    for rule in match.get("resourceRules") or ():
        for operation in rule.get("operations") or ():
            if operation not in MUTATED_OPERATIONS:
                field_path = f"{path}.resourceRules.operations"
                causes.unsupported(field_path, operation, MUTATED_OPERATIONS)


def check_param_kind(kind: dict[str, Any], path: str, causes: Causes) -> None:
    api_version, name = kind.get("apiVersion", ""), kind.get("kind", "")
    if not api_version:
        causes.required(f"{path}.apiVersion")
    elif api_version.count("/") > 1:
        detail = f"unexpected GroupVersion string: {api_version}"
        causes.invalid(f"{path}.apiVersion", api_version, detail)
    else:
        _check_group_version(api_version, f"{path}.apiVersion", causes)
    if not name:
        causes.required(f"{path}.kind")
    elif errors := dns_1035_label(name.lower()):
        detail = f"may have mixed case, but should otherwise match: {','.join(errors)}"
        causes.invalid(f"{path}.kind", name, detail)


def _check_group_version(api_version: str, path: str, causes: Causes) -> None:
    group, _, version = api_version.rpartition("/")
    if group and (errors := dns_subdomain(group)):
        causes.invalid(path, group, ",".join(errors))
    if not version:
        causes.invalid(path, api_version, "version must be specified")
    elif errors := dns_1035_label(version):
        causes.invalid(path, version, ",".join(errors))


def check_param_ref(ref: dict[str, Any], path: str, causes: Causes) -> None:
    name, selector = ref.get("name", ""), ref.get("selector")
    if name:
        causes.invalid_each(f"{path}.name", name, path_segment(name))
        if selector is not None:
            causes.forbidden(f"{path}.name", _EXCLUSIVE)
    if selector is not None:
        label_selector(selector, f"{path}.selector", causes, check_values=True)
        if name:
            causes.forbidden(f"{path}.selector", _EXCLUSIVE)
    if not name and selector is None:
        causes.required(path, "one of name or selector must be specified")
    action = ref.get("parameterNotFoundAction")
    if not action:
        causes.required(f"{path}.parameterNotFoundAction")
    elif action not in NOT_FOUND_ACTIONS:
        causes.unsupported(f"{path}.parameterNotFoundAction", action, NOT_FOUND_ACTIONS)


def check_match_conditions(
    conditions: Collection[dict[str, Any]],
    path: str,
    causes: Causes,
    release: Release,
    *,
    params: bool = False,
) -> None:
    """`params`: the conditions may refer to the parameters of a policy."""
    if not conditions:
        return
    environment = expressions.Expressions(release)
    declared = expressions.Declared(params=params)
    if len(conditions) > MAX_MATCH_CONDITIONS:
        causes.too_many(path, len(conditions), MAX_MATCH_CONDITIONS)
    seen: set[str] = set()
    for index, condition in enumerate(conditions):
        field_path, name = f"{path}[{index}]", condition["name"]
        text = condition["expression"].strip()
        if not text:
            causes.required(f"{field_path}.expression")
        else:
            environment.check(text, ("bool",), declared, f"{field_path}.expression", causes)
        if not name:
            causes.required(f"{field_path}.name")
        else:
            causes.invalid_each(f"{field_path}.name", name, qualified_name(name))
        if name and name in seen:
            causes.duplicate(f"{field_path}.name", name)
        seen.add(name)


# Rules that select the requests of a webhook or a policy

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


def _check_list(values: list[str], path: str, noun: str, element: str, causes: Causes) -> None:
    """At least one entry, and `*` only alone."""
    if not values:
        causes.required(path)
    if len(values) > 1 and "*" in values:
        detail = f"if '*' is present, must not specify other {noun}"
        causes.invalid(path, go_list(element, values), detail)


def _check_resources(resources: list[str], path: str, causes: Causes) -> None:
    """No resource may be listed both by name and by a wildcard that covers it."""
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
