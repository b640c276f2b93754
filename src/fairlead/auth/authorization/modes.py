"""`--authorization-mode`: the modes and their order."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from fairlead.auth.authentication.user import User
from fairlead.auth.authorization.attributes import ALLOWED, Attributes, Decision, UserRules
from fairlead.auth.authorization.chain import ImmediateMode

if TYPE_CHECKING:
    from fairlead.auth.configuration import Expression

RBAC, NODE, ABAC, WEBHOOK = "RBAC", "Node", "ABAC", "Webhook"
ALWAYS_ALLOW, ALWAYS_DENY = "AlwaysAllow", "AlwaysDeny"
MODES = (ALWAYS_ALLOW, ALWAYS_DENY, ABAC, WEBHOOK, RBAC, NODE)
DEFAULT_MODES = (NODE, RBAC)


class ModeError(ValueError):
    """Invalid values of the authorization flags."""


def parse_modes(text: str) -> tuple[str, ...]:
    """Parse a comma-separated list of modes, keeping its order."""
    modes = tuple(text.split(",")) if text else ()
    if not modes:
        raise ModeError("at least one authorization-mode must be passed")
    for mode in modes:
        if mode not in MODES:
            raise ModeError(f'authorization-mode "{mode}" is not a valid mode')
    if len(set(modes)) != len(modes):
        shown = " ".join(f'"{mode}"' for mode in modes)
        raise ModeError(f"authorization-mode [{shown}] has mode specified more than once")
    return modes


def check_files(modes: tuple[str, ...], policy_file: bool, webhook_config: bool) -> None:
    """Check that each mode has the file it needs, and that no file is given without its mode."""
    for mode, value, noun, flag in (
        (ABAC, policy_file, "authorization policy file", "--authorization-policy-file"),
        (
            WEBHOOK,
            webhook_config,
            "authorization config file",
            "--authorization-webhook-config-file",
        ),
    ):
        if mode in modes and not value:
            raise ModeError(f"authorization-mode {mode}'s {noun} not passed")
        if value and mode not in modes:
            raise ModeError(f"cannot specify {flag} without mode {mode}")


# The authorizers in their order, from the flags or from a file.

MAX_TIMEOUT = 30.0
AUTHORIZED_TTL, UNAUTHORIZED_TTL = 300.0, 30.0


class WebhookSettings(NamedTuple):
    """The configuration of one webhook. `denies` is the decision if it fails: to deny the request,
    or no opinion."""

    file: Path
    version: str = "v1beta1"
    authorized_ttl: float = AUTHORIZED_TTL
    unauthorized_ttl: float = UNAUTHORIZED_TTL
    timeout: float = MAX_TIMEOUT
    denies: bool = False
    conditions: tuple[Expression, ...] = ()


class AuthorizerSettings(NamedTuple):
    """One authorizer: its mode, and the settings of a webhook."""

    mode: str
    name: str
    webhook: WebhookSettings | None = None


# The constant modes: AlwaysAllow and AlwaysDeny.

_EVERYTHING_IS_FORBIDDEN = Decision(reason="Everything is forbidden.")


class AlwaysAllow(ImmediateMode):
    def decide(self, attributes: Attributes) -> Decision:
        return ALLOWED

    def rules_for(self, user: User, namespace: str) -> UserRules:
        return UserRules(
            [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}],
            [{"verbs": ["*"], "nonResourceURLs": ["*"]}],
        )


class AlwaysDeny(ImmediateMode):
    """Never has an opinion, so a later mode may still allow."""

    def decide(self, attributes: Attributes) -> Decision:
        return _EVERYTHING_IS_FORBIDDEN

    def rules_for(self, user: User, namespace: str) -> UserRules:
        return UserRules()
