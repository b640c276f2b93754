"""Constructs the authenticator from the flags."""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from fairlead.auth.authentication import (
    configuration,
    front_proxy,
    jwt_issuers,
    reloads,
)
from fairlead.auth.authentication import token_file as token_files
from fairlead.auth.authentication.account_tokens import IssuerDocuments, TokenIssuer
from fairlead.auth.authentication.authorities import Authorities, AuthorityError, ClientCertificates
from fairlead.auth.authentication.bearer import Audiences, BearerTokens
from fairlead.auth.authentication.chain import Authenticator, Method
from fairlead.auth.authentication.console_sessions import ConsoleSessions
from fairlead.auth.authentication.keys import KeyFileError, KeyRing
from fairlead.auth.authentication.service_accounts import (
    ACCOUNTS,
    NODES,
    PODS,
    SECRETS,
    Lookup,
    ServiceAccountTokens,
)
from fairlead.auth.authentication.token_methods import (
    AuthenticationError,
    Closable,
    SecretsOf,
    TokenMethods,
)
from fairlead.auth.authentication.websocket_tokens import WebSocketTokens
from fairlead.base.dialect import Dialect
from fairlead.base.files import Reloadable
from fairlead.base.logs import Logger
from fairlead.codec.types.builtin import BuiltinTypes
from fairlead.resources.gates import Gates
from fairlead.storage.version import Change

logger = Logger("fairlead.auth.authentication")

_RELOAD_EVERY = 1.0
_MIN_LIFETIME, _MAX_LIFETIME = 3600.0, float(2**32)

# Calls a listener after each commit to a resource (internal name).
Follow = Callable[[str, Callable[[Change], None]], None]


@dataclass(slots=True)
class Authentication:
    """The parts of authentication that the server uses."""

    authenticator: Authenticator
    tokens: BearerTokens
    issuer: TokenIssuer
    documents: IssuerDocuments
    client_authorities: Authorities
    proxy_authorities: Authorities | None
    identity_headers: tuple[bytes, ...]  # prefixes of the headers by which a proxy passes users
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
    key. `console` returns the storage for codes or sessions of the console. `types` are needed for
    a configuration file.
    """
    gates = gates or Gates()
    parts = TokenMethods(options, dialect, gates, lookup, own_key)
    issuer = _issuer(options, dialect, parts.issuers[0], parts.keys, parts.audiences)
    clients = _authorities("--client-ca-file", own_ca, options.client_ca_file)
    parts.build(console, types)
    tokens = BearerTokens(parts.methods, parts.audiences)
    if parts.configured is not None:
        parts.configured.forget = tokens.cache.clear
    _forget_with_objects(tokens, follow, gates)
    proxy = _proxy(options)
    settings = parts.settings
    return Authentication(
        Authenticator(
            _chain(ClientCertificates(clients, dialect, gates), tokens, dialect, proxy),
            anonymous=_anonymous(options, authorization_modes, settings),
            anonymous_paths=settings.paths if settings is not None else frozenset(),
        ),
        tokens,
        issuer,
        _documents(options, parts.issuers[0], parts.keys),
        clients,
        proxy[0] if proxy is not None else None,
        proxy[1].headers if proxy is not None else (),
        parts.sessions,
        parts.account_tokens,
        _reloadable(options, clients, proxy, parts.token_file, tokens, parts.configured),
        parts.background,
        parts.closables,
    )


def _chain(
    certificates: ClientCertificates,
    tokens: BearerTokens,
    dialect: Dialect,
    proxy: tuple[Authorities, front_proxy.FrontProxy] | None,
) -> list[Method]:
    """The methods in the order in which they are asked."""
    chain: list[Method] = [certificates, tokens, WebSocketTokens(dialect, tokens)]
    return chain if proxy is None else [proxy[1], *chain]


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


def _authorities(flag: str, *paths: Path | None) -> Authorities:
    try:
        return Authorities(*(path for path in paths if path is not None))
    except AuthorityError as error:
        raise AuthenticationError(f"{flag}: {error}") from None


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
