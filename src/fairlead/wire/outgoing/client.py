"""Makes calls to URLs, each with a deadline and a bound for its response.

Redirects are not followed and no cookies are kept.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from fairlead.wire.outgoing.connection import Connection
from fairlead.wire.outgoing.dialer import SECONDS_TO_CONNECT
from fairlead.wire.outgoing.pool import Pool
from fairlead.wire.outgoing.request import Request
from fairlead.wire.outgoing.response import MAX_RESPONSE_BYTES, CallError, Response

_MAX_CALLS = 100  # at once; further calls wait


class HttpClient:
    """Makes calls over keep-alive connections. Can be created anywhere, used on one event loop; the
    owner must `close` it. `proxy_for` returns the proxy of a URL, or ""."""

    def __init__(
        self,
        *,
        proxy_for: Callable[[str], str] | None = None,
        seconds_to_connect: float = SECONDS_TO_CONNECT,
    ) -> None:
        self._proxy_for = proxy_for
        self._pool = Pool(seconds_to_connect)
        self._slots = asyncio.Semaphore(_MAX_CALLS)

    async def call(
        self, request: Request, *, timeout: float, max_bytes: int = MAX_RESPONSE_BYTES
    ) -> Response:
        """Return the complete response of a server; raises CallError."""
        route, content = request.encode(self._proxy(request))
        try:
            async with asyncio.timeout(timeout), self._slots:
                return await self._pool.call(route, request.method.encode(), content, max_bytes)
        except TimeoutError:
            raise CallError(f"no answer within {timeout:g}s", retryable=True) from None

    async def open(self, request: Request, *, timeout: float) -> Connection:
        """Make a call and return once the head of the response has arrived; raises CallError if
        that takes longer than `timeout`. The connection ends with this client."""
        route, content = request.encode(self._proxy(request))
        try:
            async with asyncio.timeout(timeout):
                return await self._pool.request(route, request.method.encode(), content)
        except TimeoutError:
            raise CallError(f"no answer within {timeout:g}s", retryable=True) from None

    def _proxy(self, request: Request) -> str:
        return self._proxy_for(request.url) if self._proxy_for is not None else ""

    async def close(self) -> None:
        self._pool.close()
        await asyncio.sleep(0)  # aborted transports close in the next iteration of the loop
