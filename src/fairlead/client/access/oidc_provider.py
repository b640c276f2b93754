"""Refreshes tokens with an OpenID Connect provider."""

from __future__ import annotations

from base64 import b64encode
from dataclasses import dataclass
from typing import Any, NamedTuple
from urllib.parse import quote, urlencode

import orjson

from fairlead.base.terminal import printable
from fairlead.client.access.model import CredentialsError
from fairlead.wire.outgoing.client import HttpClient
from fairlead.wire.outgoing.client_config import (
    ClientConfig,
    ClientConfigError,
    proxy_of_environment,
)
from fairlead.wire.outgoing.request import Request
from fairlead.wire.outgoing.response import CallError, Response

_SECONDS = 30.0
_MAX_BYTES = 1024 * 1024
_MAX_SHOWN = 80
_FORM = "application/x-www-form-urlencoded"


class Tokens(NamedTuple):
    id_token: str
    refresh_token: str  # empty if unchanged


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
            raise CredentialsError(f"failed to refresh token: oauth2: {_shown(reply)}")
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
                f"the identity provider has no discovery document: {_shown(reply)}"
            )
        metadata = _object(reply, "the identity provider's description of itself cannot be read")
        endpoint = metadata.get("token_endpoint")
        if not isinstance(endpoint, str) or not endpoint:
            raise CredentialsError("the identity provider names no token_endpoint")
        return endpoint

    async def _call(
        self, method: str, url: str, form: dict[str, str] | None = None, proof: str = ""
    ) -> Response:
        headers = {"accept": "application/json", "connection": "close"}
        if form is not None:
            headers["content-type"] = _FORM
        if proof:
            headers["authorization"] = proof
        body = urlencode(form).encode() if form is not None else None
        client = HttpClient(proxy_for=proxy_of_environment, seconds_to_connect=_SECONDS)
        try:
            tls = ClientConfig(url, ca=self.ca).ssl_context()
            request = Request(method, url, headers, body, tls)
            return await client.call(request, timeout=_SECONDS, max_bytes=_MAX_BYTES)
        except (CallError, ClientConfigError) as error:
            raise CredentialsError(f'oidc: {method.capitalize()} "{url}": {error}') from None
        finally:
            await client.close()


def _shown(response: Response) -> str:
    text = printable(response.content[:_MAX_SHOWN].decode(errors="replace"))
    return f'{response.status} "{text}{"..." if len(response.content) > _MAX_SHOWN else ""}"'


def _object(reply: Response, problem: str) -> dict[str, Any]:
    try:
        value = orjson.loads(reply.content)
    except orjson.JSONDecodeError as error:
        raise CredentialsError(f"{problem}: {error}") from None
    if not isinstance(value, dict):
        raise CredentialsError(f"{problem}: it is not an object")
    return value
