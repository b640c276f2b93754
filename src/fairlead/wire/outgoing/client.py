"""The HTTP client for calls out of the server.

It follows no redirects and keeps no cookies; every call has a deadline, and an answer is read
completely or the call fails.
"""

from __future__ import annotations

import asyncio
import os
import ssl
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from fairlead.base.records import dataclass, field

if TYPE_CHECKING:  # imported at the first call, to keep the start fast
    from aiohttp import ClientResponse, ClientSession

SECONDS_TO_CONNECT = 5.0
MAX_ANSWER_BYTES = 16 * 1024 * 1024
Headers = Mapping[str, str] | Sequence[tuple[str, str]]

_MAX_CONNECTIONS = 100
_OUR_NAME = "fairlead"


class CallError(Exception):
    """A failed call. `code` is the HTTP status, 0 without an answer; `retryable`: the same call may
    succeed later; `unreached`: no connection was made. `said` is text from the other server;
    `brief`, for logs, is the message without it."""

    def __init__(
        self,
        brief: str,
        code: int = 0,
        *,
        said: str = "",
        retryable: bool = False,
        unreached: bool = False,
    ) -> None:
        super().__init__(f"{brief}: {said}" if said else brief)
        self.brief = brief
        self.said = said
        self.code = code
        self.retryable = retryable
        self.unreached = unreached

    def of(self, what: str) -> CallError:
        """Return a copy with a description of the call in front."""
        return CallError(
            f"{what}: {self.brief}",
            self.code,
            said=self.said,
            retryable=self.retryable,
            unreached=self.unreached,
        )


@dataclass(slots=True)
class Reply:
    """A complete answer."""

    status: int
    content: bytes
    type: str = field(default="", compare=False)  # Content-Type
    retry_after: str = field(default="", compare=False)  # Retry-After


class Stream:
    """An answer whose head has arrived. The caller reads it or not, and must `close` it."""

    def __init__(self, response: ClientResponse) -> None:
        self._response = response
        self.status = response.status
        self.headers: tuple[tuple[bytes, bytes], ...] = response.raw_headers

    def header(self, name: str) -> str:
        found: str = self._response.headers.get(name, "")
        return found

    async def pieces(self) -> AsyncIterator[bytes]:
        """Yield the body as it arrives; raises CallError if it is cut off."""
        import aiohttp

        try:
            async for piece in self._response.content.iter_any():
                yield piece
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise CallError(f"the answer is cut off: {reason(error)}", retryable=True) from None

    async def whole(self, most: int) -> bytes:
        """Return the whole body; raises CallError if it is longer than `most` bytes."""
        parts, size = [], 0
        async for piece in self.pieces():
            size += len(piece)
            if size > most:
                self.close()
                raise CallError(f"the answer is longer than {most} bytes", self.status)
            parts.append(piece)
        return b"".join(parts)

    def release(self) -> None:
        """Return the connection to the pool if the body was read, else close it."""
        self._response.release()

    def close(self) -> None:
        self._response.close()


class Caller:
    """Makes calls over keep-alive connections. Can be created anywhere, used on one event loop; the
    owner must `close` it. `proxy_for` returns the proxy of a URL, or ""."""

    def __init__(self, *, proxy_for: Callable[[str], str] | None = None) -> None:
        self._proxy_for = proxy_for
        self._session: ClientSession | None = None

    async def call(
        self,
        method: str,
        url: str,
        *,
        timeout: float,
        headers: Headers = (),
        body: bytes | None = None,
        tls: ssl.SSLContext | None = None,
        server_name: str = "",
        most: int = MAX_ANSWER_BYTES,
    ) -> Reply:
        """Make a call and return the complete answer; raises CallError."""
        try:
            async with asyncio.timeout(timeout):
                stream = await self._open(method, url, headers, body, tls, server_name)
                try:
                    content = await stream.whole(most)
                    kind, later = stream.header("content-type"), stream.header("retry-after")
                    return Reply(stream.status, content, kind, later)
                finally:
                    stream.release()
        except TimeoutError:
            raise CallError(f"no answer within {timeout:g}s", retryable=True) from None

    async def open(
        self,
        method: str,
        url: str,
        *,
        timeout: float,
        headers: Headers,
        body: bytes | None = None,
        tls: ssl.SSLContext | None = None,
        server_name: str = "",
    ) -> Stream:
        """Make a call and return once the head of the answer has arrived; raises CallError if that
        takes longer than `timeout`."""
        try:
            async with asyncio.timeout(timeout):
                return await self._open(method, url, headers, body, tls, server_name)
        except TimeoutError:
            raise CallError(f"no answer within {timeout:g}s", retryable=True) from None

    async def _open(
        self,
        method: str,
        url: str,
        headers: Headers,
        body: bytes | None,
        tls: ssl.SSLContext | None,
        server_name: str,
    ) -> Stream:
        import aiohttp
        from yarl import URL

        try:
            response = await self._opened().request(
                method,
                URL(url, encoded=True),
                data=body,
                headers=headers,
                ssl=tls if tls is not None else True,
                server_hostname=server_name or None,
                proxy=(self._proxy_for(url) if self._proxy_for is not None else "") or None,
                allow_redirects=False,
            )
        except aiohttp.ClientConnectorCertificateError as error:
            raise CallError(str(error.certificate_error)) from None
        except (aiohttp.InvalidURL, ValueError) as error:
            raise CallError(f"the request cannot be sent: {error}") from None
        except (aiohttp.ClientError, OSError) as error:  # includes the TimeoutError of connecting
            unreached = isinstance(
                error, (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError)
            )
            raise CallError(reason(error), retryable=True, unreached=unreached) from None
        return Stream(response)

    def _opened(self) -> ClientSession:
        import aiohttp

        if self._session is None or self._session.closed:
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=_MAX_CONNECTIONS),
                cookie_jar=aiohttp.DummyCookieJar(),
                headers={"user-agent": _OUR_NAME},
                timeout=aiohttp.ClientTimeout(total=None, sock_connect=SECONDS_TO_CONNECT),
                trust_env=False,
            )
        return self._session

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()
            self._session = None


def reason(error: BaseException) -> str:
    """Return the reason of a connection failure, in the words of the operating system."""
    import aiohttp

    if isinstance(error, aiohttp.ClientConnectorDNSError):
        return f"lookup {error.host}: no such host"
    if isinstance(error, aiohttp.ClientConnectorError):
        error = error.os_error
    if isinstance(error, (TimeoutError, aiohttp.ServerTimeoutError)):
        return "i/o timeout"
    if isinstance(error, ssl.SSLError):
        return f"tls: {error.reason or error}"
    if isinstance(error, aiohttp.ServerDisconnectedError):
        return "EOF"
    if isinstance(error, OSError) and error.errno and error.errno > 0:
        return os.strerror(error.errno).lower()
    return str(error) or type(error).__name__
