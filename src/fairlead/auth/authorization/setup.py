"""Constructs authorization from the flags."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import NamedTuple

from fairlead.auth.authorization import abac, modes
from fairlead.auth.authorization import webhook as authorization_webhook
from fairlead.auth.authorization.bindings import Follow
from fairlead.auth.authorization.chain import Authorizer, Epoch, Mode
from fairlead.auth.authorization.escalation import EscalationGuard
from fairlead.auth.authorization.modes import (
    AlwaysAllow,
    AlwaysDeny,
    ModeError,
    check_files,
    parse_modes,
)
from fairlead.auth.authorization.node import Node
from fairlead.auth.authorization.node_graph import NodeGraph
from fairlead.auth.authorization.rbac import Rbac
from fairlead.base.dialect import Dialect
from fairlead.resources.gates import Gates
from fairlead.wire.outgoing import json_calls
from fairlead.wire.outgoing.client_config import ClientConfigError, load_client_config


class AuthorizationOptions(NamedTuple):
    """The flags `--authorization-…`."""

    mode: str = ",".join(modes.DEFAULT_MODES)
    policy_file: Path | None = None
    webhook_config_file: Path | None = None
    webhook_version: str = "v1beta1"
    webhook_authorized_ttl: float = 300.0
    webhook_unauthorized_ttl: float = 30.0


class Authorization(NamedTuple):
    """The authorizer, the escalation guard, and the function that closes connections. RBAC objects
    are always followed, even if RBAC is not a mode, because the guard needs them."""

    authorizer: Authorizer
    guard: EscalationGuard
    close: Callable[[], Awaitable[None]]


def build_authorization(
    dialect: Dialect, follow: Follow, options: AuthorizationOptions, gates: Gates | None = None
) -> Authorization:
    """Raises ModeError with a text for the administrator."""
    names = parse_modes(options.mode)
    check_files(names, options.policy_file is not None, options.webhook_config_file is not None)
    epoch = Epoch()
    rbac = Rbac(dialect, epoch)
    rbac.follow(follow)
    posters: list[json_calls.JsonPoster] = []

    def node() -> Mode:
        graph = NodeGraph(dialect, gates)
        graph.follow(follow)
        return Node(dialect, graph, gates)

    def webhook() -> Mode:
        posters.append(_poster(options))
        return _webhook(dialect, posters[-1], options)

    makers: dict[str, Callable[[], Mode]] = {
        modes.RBAC: lambda: rbac,
        modes.NODE: node,
        modes.ABAC: lambda: _abac(dialect, options),
        modes.WEBHOOK: webhook,
        modes.ALWAYS_ALLOW: AlwaysAllow,
        modes.ALWAYS_DENY: AlwaysDeny,
    }
    authorizer = Authorizer([makers[name]() for name in names], epoch)

    async def close() -> None:
        for poster in posters:
            await poster.close()

    return Authorization(authorizer, EscalationGuard(authorizer, rbac, gates), close)


def _abac(dialect: Dialect, options: AuthorizationOptions) -> abac.Abac:
    assert options.policy_file is not None
    try:
        return abac.Abac(abac.read_policy_file(options.policy_file, dialect))
    except abac.PolicyFileError as error:
        raise ModeError(f"--authorization-policy-file: {error}") from None


def _poster(options: AuthorizationOptions) -> json_calls.JsonPoster:
    assert options.webhook_config_file is not None
    try:
        return json_calls.JsonPoster(load_client_config(options.webhook_config_file))
    except ClientConfigError as error:
        raise ModeError(f"--authorization-webhook-config-file: {error}") from None


def _webhook(
    dialect: Dialect, poster: json_calls.JsonPoster, options: AuthorizationOptions
) -> authorization_webhook.Webhook:
    if options.webhook_version not in authorization_webhook.VERSIONS:
        shown = " or ".join(authorization_webhook.VERSIONS)
        raise ModeError(f"--authorization-webhook-version must be {shown}")
    return authorization_webhook.Webhook(
        dialect,
        poster,
        version=options.webhook_version,
        authorized_ttl=options.webhook_authorized_ttl,
        unauthorized_ttl=options.webhook_unauthorized_ttl,
    )
