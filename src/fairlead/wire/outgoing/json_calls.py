"""Calls to other servers in JSON."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import orjson

from fairlead.wire.outgoing.client import MAX_ANSWER_BYTES, Caller, CallError, Reply
from fairlead.wire.outgoing.client_config import (
    ClientConfig,
    ClientConfigError,
    proxy_of_environment,
)
from fairlead.wire.outgoing.handshake import trusting

Answer = TypeVar("Answer")

_ATTEMPTS = 5
_FIRST_PAUSE = 0.5
_PAUSE_GROWTH = 1.5
_MAX_SHOWN_BYTES = 200


class JsonPoster:
    """Posts to the server of a client configuration, or to another URL with its credentials."""

    def __init__(self, config: ClientConfig, url: str = "") -> None:
        self._config = config
        self._url = url or config.server
        self._tls = config.ssl_context(trusting)
        self._caller = Caller(proxy_for=lambda _: config.proxy)

    async def post(self, body: dict[str, Any], timeout: float) -> dict[str, Any]:
        """Make one call and return the parsed answer; raises CallError."""
        return await self._post(body, timeout, _object)

    async def tell(self, body: dict[str, Any], timeout: float) -> None:
        """Make one call and ignore the content of a successful answer; raises CallError."""
        await self._post(body, timeout, _successful)

    async def _post(
        self, body: dict[str, Any], timeout: float, read: Callable[[Reply], Answer]
    ) -> Answer:
        try:
            reply = await self._caller.call(
                "POST",
                self._url,
                timeout=timeout,
                headers=self._headers(),
                body=orjson.dumps(body),
                tls=self._tls,
                server_name=self._config.server_name,
            )
            return read(reply)
        except ClientConfigError as error:
            raise CallError(f"Post {self._url!r}: {error}") from None
        except CallError as error:
            raise error.of(f"Post {self._url!r}") from None

    async def post_patiently(
        self, body: dict[str, Any], timeout: float, first_pause: float = _FIRST_PAUSE
    ) -> dict[str, Any]:
        """As `post`, with retries after retryable errors."""
        return await _patiently(lambda: self.post(body, timeout), first_pause)

    async def tell_patiently(
        self, body: dict[str, Any], timeout: float, first_pause: float = _FIRST_PAUSE
    ) -> None:
        """As `tell`, with retries after retryable errors."""
        await _patiently(lambda: self.tell(body, timeout), first_pause)

    def _headers(self) -> dict[str, str]:
        headers = {"content-type": "application/json", "accept": "application/json"}
        authorization = self._config.authorization()
        if authorization:
            headers["authorization"] = authorization
        return headers

    async def close(self) -> None:
        await self._caller.close()


async def _patiently(call: Callable[[], Awaitable[Answer]], first_pause: float) -> Answer:
    pause = first_pause
    for _ in range(_ATTEMPTS - 1):
        try:
            return await call()
        except CallError as error:
            if not error.retryable:
                raise
        await asyncio.sleep(pause)
        pause *= _PAUSE_GROWTH
    return await call()


class Documents:
    """Fetches published documents over HTTPS, through the proxy of the environment."""

    def __init__(self, tls: ssl.SSLContext, timeout: float, most: int = MAX_ANSWER_BYTES) -> None:
        self._tls = tls
        self._timeout = timeout
        self._most = most
        self._caller = Caller(proxy_for=proxy_of_environment)

    async def get(self, url: str, accept: str = "application/json", token: str = "") -> bytes:
        """Return the content of a successful answer; raises CallError."""
        if not url.startswith("https://"):
            raise CallError(f"{url} is not an https URL")
        headers = {"accept": accept}
        if token:
            headers["authorization"] = f"Bearer {token}"
        try:
            reply = await self._caller.call(
                "GET", url, timeout=self._timeout, headers=headers, tls=self._tls, most=self._most
            )
            return _successful(reply)
        except CallError as error:
            raise error.of(url) from None

    async def get_json(self, url: str) -> dict[str, Any]:
        return _parsed(await self.get(url), url)

    async def close(self) -> None:
        await self._caller.close()


def _successful(reply: Reply) -> bytes:
    if not 200 <= reply.status < 300:
        shown = reply.content[:_MAX_SHOWN_BYTES].decode(errors="replace").strip()
        retryable = reply.status == 429 or reply.status >= 500
        brief = f"answered {reply.status}"
        raise CallError(brief, reply.status, said=shown, retryable=retryable)
    return reply.content


def _object(reply: Reply) -> dict[str, Any]:
    return _parsed(_successful(reply))


def _parsed(content: bytes, where: str = "") -> dict[str, Any]:
    prefix = f"{where}: " if where else ""
    try:
        value = orjson.loads(content)
    except orjson.JSONDecodeError as error:
        raise CallError(f"{prefix}the answer is not JSON: {error}") from None
    if not isinstance(value, dict):
        raise CallError(f"{prefix}the answer is not a JSON object")
    return value
