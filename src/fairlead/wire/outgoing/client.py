"""The one HTTP client for every call out of the server.

No redirect is followed, no cookie is kept, nothing waits for ever, and an answer is read whole or
the call fails.
"""

from __future__ import annotations

import asyncio
import os
import ssl
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from fairlead.base.records import dataclass, field

if TYPE_CHECKING:  # imported at the first call: no start waits for it
    from aiohttp import ClientResponse, ClientSession

SECONDS_TO_CONNECT = 5.0
MOST_ANSWER_BYTES = 16 * 1024 * 1024
Headers = Mapping[str, str] | Sequence[tuple[str, str]]

_MOST_CONNECTIONS = 100
_OUR_NAME = "fairlead"


class CallError(Exception):
    """The call failed. `code` is the HTTP status, 0 if there was no answer; `retryable` says
    whether the same call may succeed later, `unreached` that no connection came about. `said` is
    what the other server wrote; `brief`, which is for logs, is the text without it."""

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
        """The same with what was called in front."""
        return CallError(
            f"{what}: {self.brief}",
            self.code,
            said=self.said,
            retryable=self.retryable,
            unreached=self.unreached,
        )


@dataclass(slots=True)
class Reply:
    """A whole answer."""

    status: int
    content: bytes
    type: str = field(default="", compare=False)  # as the answer names it
    retry_after: str = field(default="", compare=False)  # the header


class Stream:
    """An answer whose head has come. Read it or leave it, and `close` it."""

    def __init__(self, response: ClientResponse) -> None:
        self._response = response
        self.status = response.status
        self.headers: tuple[tuple[bytes, bytes], ...] = response.raw_headers

    def header(self, name: str) -> str:
        found: str = self._response.headers.get(name, "")
        return found

    async def pieces(self) -> AsyncIterator[bytes]:
        """The body as it comes; raises CallError if it ends before its end."""
        import aiohttp

        try:
            async for piece in self._response.content.iter_any():
                yield piece
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise CallError(f"the answer is cut off: {reason(error)}", retryable=True) from None

    async def whole(self, most: int) -> bytes:
        """All of the body; raises CallError where it is longer than it may be."""
        parts, size = [], 0
        async for piece in self.pieces():
            size += len(piece)
            if size > most:
                self.close()
                raise CallError(f"the answer is longer than {most} bytes", self.status)
            parts.append(piece)
        return b"".join(parts)

    def release(self) -> None:
        """Keep the connection for the next call if the body was read, else close it."""
        self._response.release()

    def close(self) -> None:
        self._response.close()


class Caller:
    """Calls over connections that stay open. Make it anywhere, use it on one loop, `close` it at
    the end. `proxy_for` names the proxy for a URL, or nothing."""

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
        most: int = MOST_ANSWER_BYTES,
    ) -> Reply:
        """The whole answer to one call; raises CallError."""
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
        """An answer as soon as its head is there, which has to be in time; raises CallError."""
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
        except (aiohttp.ClientError, OSError) as error:  # a TimeoutError is one: to connect
            unreached = isinstance(
                error, (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError)
            )
            raise CallError(reason(error), retryable=True, unreached=unreached) from None
        return Stream(response)

    def _opened(self) -> ClientSession:
        import aiohttp

        if self._session is None or self._session.closed:
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=_MOST_CONNECTIONS),
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
    """Why no connection came about or why it ended, in the words of the operating system."""
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
