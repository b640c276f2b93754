"""The behaviour of ValidatingWebhookConfiguration and MutatingWebhookConfiguration."""

from __future__ import annotations

from typing import Any, NamedTuple

from fairlead.base.release import Release
from fairlead.resources.admissionregistration.client_config import (
    KNOWN,
    check_client_config,
    check_review_versions,
    has_known_version,
)
from fairlead.resources.admissionregistration.match_resources import (
    check_match_conditions,
    check_rule,
    warn_of_static_name,
)
from fairlead.resources.behaviour import Object
from fairlead.resources.causes import Causes
from fairlead.resources.context import Context
from fairlead.resources.networking.shared import check_full_name
from fairlead.resources.rules import (
    checks_selector_values,
    label_selector,
)
from fairlead.resources.storage.shared import OrderedBehaviour, Step

# The side effects that a webhook can declare.
SAFE_EFFECTS = ("None", "NoneOnDryRun")
ALL_EFFECTS = (*SAFE_EFFECTS, "Some", "Unknown")


MAX_TIMEOUT = 30
# The values of a webhook's policies.
_POLICIES = {"failurePolicy": ("Fail", "Ignore"), "matchPolicy": ("Equivalent", "Exact")}
_REINVOCATION = ("IfNeeded", "Never")


_SELECTORS = ("namespaceSelector", "objectSelector")


class _Strictness(NamedTuple):
    """How strictly webhooks are checked: an update tolerates the violations of the old
    configuration, and does not check match conditions that all stay the same."""

    effects: tuple[str, ...] = SAFE_EFFECTS
    known_version: bool = True
    unique_names: bool = True
    conditions: bool = True
    selector_values: bool = False


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
        strictness = _Strictness(selector_values=checks_selector_values(context.gates))
        _check_webhooks(value.get("webhooks") or [], strictness, causes, context.gates.release)

    def check_again(self, value: Object, old: Object, causes: Causes, context: Context) -> None:
        webhooks, before = value.get("webhooks") or [], old.get("webhooks") or []
        changed = list(map(_conditions, webhooks)) != list(map(_conditions, before))
        selectors = (webhook.get(name) for webhook in before for name in _SELECTORS)
        strictness = _strictness(before)._replace(
            conditions=changed, selector_values=checks_selector_values(context.gates, *selectors)
        )
        _check_webhooks(webhooks, strictness, causes, context.gates.release)

    def warnings(self, value: Object, old: Object | None, context: Context) -> None:
        if context.gates["ReservedStaticNames"]:
            warn_of_static_name(value, context)


def _conditions(webhook: dict[str, Any]) -> list[Object]:
    return webhook.get("matchConditions") or []


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
    webhooks: list[dict[str, Any]], strictness: _Strictness, causes: Causes, release: Release
) -> None:
    seen = set()
    for index, webhook in enumerate(webhooks):
        path, name = f"webhooks[{index}]", webhook["name"]
        _check_webhook(webhook, strictness, path, causes)
        if strictness.conditions:
            conditions = f"{path}.matchConditions"
            check_match_conditions(_conditions(webhook), conditions, causes, release)
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
    check_values = strictness.selector_values
    for name in _SELECTORS:
        label_selector(webhook.get(name), f"{path}.{name}", causes, check_values=check_values)
    reinvocation = webhook.get("reinvocationPolicy")
    _check_choice(reinvocation, _REINVOCATION, f"{path}.reinvocationPolicy", causes)
    check_client_config(webhook["clientConfig"], f"{path}.clientConfig", causes)


def _check_choice(value: str | None, supported: tuple[str, ...], path: str, causes: Causes) -> None:
    if value is not None and value not in supported:
        causes.unsupported(path, value, supported)
