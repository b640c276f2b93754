"""Calls to extension servers, by which this server finds out about them."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from fairlead.aggregation.extension import Extension
from fairlead.aggregation.identity import DISCOVERER, identity_headers
from fairlead.aggregation.trust import ProxyTrust
from fairlead.authentication.user import User
from fairlead.outgoing.client import MOST_ANSWER_BYTES, Caller, CallError
from fairlead.outgoing.webhooks import Webhooks

Header = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Fetched:
    """A whole answer."""

    status: int
    headers: tuple[tuple[bytes, bytes], ...]
    content: bytes

    def header(self, name: str) -> str:
        """The first value of a header, or nothing."""
        wanted = name.lower().encode()
        found = (value for key, value in self.headers if key.lower() == wanted)
        return next(found, b"").decode("latin-1")


class ExtensionCalls:
    """`services` knows where services are."""

    def __init__(self, services: Webhooks, trust: ProxyTrust) -> None:
        self._services = services
        self._trust = trust
        self._caller = Caller()

    async def fetch(
        self,
        extension: Extension,
        path: str,
        *,
        user: User = DISCOVERER,
        method: str = "GET",
        headers: tuple[Header, ...] = (),
        body: bytes = b"",
        timeout: float = 5.0,
        most: int = MOST_ANSWER_BYTES,
    ) -> Fetched:
        """The whole answer of an extension server, whatever its status; raises CallError. `path`
        is encoded and may have a query. No redirect is followed."""
        try:
            async with asyncio.timeout(timeout):
                address = extension.service_namespace, extension.service_name
                host, port = await self._services.address(*address, extension.service_port)
                shown = f"[{host}]" if ":" in host else host
                stream = await self._caller.open(
                    method,
                    f"https://{shown}:{port}{path}",
                    timeout=timeout,
                    headers=(*identity_headers(user), *headers),
                    body=body or None,
                    tls=self._trust.context(extension),
                    server_name=extension.host,
                )
                try:
                    content = await stream.whole(most)
                    return Fetched(stream.status, stream.headers, content)
                finally:
                    stream.release()
        except TimeoutError:
            raise CallError(f"no answer within {timeout:g}s", retryable=True) from None

    async def close(self) -> None:
        await self._caller.close()
