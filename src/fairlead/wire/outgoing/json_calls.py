"""Calls to other servers in JSON."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import orjson

from fairlead.base.tracing import CLIENT, step
from fairlead.wire.outgoing.client import HttpClient
from fairlead.wire.outgoing.client_config import (
    ClientConfig,
    ClientConfigError,
    proxy_of_environment,
)
from fairlead.wire.outgoing.handshake import trusting
from fairlead.wire.outgoing.request import Request
from fairlead.wire.outgoing.response import MAX_RESPONSE_BYTES, CallError, Response

Answer = TypeVar("Answer")

_ATTEMPTS = 5
_FIRST_PAUSE = 0.5
_PAUSE_GROWTH = 1.5
_MAX_SHOWN_BYTES = 200


class JsonPoster:
    """Posts to the server of a client configuration."""

    def __init__(self, config: ClientConfig) -> None:
        self._config = config
        self._tls = config.ssl_context(trusting)
        self._client = HttpClient(proxy_for=lambda _: config.proxy)

    async def post(self, body: dict[str, Any], timeout: float) -> dict[str, Any]:
        """Make one call and return the parsed answer; raises CallError."""
        return await self._post(body, timeout, _checked_object)

    async def send(self, body: dict[str, Any], timeout: float) -> None:
        """Make one call and ignore the content of a successful answer; raises CallError."""
        await self._post(body, timeout, _checked_content)

    async def _post(
        self, body: dict[str, Any], timeout: float, read: Callable[[Response], Answer]
    ) -> Answer:
        config = self._config
        try:
            content = orjson.dumps(body)
            headers, name = self._headers(), config.server_name
            with step("HTTP POST", CLIENT) as span:
                if span is not None:
                    span.note({"http.request.method": "POST", "url.full": config.server})
                    headers["traceparent"] = span.header
                request = Request("POST", config.server, headers, content, self._tls, name)
                return read(await self._client.call(request, timeout=timeout))
        except ClientConfigError as error:
            raise CallError(f"Post {config.server!r}: {error}") from None
        except CallError as error:
            raise error.of(f"Post {config.server!r}") from None

    async def post_with_retries(
        self, body: dict[str, Any], timeout: float, first_pause: float = _FIRST_PAUSE
    ) -> dict[str, Any]:
        """As `post`, with retries after retryable errors."""
        return await _with_retries(lambda: self.post(body, timeout), first_pause)

    async def send_with_retries(
        self, body: dict[str, Any], timeout: float, first_pause: float = _FIRST_PAUSE
    ) -> None:
        """As `send`, with retries after retryable errors."""
        await _with_retries(lambda: self.send(body, timeout), first_pause)

    def _headers(self) -> dict[str, str]:
        headers = {"content-type": "application/json", "accept": "application/json"}
        authorization = self._config.authorization()
        if authorization:
            headers["authorization"] = authorization
        return headers

    async def close(self) -> None:
        await self._client.close()


async def _with_retries(call: Callable[[], Awaitable[Answer]], first_pause: float) -> Answer:
    pause = first_pause
    for _ in range(_ATTEMPTS - 1):
        try:
            return await call()
        except CallError as error:
            # Who took the call and does not answer in time would not do so later.
            if not error.retryable or not (error.code or error.unreached):
                raise
        await asyncio.sleep(pause)
        pause *= _PAUSE_GROWTH
    return await call()


class Documents:
    """Fetches published documents over HTTPS, through the proxy of the environment."""

    def __init__(
        self, tls: ssl.SSLContext, timeout: float, max_bytes: int = MAX_RESPONSE_BYTES
    ) -> None:
        self._tls = tls
        self._timeout = timeout
        self._max_bytes = max_bytes
        self._client = HttpClient(proxy_for=proxy_of_environment)

    async def get(self, url: str, accept: str = "application/json", token: str = "") -> bytes:
        """Return the content of a successful answer; raises CallError."""
        if not url.startswith("https://"):
            raise CallError(f"{url} is not an https URL")
        headers = {"accept": accept}
        if token:
            headers["authorization"] = f"Bearer {token}"
        try:
            request = Request("GET", url, headers, tls=self._tls)
            return _checked_content(
                await self._client.call(request, timeout=self._timeout, max_bytes=self._max_bytes)
            )
        except CallError as error:
            raise error.of(url) from None

    async def get_json(self, url: str) -> dict[str, Any]:
        return _parse_object(await self.get(url), url)

    async def close(self) -> None:
        await self._client.close()


def _checked_content(response: Response) -> bytes:
    status = response.status
    if not 200 <= status < 300:
        text = response.content[:_MAX_SHOWN_BYTES].decode(errors="replace").strip()
        retryable = status == 429 or status >= 500
        raise CallError(f"answered {status}", status, response_text=text, retryable=retryable)
    return response.content


def _checked_object(response: Response) -> dict[str, Any]:
    return _parse_object(_checked_content(response))


def _parse_object(content: bytes, source: str = "") -> dict[str, Any]:
    prefix = f"{source}: " if source else ""
    try:
        value = orjson.loads(content)
    except orjson.JSONDecodeError as error:
        raise CallError(f"{prefix}the answer is not JSON: {error}") from None
    if not isinstance(value, dict):
        raise CallError(f"{prefix}the answer is not a JSON object")
    return value
