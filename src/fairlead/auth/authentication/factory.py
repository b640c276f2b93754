"""Constructs the authenticator from the flags."""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import urlsplit

from fairlead.auth.authentication import (
    bootstrap_tokens,
    configuration,
    front_proxy,
    jwt_issuers,
    oidc,
    oidc_provider,
    reloads,
    webhook,
)
from fairlead.auth.authentication import token_file as token_files
from fairlead.auth.authentication.account_tokens import IssuerDocuments, TokenIssuer
from fairlead.auth.authentication.authorities import Authorities, AuthorityError, ClientCertificates
from fairlead.auth.authentication.bearer import Audiences, BearerTokens, TokenMethod
from fairlead.auth.authentication.chain import Authenticator, Method
from fairlead.auth.authentication.console_sessions import ConsoleSessions
from fairlead.auth.authentication.expiring_secrets import Secrets
from fairlead.auth.authentication.keys import KeyFileError, KeyRing
from fairlead.auth.authentication.service_accounts import (
    ACCOUNTS,
    NODES,
    PODS,
    SECRETS,
    Lookup,
    ServiceAccountTokens,
)
from fairlead.auth.authentication.tokens import ALGORITHMS
from fairlead.auth.authentication.user import credential_extra
from fairlead.auth.authentication.websocket_tokens import WebSocketTokens
from fairlead.base.dialect import Dialect
from fairlead.base.logs import Logger
from fairlead.base.reloading import Reloadable
from fairlead.codec.configuration_files import ConfigurationError
from fairlead.codec.types.builtin import BuiltinTypes
from fairlead.resources.gates import Gates
from fairlead.storage.version import Change
from fairlead.wire.outgoing import json_calls
from fairlead.wire.outgoing.certificates import BundleError
from fairlead.wire.outgoing.client_config import ClientConfigError, load_client_config

logger = Logger("fairlead.auth.authentication")

_RELOAD_EVERY = 1.0
_MIN_LIFETIME, _MAX_LIFETIME = 3600.0, float(2**32)

# Calls a listener after each commit to a resource (internal name).
Follow = Callable[[str, Callable[[Change], None]], None]


class AuthenticationError(ValueError):
    """Invalid authentication settings; the text names the flag."""


# Where secrets of a kind are kept; the keys are those of service account tokens.
SecretsOf = Callable[[str, KeyRing], Secrets]


class Closable(Protocol):
    async def close(self) -> None: ...


@dataclass(slots=True)
class Authentication:
    """The parts of authentication that the server uses."""

    authenticator: Authenticator
    tokens: BearerTokens
    issuer: TokenIssuer
    documents: IssuerDocuments
    client_authorities: Authorities
    proxy_authorities: Authorities | None
    identity_headers: tuple[bytes, ...]  # prefixes of the headers in which a proxy names users
    sessions: ConsoleSessions | None  # None without a console
    account_tokens: ServiceAccountTokens
    reloadable: list[Reloadable]
    _background: list[Callable[[], Coroutine[Any, Any, None]]] = field(default_factory=list)
    _closables: list[Closable] = field(default_factory=list)

    @property
    def authorities(self) -> list[Authorities]:
        """All CAs for the TLS layer."""
        proxy = self.proxy_authorities
        return [self.client_authorities, *([proxy] if proxy is not None else [])]

    def on_legacy_use(self, note: Callable[[str], None]) -> None:
        """Call a function with the key of the Secret whenever a token in a Secret is used."""
        self.account_tokens.on_legacy_use = note

    async def run(self) -> None:
        """Reload changed files and fetch provider keys, until cancelled."""
        async with asyncio.TaskGroup() as group:
            for work in self._background:
                group.create_task(work())
            group.create_task(asyncio.to_thread(_load_keys, self.issuer.keys))
            while True:
                await asyncio.sleep(_RELOAD_EVERY)
                for authorities in self.authorities:
                    authorities.reload()

    async def close(self) -> None:
        for closable in self._closables:
            await closable.close()


def _load_keys(keys: KeyRing) -> None:
    """Load the keys early to log unusable ones at startup."""
    try:
        keys.load()
    except KeyFileError as error:
        logger.error("service account tokens cannot be issued or verified", err=error)


def build_authenticator(
    options: argparse.Namespace,
    dialect: Dialect,
    *,
    lookup: Lookup,
    follow: Follow,
    own_ca: Path,
    own_key: Path,
    console: SecretsOf | None = None,
    authorization_modes: Sequence[str] = (),
    gates: Gates | None = None,
    types: BuiltinTypes | None = None,
) -> Authentication:
    """Construct authentication from the flags; raises AuthenticationError.

    `lookup` reads the newest version of an object. `follow` subscribes to commits. `own_ca` is the
    server's CA, whose client certificates are always accepted. `own_key` is the default signing
    key. `console` returns where codes or sessions of the console are kept. `types` are needed for a
    configuration file.
    """
    issuers = options.service_account_issuer or [default_issuer(dialect)]
    audiences: Audiences = tuple(options.api_audiences or issuers[:1])
    keys = _keys(options, own_key)
    gates = gates or Gates()
    issuer = _issuer(options, dialect, issuers[0], keys, audiences)
    clients = _authorities("--client-ca-file", own_ca, options.client_ca_file)
    closables: list[Closable] = []
    background: list[Callable[[], Coroutine[Any, Any, None]]] = []
    methods: list[TokenMethod] = []
    token_file = _token_file(options.token_auth_file, audiences)
    sessions = None
    if console is not None:
        codes, kept = console("codes", keys), console("sessions", keys)
        sessions = ConsoleSessions(codes, kept, audiences, lookup, token_file)
        methods.append(sessions)  # first: other methods would send its tokens to third parties
    if token_file is not None:
        methods.append(token_file)
    account_tokens = ServiceAccountTokens(
        dialect,
        issuers,
        keys,
        audiences,
        lookup,
        look_up_legacy=options.service_account_lookup,
        gates=gates,
    )
    methods.append(account_tokens)
    if options.enable_bootstrap_token_auth:
        methods.append(bootstrap_tokens.BootstrapTokens(dialect, audiences, lookup))
    settings = configured = None
    if options.authentication_config is not None:
        assert types is not None
        path = options.authentication_config
        file = configuration.AuthenticationFile(path, types, gates, issuers)
        settings = _settings(options, file)
        configured = jwt_issuers.JwtIssuers(file, settings, audiences)
        background.append(configured.run)
        closables.append(configured)
        methods.append(configured)
    methods += _oidc(options, dialect, audiences, background, closables, gates)
    methods += _webhook(options, dialect, audiences, closables)
    tokens = BearerTokens(methods, audiences)
    if configured is not None:
        configured.forget = tokens.cache.clear
    _forget_with_objects(tokens, follow, gates)
    proxy = _proxy(options)
    chain: list[Method] = [
        ClientCertificates(clients, dialect, gates),
        tokens,
        WebSocketTokens(dialect, tokens),
    ]
    if proxy is not None:
        chain.insert(0, proxy[1])
    return Authentication(
        Authenticator(
            chain,
            anonymous=_anonymous(options, authorization_modes, settings),
            anonymous_paths=settings.paths if settings is not None else frozenset(),
        ),
        tokens,
        issuer,
        _documents(options, issuers[0], keys),
        clients,
        proxy[0] if proxy is not None else None,
        proxy[1].headers if proxy is not None else (),
        sessions,
        account_tokens,
        _reloadable(options, clients, proxy, token_file, tokens, configured),
        background,
        closables,
    )


def _reloadable(
    options: argparse.Namespace,
    clients: Authorities,
    proxy: tuple[Authorities, front_proxy.FrontProxy] | None,
    token_file: token_files.StaticTokens | None,
    tokens: BearerTokens,
    configured: jwt_issuers.JwtIssuers | None,
) -> list[Reloadable]:
    name = "--client-ca-file" if options.client_ca_file is not None else "the CA of clients"
    parts = [reloads.of_authorities(name, clients)]
    if proxy is not None:
        parts.append(reloads.of_authorities("--requestheader-client-ca-file", proxy[0]))
    if token_file is not None:
        flag, path = "--token-auth-file", options.token_auth_file
        parts.append(reloads.of_token_file(flag, path, token_file, tokens.cache.clear))
    if configured is not None:
        parts.append(configured.reloadable)
    return parts


def default_issuer(dialect: Dialect) -> str:
    return f"https://{dialect.own_service}.default.svc"


def _authorities(flag: str, *paths: Path | None) -> Authorities:
    try:
        return Authorities(*(path for path in paths if path is not None))
    except AuthorityError as error:
        raise AuthenticationError(f"{flag}: {error}") from None


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


def _issuer(
    options: argparse.Namespace, dialect: Dialect, name: str, keys: KeyRing, audiences: Audiences
) -> TokenIssuer:
    limit = options.service_account_max_token_expiration
    if limit and not _MIN_LIFETIME <= limit <= _MAX_LIFETIME:
        raise AuthenticationError(
            "--service-account-max-token-expiration must be between 1 hour and 2^32 seconds"
        )
    extends = options.service_account_extend_token_expiration
    return TokenIssuer(dialect, name, keys, audiences, int(limit), extends)


def _documents(options: argparse.Namespace, issuer: str, keys: KeyRing) -> IssuerDocuments:
    uri = options.service_account_jwks_uri
    if uri and urlsplit(uri).scheme != "https":
        raise AuthenticationError(f"--service-account-jwks-uri {uri} is not an https URL")
    return IssuerDocuments(issuer, keys, uri)


def _oidc(
    options: argparse.Namespace,
    dialect: Dialect,
    audiences: Audiences,
    background: list[Callable[[], Coroutine[Any, Any, None]]],
    closables: list[Closable],
    gates: Gates,
) -> list[TokenMethod]:
    issuer, client = options.oidc_issuer_url, options.oidc_client_id
    if not issuer and not client:
        return []
    if not issuer or not client:
        raise AuthenticationError("--oidc-issuer-url and --oidc-client-id go together")
    if urlsplit(issuer).scheme != "https":
        raise AuthenticationError(f"--oidc-issuer-url {issuer} is not an https URL")
    if issuer in (options.service_account_issuer or [default_issuer(dialect)]):
        raise AuthenticationError("--oidc-issuer-url must not be the service account issuer")
    algorithms = options.oidc_signing_algs or ["RS256"]
    for name in algorithms:
        if name not in ALGORITHMS:
            raise AuthenticationError(f"--oidc-signing-algs: {name} is not supported")
    try:
        provider = oidc_provider.Provider(issuer, options.oidc_ca_file, algorithms)
    except (OSError, BundleError) as error:
        reason = error.strerror if isinstance(error, OSError) else "holds no usable PEM certificate"
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
        credential_extra=credential_extra(dialect) if gates["ServiceAccountTokenJTI"] else "",
    )
    background.append(provider.keep_trying)
    tokens = oidc.OidcTokens(provider, rules, audiences)
    closables.append(tokens)
    return [tokens]


def _webhook(
    options: argparse.Namespace,
    dialect: Dialect,
    audiences: Audiences,
    closables: list[Closable],
) -> list[TokenMethod]:
    path = options.authentication_token_webhook_config_file
    if path is None:
        return []
    try:
        poster = json_calls.JsonPoster(load_client_config(path))
    except ClientConfigError as error:
        raise AuthenticationError(f"--authentication-token-webhook-config-file: {error}") from None
    closables.append(poster)
    version = options.authentication_token_webhook_version
    api_version = f"{dialect.group_name('authentication.@')}/{version}"
    keep = options.authentication_token_webhook_cache_ttl
    return [webhook.TokenWebhook(poster, api_version, audiences, keep)]


def _proxy(options: argparse.Namespace) -> tuple[Authorities, front_proxy.FrontProxy] | None:
    path = options.requestheader_client_ca_file
    names = options.requestheader_username_headers
    if path is None and not names:
        return None
    if path is None or not names:
        raise AuthenticationError(
            "--requestheader-client-ca-file and --requestheader-username-headers go together"
        )
    authorities = _authorities("--requestheader-client-ca-file", path)
    if not options.requestheader_allowed_names:
        logger.warning(
            "without --requestheader-allowed-names every certificate of the proxy's CA may name"
            " any user"
        )
    return authorities, front_proxy.FrontProxy(
        authorities,
        options.requestheader_allowed_names,
        names,
        options.requestheader_group_headers,
        options.requestheader_extra_headers_prefix,
        options.requestheader_uid_headers,
    )


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


def _anonymous(
    options: argparse.Namespace,
    modes: Sequence[str],
    settings: configuration.AuthenticationSettings | None,
) -> bool:
    if settings is not None and settings.anonymous is not None:
        return settings.anonymous
    if "AlwaysAllow" in modes:
        if options.anonymous_auth:
            logger.warning("--anonymous-auth is off: the authorization mode allows everything")
        return False
    return options.anonymous_auth is not False


def _forget_with_objects(tokens: BearerTokens, follow: Follow, gates: Gates) -> None:
    """Drop cached tokens when an object they depend on changes."""
    bound_to = [ACCOUNTS, SECRETS, PODS]
    if gates["ServiceAccountTokenNodeBindingValidation"]:
        bound_to.append(NODES)
    for resource in bound_to:

        def changed(change: Change, resource: str = resource) -> None:
            tokens.cache.forget((resource, change.key))

        follow(resource, changed)
