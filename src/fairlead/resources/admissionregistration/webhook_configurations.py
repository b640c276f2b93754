"""The behaviour and columns of ValidatingWebhookConfiguration and MutatingWebhookConfiguration."""

from __future__ import annotations

from typing import Any, NamedTuple

from fairlead.resources.admissionregistration.client_config import (
    KNOWN,
    check_client_config,
    check_review_versions,
    has_known_version,
)
from fairlead.resources.behaviour import Object
from fairlead.resources.causes import Causes
from fairlead.resources.columns.cell_text import count
from fairlead.resources.columns.model import AGE, NAME, number, table
from fairlead.resources.context import Context
from fairlead.resources.go_values import go_list
from fairlead.resources.networking.shared import check_full_name
from fairlead.resources.rules import label_selector
from fairlead.resources.storage.shared import OrderedBehaviour, Step

# The side effects that a webhook can declare.
SAFE_EFFECTS = ("None", "NoneOnDryRun")
ALL_EFFECTS = (*SAFE_EFFECTS, "Some", "Unknown")


MAX_TIMEOUT = 30
# The values of a webhook's policies.
_POLICIES = {"failurePolicy": ("Fail", "Ignore"), "matchPolicy": ("Equivalent", "Exact")}
_REINVOCATION = ("IfNeeded", "Never")


class _Strictness(NamedTuple):
    """How strictly webhooks are checked: an update tolerates the violations of the old
    configuration."""

    effects: tuple[str, ...] = SAFE_EFFECTS
    known_version: bool = True
    unique_names: bool = True


class WebhookConfigurationBehaviour(OrderedBehaviour):
    """The behaviour of both kinds; only mutating webhooks have a reinvocation policy."""

    qualified_finalizers = False

    update_order = (Step.METADATA, Step.RULES)

    def fill_defaults(self, value: Object, context: Context) -> None:
        if context.dialect.service_path_filled:
            for webhook in value.get("webhooks") or ():
                service = webhook["clientConfig"].get("service")
                if service is not None:
                    service.setdefault("path", "/")

    def check(self, value: Object, causes: Causes, context: Context) -> None:
        _check_webhooks(value.get("webhooks") or [], _Strictness(), causes)

    def check_again(self, value: Object, old: Object, causes: Causes, context: Context) -> None:
        strictness = _strictness(old.get("webhooks") or [])
        _check_webhooks(value.get("webhooks") or [], strictness, causes)


def _strictness(webhooks: list[dict[str, Any]]) -> _Strictness:
    names = [webhook["name"] for webhook in webhooks]
    safe = all(webhook.get("sideEffects") in SAFE_EFFECTS for webhook in webhooks)
    return _Strictness(
        effects=SAFE_EFFECTS if safe else ALL_EFFECTS,
        known_version=all(
            has_known_version(webhook["admissionReviewVersions"]) for webhook in webhooks
        ),
        unique_names=len(set(names)) == len(names),
    )


def _check_webhooks(
    webhooks: list[dict[str, Any]], strictness: _Strictness, causes: Causes
) -> None:
    seen = set()
    for index, webhook in enumerate(webhooks):
        path, name = f"webhooks[{index}]", webhook["name"]
        _check_webhook(webhook, strictness, path, causes)
        check_review_versions(
            webhook["admissionReviewVersions"],
            f"{path}.admissionReviewVersions",
            causes,
            missing=f"must specify one of {', '.join(KNOWN)}",
            require_known=strictness.known_version,
        )
        if strictness.unique_names and name and name in seen:
            causes.duplicate(f"{path}.name", name)
        seen.add(name)


def _check_webhook(
    webhook: dict[str, Any], strictness: _Strictness, path: str, causes: Causes
) -> None:
    check_full_name(webhook["name"], 3, f"{path}.name", causes)
    for index, rule in enumerate(webhook.get("rules") or ()):
        check_rule(rule, f"{path}.rules[{index}]", causes)
    for name, supported in _POLICIES.items():
        _check_choice(webhook.get(name), supported, f"{path}.{name}", causes)
    if webhook.get("sideEffects") is None:
        detail = f"must specify one of {', '.join(strictness.effects)}"
        causes.required(f"{path}.sideEffects", detail)
    _check_choice(webhook.get("sideEffects"), strictness.effects, f"{path}.sideEffects", causes)
    timeout = webhook.get("timeoutSeconds")
    if timeout is not None and not 1 <= timeout <= MAX_TIMEOUT:
        detail = f"the timeout value must be between 1 and {MAX_TIMEOUT} seconds"
        causes.invalid(f"{path}.timeoutSeconds", timeout, detail)
    for name in ("namespaceSelector", "objectSelector"):
        label_selector(webhook.get(name), f"{path}.{name}", causes)
    reinvocation = webhook.get("reinvocationPolicy")
    _check_choice(reinvocation, _REINVOCATION, f"{path}.reinvocationPolicy", causes)
    check_client_config(webhook["clientConfig"], f"{path}.clientConfig", causes)


def _check_choice(value: str | None, supported: tuple[str, ...], path: str, causes: Causes) -> None:
    if value is not None and value not in supported:
        causes.unsupported(path, value, supported)


# Rules that select the requests of a webhook

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


# Columns of webhook configurations

_WEBHOOKS = table(
    NAME,
    number("Webhooks", count("webhooks"), "Number of webhooks"),
    AGE,
)

PRINTERS = {
    "admissionregistration/v1/mutatingwebhookconfigurations": _WEBHOOKS,
    "admissionregistration/v1/validatingwebhookconfigurations": _WEBHOOKS,
}
