"""Constructs authorization from the flags, or from a file that is reloaded when it changes."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from fairlead.auth.authorization import abac, configuration, modes
from fairlead.auth.authorization import webhook as authorization_webhook
from fairlead.auth.authorization.bindings import Follow
from fairlead.auth.authorization.chain import Authorizer, Epoch, Mode
from fairlead.auth.authorization.escalation import EscalationGuard
from fairlead.auth.authorization.modes import (
    AlwaysAllow,
    AlwaysDeny,
    AuthorizerSettings,
    ModeError,
    WebhookSettings,
    check_files,
    parse_modes,
)
from fairlead.auth.authorization.node import Node
from fairlead.auth.authorization.node_graph import NodeGraph
from fairlead.auth.authorization.rbac import Rbac
from fairlead.base.dialect import Dialect
from fairlead.base.files import Reloadable
from fairlead.codec.configuration_files import ConfigurationError, Section
from fairlead.codec.types.builtin import BuiltinTypes
from fairlead.resources.gates import Gates
from fairlead.wire.outgoing import json_calls
from fairlead.wire.outgoing.client_config import ClientConfigError, load_client_config

_CLOSED_AFTER = 60.0  # seconds for requests that began before a reload


class AuthorizationOptions(NamedTuple):
    """The flags `--authorization-…`."""

    mode: str = ",".join(modes.DEFAULT_MODES)
    policy_file: Path | None = None
    webhook_config_file: Path | None = None
    webhook_version: str = "v1beta1"
    webhook_authorized_ttl: float = 300.0
    webhook_unauthorized_ttl: float = 30.0
    config: Path | None = None


class Authorization:
    """The authorizer and the escalation guard. RBAC objects are always followed, even if RBAC is
    not a mode, because the guard needs them."""

    def __init__(
        self,
        authorizer: Authorizer,
        guard: EscalationGuard,
        makers: _ModeMaker,
        file: configuration.AuthorizationFile | None,
    ) -> None:
        self.authorizer = authorizer
        self.guard = guard
        self._makers = makers
        self._file = file
        self._closing: set[asyncio.Task[None]] = set()

    @property
    def reloads(self) -> bool:
        """Whether there is a configuration file, so that `run` has something to do."""
        return self._file is not None

    @property
    def reloadable(self) -> list[Reloadable]:
        return [self._file.file.reloadable] if self._file is not None else []

    async def run(self) -> None:
        """Reload the configuration file whenever it changes, until cancelled."""
        assert self._file is not None
        await self._file.file.reload_forever(self._reload)

    async def _reload(self, section: Section) -> None:
        assert self._file is not None
        names = self.authorizer.mode_names
        required = frozenset(names) - {modes.WEBHOOK}
        settings = await asyncio.to_thread(self._file.authorizers, section, required)
        for mode, _, _ in settings:
            if mode in _ONLY_AT_START and mode not in names:
                text = f"authorizer type {mode} is not allowed if it was not enabled at initial"
                raise section.error("authorizers", f"{text} server startup")
        old, self._makers.posters = self._makers.posters, []
        try:
            new = await asyncio.to_thread(self._makers.configured, settings)
        except ModeError as error:
            self._close_later(self._makers.posters)
            self._makers.posters = old
            raise section.error("authorizers", str(error)) from None
        self.authorizer.replace(new)
        self._close_later(old)

    def _close_later(self, posters: Sequence[json_calls.JsonPoster]) -> None:
        task = asyncio.create_task(_close(posters, _CLOSED_AFTER))
        self._closing.add(task)
        task.add_done_callback(self._closing.discard)

    async def close(self) -> None:
        for task in tuple(self._closing):
            task.cancel()
        await _close(self._makers.posters)


async def _close(posters: Sequence[json_calls.JsonPoster], after: float = 0.0) -> None:
    try:
        if after:
            await asyncio.sleep(after)
    finally:
        for poster in posters:
            await poster.close()


def build_authorization(
    dialect: Dialect,
    follow: Follow,
    options: AuthorizationOptions,
    gates: Gates | None = None,
    types: BuiltinTypes | None = None,
) -> Authorization:
    """Raises ModeError or ConfigurationError with a text for the administrator. `types` are needed
    for a configuration file."""
    gates = gates or Gates()
    epoch = Epoch()
    rbac = Rbac(dialect, epoch)
    rbac.follow(follow)
    makers = _ModeMaker(dialect, follow, gates, options.policy_file, rbac)
    file = None
    if options.config is not None:
        assert types is not None
        file = configuration.AuthorizationFile(options.config, types, gates)
        settings = file.read()
    else:
        settings = _settings_of_flags(options)
    names = list(dict.fromkeys(authorizer.mode for authorizer in settings))
    try:
        built = makers.configured(settings)
    except ModeError as error:
        if file is not None:
            raise ConfigurationError(f"--{configuration.FLAG}: {error}") from None
        raise
    authorizer = Authorizer(built, epoch, names)
    return Authorization(authorizer, EscalationGuard(authorizer, rbac, gates), makers, file)


def _settings_of_flags(options: AuthorizationOptions) -> list[AuthorizerSettings]:
    names = parse_modes(options.mode)
    file = options.webhook_config_file
    check_files(names, options.policy_file is not None, file is not None)
    webhook = None
    if file is not None:
        webhook = WebhookSettings(
            file,
            options.webhook_version,
            options.webhook_authorized_ttl,
            options.webhook_unauthorized_ttl,
        )
    return [
        AuthorizerSettings(name, name.lower(), webhook if name == modes.WEBHOOK else None)
        for name in names
    ]


# Modes that follow objects or read a file once, at the start of the server.
_ONLY_AT_START = (modes.NODE, modes.RBAC, modes.ABAC)


class _ModeMaker:
    """Makes modes. Those that follow objects or read a file are made once."""

    def __init__(
        self,
        dialect: Dialect,
        follow: Follow,
        gates: Gates,
        policy_file: Path | None,
        rbac: Rbac,
    ) -> None:
        self._dialect = dialect
        self._follow = follow
        self._gates = gates
        self._policy_file = policy_file
        self._kept: dict[str, Mode] = {modes.RBAC: rbac}
        self.posters: list[json_calls.JsonPoster] = []

    def configured(self, settings: Sequence[AuthorizerSettings]) -> list[Mode]:
        """The modes of a configuration; raises ModeError."""
        return [self._mode(mode, webhook) for mode, _, webhook in settings]

    def _mode(self, name: str, webhook: WebhookSettings | None) -> Mode:
        if webhook is not None:
            return self._webhook(webhook)
        if name == modes.ALWAYS_ALLOW:
            return AlwaysAllow()
        if name == modes.ALWAYS_DENY:
            return AlwaysDeny()
        if name not in self._kept:
            self._kept[name] = self._node() if name == modes.NODE else self._abac()
        return self._kept[name]

    def _node(self) -> Mode:
        graph = NodeGraph(self._dialect, self._gates)
        graph.follow(self._follow)
        return Node(self._dialect, graph, self._gates)

    def _abac(self) -> Mode:
        if self._policy_file is None:
            raise ModeError("authorization-mode ABAC's authorization policy file not passed")
        try:
            return abac.Abac(abac.read_policy_file(self._policy_file, self._dialect))
        except abac.PolicyFileError as error:
            raise ModeError(f"--authorization-policy-file: {error}") from None

    def _webhook(self, settings: WebhookSettings) -> Mode:
        if settings.version not in authorization_webhook.VERSIONS:
            shown = " or ".join(authorization_webhook.VERSIONS)
            raise ModeError(f"--authorization-webhook-version must be {shown}")
        try:
            poster = json_calls.JsonPoster(load_client_config(settings.file))
        except ClientConfigError as error:
            raise ModeError(f"--authorization-webhook-config-file: {error}") from None
        self.posters.append(poster)
        return authorization_webhook.Webhook(
            self._dialect,
            poster,
            version=settings.version,
            authorized_ttl=settings.authorized_ttl,
            unauthorized_ttl=settings.unauthorized_ttl,
            timeout=settings.timeout,
            denies=settings.denies,
            conditions=settings.conditions,
        )
