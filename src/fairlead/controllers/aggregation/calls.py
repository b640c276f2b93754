"""Internal requests to extension servers."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

from fairlead.api.relay.headers import request_head
from fairlead.auth.authentication.user import User
from fairlead.base.records import dataclass
from fairlead.controllers.aggregation.extension import Extension
from fairlead.controllers.aggregation.identity import DISCOVERER, identity_fields
from fairlead.controllers.aggregation.links import Links
from fairlead.wire.outgoing.client import MAX_ANSWER_BYTES, CallError

Header = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Fetched:
    """A complete response."""

    status: int
    headers: tuple[tuple[bytes, bytes], ...]
    content: bytes

    def header(self, name: str) -> str:
        """The first value of a header, or ""."""
        wanted = name.lower().encode()
        found = (value for key, value in self.headers if key == wanted)
        return next(found, b"").decode("latin-1")


class ExtensionCalls:
    def __init__(self, links: Links) -> None:
        self._links = links

    async def fetch(
        self,
        extension: Extension,
        path: str,
        *,
        user: User = DISCOVERER,
        method: str = "GET",
        headers: Iterable[Header] = (),
        body: bytes = b"",
        timeout: float = 5.0,
        most: int = MAX_ANSWER_BYTES,
    ) -> Fetched:
        """Send a request and read the complete response, whatever its status. Raises CallError.
        `path` is percent-encoded and may have a query. Redirects are not followed."""
        own = [(name.lower().encode(), value.encode("latin-1")) for name, value in headers]
        try:
            async with asyncio.timeout(timeout):
                link = await self._links.to(extension, self._links.trust(extension))
                fields = [
                    (b"host", str(link.place).encode()),
                    (b"user-agent", b"fairlead"),
                    *identity_fields(user),
                    *own,
                    *([(b"content-length", b"%d" % len(body))] if body else ()),
                ]
                head = request_head(method, path.encode(), fields)
                answer = await link.conversations.ask(link.place, method.encode(), head + body)
                try:
                    content = await answer.whole(most)
                    return Fetched(answer.status, tuple(answer.fields), content)
                finally:
                    link.conversations.give_back(answer)
        except TimeoutError:
            raise CallError(f"no answer within {timeout:g}s", retryable=True) from None
