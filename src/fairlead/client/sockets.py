"""WebSockets to subresources of pods."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol
from urllib.parse import quote

from fairlead.base.dialect import CLUSTER, KUBERNETES
from fairlead.client.errors import Unreachable
from fairlead.client.resources import checked_name
from fairlead.client.session import Request, Session
from fairlead.wire.outgoing.websocket import (
    Piece,
    WebSocket,
    accepts,
    new_key,
    request_headers,
)

SWITCHED = 101


def protocol_names(patterns: Sequence[str]) -> tuple[str, ...]:
    """The names of protocols in both dialects; `@` in a pattern stands for the domain. A server
    takes the first that it knows."""
    return tuple(
        dialect.group_name(pattern) for pattern in patterns for dialect in (KUBERNETES, CLUSTER)
    )


class Socket(Protocol):
    """A connection with messages, a WebSocket or what stands in for it."""

    protocol: str

    async def send(self, payload: bytes) -> None:
        """Raises CallError."""

    async def receive(self) -> list[Piece]:
        """Pieces of messages, nothing at the end; raises CallError."""

    async def close(self) -> None: ...


Target = tuple[str, str, str]  # namespace, pod and subresource


def path_of(target: Target) -> str:
    """Raises InvalidName."""
    namespace, pod, subresource = target
    space = quote(checked_name(namespace, "namespace"), safe="")
    return f"/api/v1/namespaces/{space}/pods/{quote(checked_name(pod), safe='')}/{subresource}"


async def open_socket(
    session: Session,
    target: Target,
    query: Sequence[tuple[str, str]],
    patterns: Sequence[str],
) -> WebSocket:
    """Open a WebSocket, which speaks one of the protocols. Raises ApiError, Unreachable and
    AccessError."""
    path, subresource = path_of(target), target[2]
    key, protocols = new_key(), protocol_names(patterns)
    upgrade = tuple(request_headers(key, protocols))
    async with session.open(Request("GET", path, query, accept="*/*", upgrade=upgrade)) as answer:
        headers = answer.headers
        spoken = headers.get("sec-websocket-protocol", "")
        if answer.status != SWITCHED or spoken not in protocols:
            raise Unreachable(f"the server opens no WebSocket for {subresource}", sent=True)
        if not accepts(key, headers.get("sec-websocket-accept", "").encode()):
            raise Unreachable("the server answers with a wrong Sec-WebSocket-Accept", sent=True)
        return WebSocket(await answer.take_over(), spoken)
