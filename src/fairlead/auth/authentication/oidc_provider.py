"""The published configuration and keys of an OpenID Connect provider, fetched over HTTPS and
cached, so that requests do not wait for a slow or unavailable provider."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import Any
from urllib.parse import urlsplit

from jwt import PyJWK
from jwt.exceptions import PyJWTError

from fairlead.auth.authentication.account_tokens import CONFIGURATION_PATH
from fairlead.auth.authentication.bearer import Audiences, known_audiences
from fairlead.auth.authentication.tokens import (
    ALGORITHMS,
    BadToken,
    Claims,
    audiences,
    seconds,
    unverified,
    verified,
)
from fairlead.base.clock import time
from fairlead.base.logs import Logger, Tally
from fairlead.wire.outgoing.handshake import trusting
from fairlead.wire.outgoing.json_calls import Documents
from fairlead.wire.outgoing.response import CallError

logger = Logger("fairlead.auth.authentication")
_keys = Tally(logger, logging.WARNING, "the OIDC provider")

_TIMEOUT = 10.0
_MAX_BYTES = 1024 * 1024
_RETRY = 2.0  # seconds between two failed attempts
_REFRESH_APART = 1.0  # seconds between two fetches because of unknown keys
_OLDEST_KEYS = 300.0  # seconds until keys are refreshed in the background
_FETCH_TIMEOUT = 5.0  # seconds that a request waits for the provider
_FAMILIES = {"RSA": ("RS", "PS"), "EC": ("ES",)}


def documents_by(ca: bytes) -> Documents:
    """Fetches documents from servers that a PEM bundle trusts, or the system's CAs if it is empty;
    raises BundleError."""
    return Documents(trusting(ca), _TIMEOUT, _MAX_BYTES)


class ProviderError(Exception):
    """The provider is unreachable or returns invalid documents."""


@dataclass(frozen=True, slots=True)
class ProviderKey:
    """A published key; `algorithm` is the only one allowed, empty if the provider does not say."""

    key: Any
    key_id: str
    family: str
    algorithm: str

    def fits(self, algorithm: str) -> bool:
        return algorithm[:2] in _FAMILIES[self.family] and self.algorithm in ("", algorithm)


class Provider:
    """The algorithms and keys of one issuer. `algorithms` restricts the announced ones; empty for
    all. Only `ca_file` is trusted, or the system's CAs if it is None. `discovery_url` is where the
    issuer's document is if not below its own URL. Raises OSError or BundleError."""

    def __init__(
        self,
        issuer: str,
        ca_file: Path | None,
        algorithms: Sequence[str] = (),
        documents: Documents | None = None,
        discovery_url: str = "",
    ) -> None:
        self.issuer = issuer
        self.documents = documents or documents_by(ca_file.read_bytes() if ca_file else b"")
        self._discovery_url = discovery_url or issuer.rstrip("/") + CONFIGURATION_PATH
        self._wanted = tuple(algorithms)
        self._jwks_uri = ""
        self._keys: list[ProviderKey] = []
        self._tried = self._fetched = -_OLDEST_KEYS
        self._refreshing: asyncio.Task[None] | None = None
        self.algorithms: tuple[str, ...] = ()
        self._failed = Tally(logger, logging.WARNING, "the OIDC provider cannot be used")

    @property
    def ready(self) -> bool:
        return bool(self._keys)

    async def keys(self, key_id: object) -> list[ProviderKey]:
        """The keys that match a key id. Fetches the keys again for an unknown id."""
        matching = self._matching(key_id)
        if not matching:
            return await self.newer_keys(key_id)
        if monotonic() - self._fetched > _OLDEST_KEYS and monotonic() - self._tried > _RETRY:
            self._refresh()
        return matching

    async def newer_keys(self, key_id: object) -> list[ProviderKey]:
        """The same after another fetch; at most one per second, with a bounded wait."""
        apart = _REFRESH_APART if self.ready else _RETRY
        if self._refreshing is None and monotonic() - self._tried < apart:
            return self._matching(key_id)
        await asyncio.wait([self._refresh()], timeout=_FETCH_TIMEOUT)
        return self._matching(key_id)

    def _matching(self, key_id: object) -> list[ProviderKey]:
        if not key_id:
            return list(self._keys)
        return [key for key in self._keys if key.key_id == key_id]

    def _refresh(self) -> asyncio.Task[None]:
        """Start a fetch, or return the one in progress: all callers share it."""
        if self._refreshing is None:
            self._tried = monotonic()
            self._refreshing = asyncio.create_task(self._fetch())
            self._refreshing.add_done_callback(self._finish_refresh)
        return self._refreshing

    def _finish_refresh(self, _: asyncio.Task[None]) -> None:
        self._refreshing = None

    async def _fetch(self) -> None:
        try:
            if not self._jwks_uri:
                await self._discover()
            document = await self.documents.get_json(self._jwks_uri)
            self._keys = _usable_keys(document)
            self._fetched = monotonic()
        except (ProviderError, CallError) as error:
            self._jwks_uri = ""  # it may have moved: run discovery again
            brief = error.brief if isinstance(error, CallError) else error
            self._failed.add("it cannot be asked", str(brief))

    async def _discover(self) -> None:
        url = self._discovery_url
        document = await self.documents.get_json(url)
        if document.get("issuer") != self.issuer:
            raise ProviderError(f"{url} is the document of another issuer")
        uri = document.get("jwks_uri")
        if not isinstance(uri, str) or urlsplit(uri).scheme != "https":
            raise ProviderError(f"{url} names no https jwks_uri")
        announced = document.get("id_token_signing_alg_values_supported") or ["RS256"]
        listed = announced if isinstance(announced, list) else []
        self.algorithms = tuple(
            name for name in ALGORITHMS if name in listed and (name in (self._wanted or listed))
        )
        if not self.algorithms:
            raise ProviderError(f"{url} announces no signature algorithm that is allowed here")
        self._jwks_uri = uri

    async def keep_trying(self) -> None:
        """Retry until the keys are fetched, since the provider may start later."""
        while not self.ready:
            await asyncio.wait([self._refresh()])
            if not self.ready:
                await asyncio.sleep(_RETRY)

    def for_issuer(self, issuer: str) -> Provider:
        """A provider for another issuer with the same rules and connections."""
        return Provider(issuer, None, self._wanted, self.documents)

    async def close(self) -> None:
        await self.documents.close()


def _usable_keys(document: dict[str, Any]) -> list[ProviderKey]:
    """The usable public signing keys of a key set."""
    listed = document.get("keys")
    keys = [_usable_key(value) for value in listed] if isinstance(listed, list) else []
    usable = [key for key in keys if key is not None]
    if not usable:
        raise ProviderError("the provider publishes no key that can be used")
    return usable


def _usable_key(value: object) -> ProviderKey | None:
    if not isinstance(value, dict) or value.get("kty") not in _FAMILIES or "d" in value:
        return None
    if value.get("use", "sig") != "sig":
        return None
    try:
        key = PyJWK(value).key
    except (PyJWTError, ValueError, TypeError, KeyError):
        _keys.add("it publishes a key that cannot be used")
        return None
    return ProviderKey(key, str(value.get("kid", "")), value["kty"], str(value.get("alg", "")))


# Verifying tokens of one issuer.

_SKEW = 60.0  # seconds by which the provider's clock may be ahead


class IssuedTokens:
    """Verifies the tokens that a provider issued for one of the audiences."""

    def __init__(self, provider: Provider, accepted: Audiences) -> None:
        self.provider = provider
        self.audiences = accepted

    async def check(self, token: str) -> tuple[Claims, float]:
        """The claims of a token and its expiry; raises BadToken."""
        read = unverified(token)
        if read is None:
            raise BadToken("verify token: it is malformed")
        claims = await self._verify(token, read[0])
        return claims, self._end(claims)

    async def _verify(self, token: str, header: Claims) -> Claims:
        """The claims, verified with a key of the provider."""
        algorithm = header.get("alg")
        if algorithm not in ALGORITHMS:
            raise BadToken("verify token: the signature algorithm is not allowed")
        keys = await self.provider.keys(header.get("kid"))
        if not self.provider.ready:
            raise BadToken("authenticator not initialized")
        if algorithm not in self.provider.algorithms:
            raise BadToken("verify token: the signature algorithm is not allowed")
        claims = _signed_by(keys, token, algorithm)
        if claims is None and not header.get("kid"):  # maybe signed with a new key without an id
            newer = await self.provider.newer_keys(None)
            claims = _signed_by(newer, token, algorithm) if newer != keys else None
        if claims is None:
            raise BadToken("verify token: failed to verify signature")
        return claims

    def _end(self, claims: Claims) -> float:
        """The expiry of the token; raises BadToken for a wrong issuer, audience or time."""
        if claims.get("iss") != self.provider.issuer:
            raise BadToken("verify token: id token issued by a different provider")
        if not known_audiences(audiences(claims), self.audiences):
            raise BadToken("verify token: the token was issued for another client")
        now = time()
        end = seconds(claims, "exp")
        if end is None or now >= end:
            raise BadToken("verify token: token is expired")
        start = seconds(claims, "nbf")
        if start is not None and start > now + _SKEW:
            raise BadToken("verify token: current time is before the nbf (not before) time")
        return end


def _signed_by(keys: Sequence[ProviderKey], token: str, algorithm: str) -> Claims | None:
    for key in keys:
        if key.fits(algorithm):
            try:
                return verified(token, key.key, (algorithm,))
            except BadToken:
                continue
    return None
