"""Posting JSON to a server of others and reading the JSON that it answers."""

from __future__ import annotations

import asyncio
import base64
from typing import TYPE_CHECKING, Any

import orjson

from fairlead.webhooks.client_config import ClientConfig, ClientConfigError

if TYPE_CHECKING:
    from aiohttp import ClientSession

_MOST_ANSWER_BYTES = 16 * 1024 * 1024
_ATTEMPTS = 5
_FIRST_PAUSE = 0.5
_PAUSE_GROWTH = 1.5


class PostError(Exception):
    """The call failed. `code` is the HTTP status, 0 if there was no answer; `retryable` says
    whether the same call may succeed later."""

    def __init__(self, text: str, code: int = 0, *, retryable: bool = False) -> None:
        super().__init__(text)
        self.code = code
        self.retryable = retryable


class JsonPoster:
    """Posts to one URL over connections that stay open. Make it anywhere, use it on one loop,
    `close` it at the end."""

    def __init__(self, config: ClientConfig, url: str = "") -> None:
        self._config = config
        self._url = url or config.server
        self._ssl = config.ssl_context()
        self._session: ClientSession | None = None

    async def post(self, body: dict[str, Any], timeout: float) -> dict[str, Any]:
        """The answer to one call; raises PostError."""
        import aiohttp

        try:
            async with asyncio.timeout(timeout):
                return await self._call(body)
        except TimeoutError:
            text = f"Post {self._url!r}: no answer within {timeout:g}s"
            raise PostError(text, retryable=True) from None
        except (aiohttp.ClientConnectorCertificateError, ClientConfigError) as error:
            raise PostError(f"Post {self._url!r}: {error}") from None
        except (aiohttp.ClientError, OSError) as error:
            raise PostError(f"Post {self._url!r}: {error}", retryable=True) from None

    async def post_patiently(self, body: dict[str, Any], timeout: float) -> dict[str, Any]:
        """The same, trying again after a pause where that may help."""
        pause = _FIRST_PAUSE
        for _ in range(_ATTEMPTS - 1):
            try:
                return await self.post(body, timeout)
            except PostError as error:
                if not error.retryable:
                    raise
            await asyncio.sleep(pause)
            pause *= _PAUSE_GROWTH
        return await self.post(body, timeout)

    async def _call(self, body: dict[str, Any]) -> dict[str, Any]:
        config = self._config
        async with self._open_session().post(
            self._url,
            data=orjson.dumps(body),
            headers=self._headers(),
            ssl=self._ssl if self._ssl is not None else True,
            server_hostname=config.server_name or None,
            proxy=config.proxy or None,
            allow_redirects=False,
        ) as answer:
            content = await answer.content.read(_MOST_ANSWER_BYTES)
            if not 200 <= answer.status < 300:
                shown = content[:200].decode(errors="replace").strip()
                text = f"Post {self._url!r}: answered {answer.status}: {shown}"
                retryable = answer.status == 429 or answer.status >= 500
                raise PostError(text, answer.status, retryable=retryable)
        return self._parsed(content)

    def _parsed(self, content: bytes) -> dict[str, Any]:
        try:
            value = orjson.loads(content)
        except orjson.JSONDecodeError as error:
            raise PostError(f"Post {self._url!r}: the answer is not JSON: {error}") from None
        if not isinstance(value, dict):
            raise PostError(f"Post {self._url!r}: the answer is not a JSON object")
        return value

    def _headers(self) -> dict[str, str]:
        config = self._config
        headers = {"content-type": "application/json", "accept": "application/json"}
        token = config.bearer_token()
        if token:
            headers["authorization"] = f"Bearer {token}"
        elif config.username:
            pair = f"{config.username}:{config.password}".encode()
            headers["authorization"] = f"Basic {base64.b64encode(pair).decode()}"
        return headers

    def _open_session(self) -> ClientSession:
        import aiohttp

        if self._session is None or self._session.closed:
            self._session = aiohttp.ClientSession(auto_decompress=True, trust_env=False)
        return self._session

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()
            self._session = None
