"""`--authorization-mode`: which modes decide, in which order."""

from __future__ import annotations

from fairlead.auth.authentication.user import User
from fairlead.auth.authorization.attributes import ALLOWED, Attributes, Decision, UserRules
from fairlead.auth.authorization.chain import ImmediateMode

RBAC, NODE, ABAC, WEBHOOK = "RBAC", "Node", "ABAC", "Webhook"
ALWAYS_ALLOW, ALWAYS_DENY = "AlwaysAllow", "AlwaysDeny"
MODES = (ALWAYS_ALLOW, ALWAYS_DENY, ABAC, WEBHOOK, RBAC, NODE)
DEFAULT_MODES = (NODE, RBAC)


class ModeError(ValueError):
    """The modes cannot be what the command line says."""


def parse_modes(text: str) -> tuple[str, ...]:
    """The modes of a comma-separated list, in its order."""
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
    """A file that a mode needs must be given, and none without its mode."""
    for mode, given, what, flag in (
        (ABAC, policy_file, "authorization policy file", "--authorization-policy-file"),
        (
            WEBHOOK,
            webhook_config,
            "authorization config file",
            "--authorization-webhook-config-file",
        ),
    ):
        if mode in modes and not given:
            raise ModeError(f"authorization-mode {mode}'s {what} not passed")
        if given and mode not in modes:
            raise ModeError(f"cannot specify {flag} without mode {mode}")


# The modes that look at nothing: AlwaysAllow and AlwaysDeny.

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
    """Has no opinion on anything, so that a mode after it may still allow."""

    def decide(self, attributes: Attributes) -> Decision:
        return _EVERYTHING_IS_FORBIDDEN

    def rules_for(self, user: User, namespace: str) -> UserRules:
        return UserRules()
