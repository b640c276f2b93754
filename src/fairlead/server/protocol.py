"""uvicorn's HTTP protocol with three additions that ASGI applications may use.

`scope["extensions"]["tls"]` tells of the peer's certificate. `scope["extensions"]["respond"]` takes
a whole answer and writes it at once: one TLS record and one system call instead of two.
`scope["extensions"]["abort"]` cuts the connection off, whatever is still to be sent.
"""

from __future__ import annotations

import asyncio
import ssl
from functools import partial
from typing import Any

from uvicorn.protocols.http.httptools_impl import (
    STATUS_LINE,
    HttpToolsProtocol,
    RequestResponseCycle,
)

Headers = list[tuple[bytes, bytes]]

MOST_HEADER_BYTES = 1024 * 1024


class TlsProtocol(HttpToolsProtocol):
    """`tls["certificates"]` are the DER certificates that the client sent and the TLS layer
    verified, the client's own first; empty if it sent none. One dictionary a connection: what a
    method learns from the certificates can be kept in it. Heads that are too long are refused."""

    _tls: dict[Any, Any]
    _in_head = False
    _head_bytes = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._tls = {"certificates": client_chain(transport.get_extra_info("ssl_object"))}

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self._in_head:  # the parser keeps one header however long it gets
            self._head_bytes += len(data)
            if self._head_bytes > MOST_HEADER_BYTES and not self.transport.is_closing():
                self._refuse(431)

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._in_head = True
        self._head_bytes = 0

    def on_headers_complete(self) -> None:
        self._in_head = False
        if sum(len(name) + len(value) for name, value in self.headers) > MOST_HEADER_BYTES:
            self._refuse(431)
            return
        extensions: dict[Any, Any] = {"tls": self._tls, "abort": self.transport.abort}
        self.scope["extensions"] = extensions
        super().on_headers_complete()
        extensions["respond"] = partial(_respond, self.cycle)

    def _refuse(self, code: int) -> None:
        self._in_head = False
        self.transport.write(STATUS_LINE[code] + b"connection: close\r\ncontent-length: 0\r\n\r\n")
        self.transport.close()


def client_chain(connection: ssl.SSLObject | None) -> tuple[bytes, ...]:
    """The certificates of a connection's client, its own first; maybe none."""
    own = connection.getpeercert(True) if connection is not None else None
    if own is None:
        return ()
    # Python makes the rest of the chain public in 3.13 only; it is there since 3.10.
    inner = getattr(connection, "_sslobj", None)
    read = getattr(inner, "get_unverified_chain", None)
    rest = [part.public_bytes(2) for part in (read() if read is not None else None) or ()]
    return (own, *(der for der in rest if der != own))


def _respond(cycle: RequestResponseCycle, code: int, headers: Headers, body: bytes) -> bool:
    """Write a whole answer; False where it has to go the ordinary way, in steps."""
    if cycle.disconnected:
        return True
    if cycle.response_started or cycle.flow.write_paused or cycle.scope["method"] == "HEAD":
        return False
    parts = [STATUS_LINE[code]]
    for name, value in (*cycle.default_headers, *headers):
        parts += (name, b": ", value, b"\r\n")
    if not cycle.keep_alive:
        parts.append(b"connection: close\r\n")
    parts += (b"content-length: %d\r\n\r\n" % len(body), body)
    cycle.response_started = cycle.response_complete = True
    cycle.waiting_for_100_continue = False
    cycle.transport.write(b"".join(parts))
    cycle.message_event.set()
    if not cycle.keep_alive:
        cycle.transport.close()
    cycle.on_response()
    return True
