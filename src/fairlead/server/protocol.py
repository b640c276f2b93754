"""uvicorn's HTTP protocol with three additions that ASGI applications may use.

`scope["extensions"]["tls"]` tells of the peer's certificate. `scope["extensions"]["respond"]` takes
a whole answer and writes it at once: one TLS record and one system call instead of two.
`scope["extensions"]["abort"]` cuts the connection off, whatever is still to be sent.
"""

from __future__ import annotations

import asyncio
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
    """`tls["subject"]` is the verified client certificate's subject, as a list of (attribute,
    value), or None. One dictionary a connection: what a method learns from the certificate can be
    kept in it."""

    _tls: dict[Any, Any]
    _header_bytes: int

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        certificate = transport.get_extra_info("peercert")
        subject = None
        if certificate:
            subject = [pair for part in certificate.get("subject", ()) for pair in part]
        self._tls = {"subject": subject}

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._header_bytes = 0

    def on_header(self, name: bytes, value: bytes) -> None:
        self._header_bytes += len(name) + len(value)
        if self._header_bytes <= MOST_HEADER_BYTES:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        extensions: dict[Any, Any] = {"tls": self._tls}
        self.scope["extensions"] = extensions
        if self._header_bytes > MOST_HEADER_BYTES:
            self._refuse(431)
            return
        super().on_headers_complete()
        extensions["respond"] = partial(_respond, self.cycle)
        extensions["abort"] = self.transport.abort

    def _refuse(self, code: int) -> None:
        self.transport.write(STATUS_LINE[code] + b"connection: close\r\ncontent-length: 0\r\n\r\n")
        self.transport.close()


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
