"""Refreshes tokens with an OpenID Connect provider."""

from __future__ import annotations

import asyncio
from base64 import b64encode
from typing import Any, NamedTuple
from urllib.parse import quote, urlencode, urlsplit

import orjson

from fairlead.base.records import dataclass
from fairlead.base.terminal import printable
from fairlead.client.access.model import CredentialsError
from fairlead.client.transport.dialer import USUAL_PORTS, Route
from fairlead.client.transport.errors import Unreachable
from fairlead.client.transport.pool import Pool
from fairlead.wire.outgoing.client_config import (
    ClientConfig,
    ClientConfigError,
    proxy_of_environment,
)

_SECONDS = 30.0
_MAX_BYTES = 1024 * 1024
_MAX_SHOWN = 80
_FORM = "application/x-www-form-urlencoded"


class Tokens(NamedTuple):
    id_token: str
    refresh_token: str  # empty if unchanged


class _Reply(NamedTuple):
    status: int
    content: bytes

    @property
    def summary(self) -> str:
        text = printable(self.content[:_MAX_SHOWN].decode(errors="replace"))
        return f'{self.status} "{text}{"..." if len(self.content) > _MAX_SHOWN else ""}"'


@dataclass(frozen=True, slots=True)
class Provider:
    """An identity provider and our client credentials. `ca` is PEM, by default the system's CAs."""

    issuer: str
    client_id: str
    client_secret: str = ""
    ca: bytes = b""

    async def refresh(self, refresh_token: str) -> Tokens:
        """Fetch new tokens; raises CredentialsError."""
        endpoint = await self._token_endpoint()
        form = {"grant_type": "refresh_token", "refresh_token": refresh_token}
        pair = ":".join(quote(part, safe="") for part in (self.client_id, self.client_secret))
        proof = f"Basic {b64encode(pair.encode()).decode()}"
        reply = await self._call("POST", endpoint, form, proof)
        if reply.status >= 400 and b"invalid_grant" not in reply.content:
            # Some providers expect the client credentials in the form instead.
            form["client_id"] = self.client_id
            if self.client_secret:
                form["client_secret"] = self.client_secret
            reply = await self._call("POST", endpoint, form)
        if reply.status != 200:
            raise CredentialsError(f"failed to refresh token: oauth2: {reply.summary}")
        answer = _object(reply, "failed to refresh token: oauth2: cannot parse json")
        token = answer.get("id_token")
        if not isinstance(token, str) or not token:
            raise CredentialsError(
                "the identity provider answered without an id_token: perhaps the refresh-token was"
                ' got without the scope "openid", or it gives none on a refresh'
            )
        following = answer.get("refresh_token")
        if not isinstance(following, str) or following == refresh_token:
            following = ""
        return Tokens(token, following)

    async def _token_endpoint(self) -> str:
        url = self.issuer.rstrip("/") + "/.well-known/openid-configuration"
        reply = await self._call("GET", url)
        if reply.status != 200:
            raise CredentialsError(
                f"the identity provider has no discovery document: {reply.summary}"
            )
        metadata = _object(reply, "the identity provider's description of itself cannot be read")
        endpoint = metadata.get("token_endpoint")
        if not isinstance(endpoint, str) or not endpoint:
            raise CredentialsError("the identity provider names no token_endpoint")
        return endpoint

    async def _call(
        self, method: str, url: str, form: dict[str, str] | None = None, proof: str = ""
    ) -> _Reply:
        pool = Pool()
        try:
            async with asyncio.timeout(_SECONDS):
                connection, _ = await pool.take(self._route(url))
                head = await connection.send(_encoded(method, url, form, proof))
                content = b""
                async for piece in connection.pieces():
                    content += piece
                    if len(content) > _MAX_BYTES:
                        raise CredentialsError(f"oidc: {url}: the answer is too long")
                return _Reply(head.status, content)
        except (Unreachable, ClientConfigError, ValueError) as error:
            raise CredentialsError(f'oidc: {method.capitalize()} "{url}": {error}') from None
        except TimeoutError:
            raise CredentialsError(f'oidc: {method.capitalize()} "{url}": i/o timeout') from None
        finally:
            await pool.close()

    def _route(self, url: str) -> Route:
        parts = urlsplit(url)
        if parts.scheme not in USUAL_PORTS or not parts.hostname:
            raise ValueError("it is not an http or https URL")
        return Route(
            parts.hostname,
            parts.port or USUAL_PORTS[parts.scheme],
            ClientConfig(url, ca=self.ca).ssl_context(),
            proxy=proxy_of_environment(url),
        )


def _encoded(method: str, url: str, form: dict[str, str] | None, proof: str) -> bytes:
    parts = urlsplit(url)
    target = quote(parts.path or "/", safe="/%:@!$&'()*+,;=-._~")
    if parts.query:
        target += "?" + quote(parts.query, safe="/%:@!$&'()*+,;=-._~?")
    body = urlencode(form).encode() if form is not None else b""
    lines = [
        f"{method} {target} HTTP/1.1",
        f"Host: {parts.netloc.rpartition('@')[2]}",
        "Accept: application/json",
        "Connection: close",
    ]
    if form is not None:
        lines += [f"Content-Type: {_FORM}", f"Content-Length: {len(body)}"]
    if proof:
        lines.append(f"Authorization: {proof}")
    return "\r\n".join((*lines, "", "")).encode() + body


def _object(reply: _Reply, problem: str) -> dict[str, Any]:
    try:
        value = orjson.loads(reply.content)
    except orjson.JSONDecodeError as error:
        raise CredentialsError(f"{problem}: {error}") from None
    if not isinstance(value, dict):
        raise CredentialsError(f"{problem}: it is not an object")
    return value
