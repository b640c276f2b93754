"""A webhook parsed from its configuration, once for all writes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from fairlead.codec.types.model import Object
from fairlead.resources.admissionregistration.client_config import KNOWN
from fairlead.resources.admissionregistration.webhook_configurations import SAFE_EFFECTS
from fairlead.resources.rules import selector_is_empty
from fairlead.wire.outgoing.webhooks import Webhook

# Creates the caller for a webhook's client configuration.
MakeWebhook = Callable[[Object], Webhook]

ANY = "*"
_DEFAULT_TIMEOUT = 10


class Rule(NamedTuple):
    """A rule that matches requests. `resources` are pairs of resource and subresource."""

    operations: frozenset[str]
    groups: frozenset[str]
    versions: frozenset[str]
    resources: tuple[tuple[str, str], ...]
    scope: str


@dataclass(slots=True, eq=False)
class Hook:
    """A parsed webhook. `uid` is unique across all configurations. A selector is None if it selects
    everything. `version` is the AdmissionReview version to send, empty if none is supported.
    `effects` is the declared sideEffects. `compiled` holds the compiled match conditions from
    their first evaluation on."""

    configuration: str
    name: str
    uid: str
    rules: tuple[Rule, ...]
    is_exact: bool
    namespaces: Object | None
    objects: Object | None
    version: str
    effects: str | None
    timeout: float
    ignores_failure: bool
    if_needed: bool
    webhook: Webhook
    conditions: Sequence[Object] = ()
    compiled: Any = None

    @property
    def is_safe(self) -> bool:
        """Whether it may be called for a dry run."""
        return self.effects in SAFE_EFFECTS


def hooks_of(configuration: Object, make: MakeWebhook) -> list[Hook]:
    """The webhooks of a stored configuration, in order."""
    name = configuration["metadata"]["name"]
    seen: dict[str, int] = {}
    hooks = []
    for webhook in configuration.get("webhooks") or ():
        count = seen[webhook["name"]] = seen.get(webhook["name"], -1) + 1
        hooks.append(_hook(name, webhook, f"{name}/{webhook['name']}/{count}", make))
    return hooks


def _hook(configuration: str, webhook: Object, uid: str, make: MakeWebhook) -> Hook:
    offered = webhook.get("admissionReviewVersions") or ()
    return Hook(
        configuration,
        webhook["name"],
        uid,
        tuple(parse_rule(rule) for rule in webhook.get("rules") or ()),
        webhook.get("matchPolicy") == "Exact",
        parse_selector(webhook.get("namespaceSelector")),
        parse_selector(webhook.get("objectSelector")),
        next((version for version in offered if version in KNOWN), ""),
        webhook.get("sideEffects"),
        float(webhook.get("timeoutSeconds") or _DEFAULT_TIMEOUT),
        webhook.get("failurePolicy") == "Ignore",
        webhook.get("reinvocationPolicy") == "IfNeeded",
        make(webhook["clientConfig"]),
        webhook.get("matchConditions") or (),
    )


def parse_selector(selector: Object | None) -> Object | None:
    """The selector; None if it selects everything."""
    return None if selector_is_empty(selector) else selector


def parse_rule(rule: dict[str, Any]) -> Rule:
    return Rule(
        frozenset(rule.get("operations") or ()),
        frozenset(rule.get("apiGroups") or ()),
        frozenset(rule.get("apiVersions") or ()),
        tuple(_resource(name) for name in rule.get("resources") or ()),
        rule.get("scope") or ANY,
    )


def _resource(name: str) -> tuple[str, str]:
    resource, _, sub = name.partition("/")
    return resource, sub
