"""The methods that authenticate bearer tokens, constructed from the flags."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import urlsplit

from fairlead.auth.authentication import (
    bootstrap_tokens,
    configuration,
    jwt_issuers,
    oidc,
    oidc_provider,
    webhook,
)
from fairlead.auth.authentication import token_file as token_files
from fairlead.auth.authentication.bearer import Audiences, TokenMethod
from fairlead.auth.authentication.console_sessions import ConsoleSessions
from fairlead.auth.authentication.expiring_secrets import Secrets
from fairlead.auth.authentication.keys import KeyFileError, KeyRing
from fairlead.auth.authentication.service_accounts import (
    Lookup,
    ServiceAccountTokens,
)
from fairlead.auth.authentication.tokens import ALGORITHMS
from fairlead.auth.authentication.user import credential_extra
from fairlead.base.dialect import Dialect
from fairlead.codec.configuration_files import ConfigurationError
from fairlead.codec.types.builtin import BuiltinTypes
from fairlead.resources.gates import Gates
from fairlead.wire.outgoing import json_calls
from fairlead.wire.outgoing.certificates import BundleError
from fairlead.wire.outgoing.client_config import ClientConfigError, load_client_config


class AuthenticationError(ValueError):
    """Invalid authentication settings; the text names the flag."""


# Returns the storage for a kind of secrets, given the keys of service account tokens.
SecretsOf = Callable[[str, KeyRing], Secrets]


class Closable(Protocol):
    async def close(self) -> None: ...


class TokenMethods:
    """Builds the methods for bearer tokens, and collects what runs in the background and what is
    closed at the end."""

    def __init__(
        self,
        options: argparse.Namespace,
        dialect: Dialect,
        gates: Gates,
        lookup: Lookup,
        own_key: Path,
    ) -> None:
        self._options, self._dialect, self._gates = options, dialect, gates
        self._lookup = lookup
        self.issuers: list[str] = options.service_account_issuer or [default_issuer(dialect)]
        self.audiences: Audiences = tuple(options.api_audiences or self.issuers[:1])
        self.keys = _keys(options, own_key)
        self.methods: list[TokenMethod] = []
        self.background: list[Callable[[], Coroutine[Any, Any, None]]] = []
        self.closables: list[Closable] = []
        self.sessions: ConsoleSessions | None = None
        self.settings: configuration.AuthenticationSettings | None = None
        self.configured: jwt_issuers.JwtIssuers | None = None
        self.account_tokens = ServiceAccountTokens(
            dialect,
            self.issuers,
            self.keys,
            self.audiences,
            lookup,
            look_up_legacy=options.service_account_lookup,
            gates=gates,
        )

    def build(self, console: SecretsOf | None, types: BuiltinTypes | None) -> None:
        """Build the methods in the order in which they are asked. Those of the console are first:
        others would send its tokens to third parties."""
        self.token_file = _token_file(self._options.token_auth_file, self.audiences)
        if console is not None:
            self._add_sessions(console)
        if self.token_file is not None:
            self.methods.append(self.token_file)
        self.methods.append(self.account_tokens)
        if self._options.enable_bootstrap_token_auth:
            method = bootstrap_tokens.BootstrapTokens(self._dialect, self.audiences, self._lookup)
            self.methods.append(method)
        if self._options.authentication_config is not None:
            assert types is not None
            self._add_configured_issuers(self._options.authentication_config, types)
        self._add_oidc()
        self._add_webhook()

    def _add_sessions(self, console: SecretsOf) -> None:
        codes, sessions = console("codes", self.keys), console("sessions", self.keys)
        self.sessions = ConsoleSessions(
            codes, sessions, self.audiences, self._lookup, self.token_file
        )
        self.methods.append(self.sessions)

    def _add_configured_issuers(self, path: Path, types: BuiltinTypes) -> None:
        file = configuration.AuthenticationFile(path, types, self._gates, self.issuers)
        self.settings = _settings(self._options, file)
        self.configured = jwt_issuers.JwtIssuers(file, self.settings, self.audiences)
        self.background.append(self.configured.run)
        self.closables.append(self.configured)
        self.methods.append(self.configured)

    def _add_oidc(self) -> None:
        options, dialect = self._options, self._dialect
        issuer, client = options.oidc_issuer_url, options.oidc_client_id
        if not issuer and not client:
            return
        if not issuer or not client:
            raise AuthenticationError("--oidc-issuer-url and --oidc-client-id go together")
        if urlsplit(issuer).scheme != "https":
            raise AuthenticationError(f"--oidc-issuer-url {issuer} is not an https URL")
        if issuer in self.issuers:
            raise AuthenticationError("--oidc-issuer-url must not be the service account issuer")
        algorithms = options.oidc_signing_algs or ["RS256"]
        for name in algorithms:
            if name not in ALGORITHMS:
                raise AuthenticationError(f"--oidc-signing-algs: {name} is not supported")
        try:
            provider = oidc_provider.Provider(issuer, options.oidc_ca_file, algorithms)
        except (OSError, BundleError) as error:
            reason = (
                error.strerror if isinstance(error, OSError) else "holds no usable PEM certificate"
            )
            raise AuthenticationError(f"--oidc-ca-file {options.oidc_ca_file}: {reason}") from None
        claim = options.oidc_username_claim
        rules = oidc.ClaimRules(
            client_id=client,
            username_claim=claim,
            username_prefix=oidc.username_prefix(options.oidc_username_prefix, claim, issuer),
            groups_claim=options.oidc_groups_claim,
            groups_prefix=options.oidc_groups_prefix,
            required=dict(options.oidc_required_claim),
            groups_array_only=dialect.oidc_groups_array_only,
            credential_extra=credential_extra(dialect)
            if self._gates["ServiceAccountTokenJTI"]
            else "",
        )
        self.background.append(provider.keep_trying)
        tokens = oidc.OidcTokens(provider, rules, self.audiences)
        self.closables.append(tokens)
        self.methods.append(tokens)

    def _add_webhook(self) -> None:
        options = self._options
        path = options.authentication_token_webhook_config_file
        if path is None:
            return
        try:
            poster = json_calls.JsonPoster(load_client_config(path))
        except ClientConfigError as error:
            raise AuthenticationError(
                f"--authentication-token-webhook-config-file: {error}"
            ) from None
        self.closables.append(poster)
        version = options.authentication_token_webhook_version
        api_version = f"{self._dialect.group_name('authentication.@')}/{version}"
        keep = options.authentication_token_webhook_cache_ttl
        method = webhook.TokenWebhook(poster, api_version, self.audiences, keep)
        self.methods.append(method)


def default_issuer(dialect: Dialect) -> str:
    return f"https://{dialect.own_service}.default.svc"


def _token_file(path: Path | None, audiences: Audiences) -> token_files.StaticTokens | None:
    if path is None:
        return None
    try:
        return token_files.StaticTokens(token_files.read_token_file(path), audiences)
    except token_files.TokenFileError as error:
        raise AuthenticationError(f"--token-auth-file: {error}") from None


def _keys(options: argparse.Namespace, own_key: Path) -> KeyRing:
    """The keys of service account tokens. The server's own key file is loaded lazily."""
    signing_key_file = options.service_account_signing_key_file
    files = options.service_account_key_file
    if not files and options.tls_private_key_file is not None:
        files = [options.tls_private_key_file]
    ring = KeyRing(signing_key_file or own_key, files)
    if signing_key_file or files:
        try:
            ring.load()
        except KeyFileError as error:
            raise AuthenticationError(f"service account keys: {error}") from None
    return ring


def _settings(
    options: argparse.Namespace, file: configuration.AuthenticationFile
) -> configuration.AuthenticationSettings:
    """The content of the configuration file, which must not contradict flags."""
    flag = f"--{configuration.FLAG}"
    if options.oidc_issuer_url or options.oidc_client_id:
        raise AuthenticationError(f"{flag} file and --oidc-* flags are mutually exclusive")
    try:
        settings = file.read()
    except ConfigurationError as error:
        raise AuthenticationError(str(error)) from None
    if settings.anonymous is not None and options.anonymous_auth is not None:
        raise AuthenticationError(
            f"{flag}: anonymous: Forbidden: --anonymous-auth flag cannot be set when anonymous"
            " field is configured in authentication configuration file"
        )
    return settings
