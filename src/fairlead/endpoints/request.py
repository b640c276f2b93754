"""A request as the verbs see it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any
from urllib.parse import parse_qsl

from fairlead.authentication.user import User
from fairlead.bounded import remembered
from fairlead.endpoints.negotiation import PLAIN_JSON, Representation
from fairlead.endpoints.routing import Target
from fairlead.errors import StatusError, too_large
from fairlead.kinds.context import MOST_WARNINGS

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Query = dict[str, list[str]]

MOST_BODY_BYTES = 3 * 1024 * 1024
_NO_QUERY: Query = {}


@remembered(2048, longest=512, per_byte=100)
def _parse_query(raw: bytes) -> Query:
    query: Query = {}
    for key, value in parse_qsl(raw.decode("latin-1"), keep_blank_values=True):
        query.setdefault(key, []).append(value)
    return query


class Request:
    """Headers are looked up by lower-case name. `target`, `user` and `representation` are set as
    the request moves along the chain."""

    __slots__ = (
        "_headers",
        "impersonator",
        "method",
        "query",
        "raw_headers",
        "receive",
        "representation",
        "scope",
        "target",
        "user",
        "warnings",
    )

    target: Target
    user: User

    def __init__(self, scope: Scope, receive: Receive) -> None:
        self.scope = scope
        self.receive = receive
        self.method: str = scope["method"]
        self.raw_headers: list[tuple[bytes, bytes]] = scope["headers"]
        raw_query = scope["query_string"]
        self.query = _parse_query(raw_query) if raw_query else _NO_QUERY
        self.representation: Representation = PLAIN_JSON
        self.warnings: list[str] = []
        self.impersonator: User | None = None  # who really asks, if the user is another
        self._headers: dict[bytes, bytes] | None = None

    def header(self, name: bytes) -> str:
        """The first value of a header, or nothing."""
        headers = self._headers
        if headers is None:
            headers = self._headers = dict(reversed(self.raw_headers))
        return headers.get(name, b"").decode("latin-1")

    def parameter(self, name: str) -> str:
        values = self.query.get(name)
        return values[0] if values else ""

    @property
    def user_agent(self) -> str:
        return self.header(b"user-agent")

    def warn(self, text: str) -> None:
        if len(self.warnings) < MOST_WARNINGS and text not in self.warnings:
            self.warnings.append(text)

    async def body(self) -> bytes:
        """The whole body; 413 once it is over the limit."""
        declared = self.header(b"content-length")
        if declared.isdigit() and int(declared) > MOST_BODY_BYTES:
            await self._discard()
            raise too_large(MOST_BODY_BYTES)
        message = await self.receive()
        received: bytes = message.get("body", b"")
        if not message.get("more_body"):
            return received
        parts, size = [received], len(received)
        while message.get("more_body"):
            message = await self.receive()
            if message["type"] == "http.disconnect":
                raise StatusError(400, "BadRequest", "the client closed the connection")
            part = message.get("body", b"")
            size += len(part)
            if size > MOST_BODY_BYTES:
                await self._discard()
                raise too_large(MOST_BODY_BYTES)
            parts.append(part)
        return b"".join(parts)

    async def _discard(self) -> None:
        """Read the rest so that the client, still sending, gets to see the answer."""
        left = 64 * MOST_BODY_BYTES
        while left > 0:
            message = await self.receive()
            left -= len(message.get("body", b""))
            if message["type"] == "http.disconnect" or not message.get("more_body"):
                return
