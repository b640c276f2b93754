"""uvicorn's HTTP protocol with the client's certificates in the scope (ASGI's `tls` extension)
and a bound on request heads, and the TLS settings that ask clients for certificates."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable, Sequence
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from fairlead.authentication.authorities import Authorities, Chain

MOST_HEAD_BYTES = 1024 * 1024
_TOO_LARGE = b"431 Request Header Fields Too Large"


class TlsProtocol(HttpToolsProtocol):
    """`scope["extensions"]["tls"]["certificates"]` are the DER certificates that the client sent
    and the TLS layer verified, the client's own first; empty if it sent none."""

    _extensions: dict[str, Any]
    _in_head = False
    _head_bytes = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        chain = client_chain(transport.get_extra_info("ssl_object"))
        self._extensions = {"tls": {"certificates": chain}}

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self.scope["extensions"] = self._extensions
        self._in_head = True
        self._head_bytes = 0

    def on_headers_complete(self) -> None:
        self._in_head = False
        super().on_headers_complete()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self._in_head and not self.transport.is_closing():
            self._head_bytes += len(data)
            if self._head_bytes > MOST_HEAD_BYTES:
                self._refuse_head()

    def _refuse_head(self) -> None:
        self._in_head = False
        self.transport.write(
            b"HTTP/1.1 %b\r\ncontent-type: text/plain; charset=utf-8\r\ncontent-length: %d\r\n"
            b"connection: close\r\n\r\n%b" % (_TOO_LARGE, len(_TOO_LARGE), _TOO_LARGE)
        )
        self.transport.close()


def client_chain(connection: ssl.SSLObject | None) -> Chain:
    """The certificates of a connection's client, its own first; maybe none."""
    own = connection.getpeercert(True) if connection is not None else None
    if own is None:
        return ()
    # Python makes the rest of the chain public in 3.13 only; it is there since 3.10.
    inner = getattr(connection, "_sslobj", None)
    read = getattr(inner, "get_unverified_chain", None)
    rest = [part.public_bytes(2) for part in (read() if read is not None else None) or ()]
    return (own, *(der for der in rest if der != own))


class ClientTrust:
    """Keeps the TLS layer asking for client certificates of the current CAs.

    `make` gives a fresh server context with the serving certificate. `context` is for the
    listener; when CAs change, later handshakes are moved to a fresh context.
    """

    def __init__(
        self, make: Callable[[], ssl.SSLContext], authorities: Sequence[Authorities]
    ) -> None:
        self._make = make
        self._authorities = tuple(authorities)
        self._generations = self._current_generations()
        self.context = self._latest = self._trusting()
        self.context.sni_callback = self._at_handshake

    def _current_generations(self) -> tuple[int, ...]:
        return tuple(authorities.generation for authorities in self._authorities)

    def _trusting(self) -> ssl.SSLContext:
        context = self._make()
        context.verify_mode = ssl.CERT_OPTIONAL
        # A resumed session would skip the check against the CAs of the day.
        context.num_tickets = 0
        context.options |= ssl.OP_NO_TICKET
        for authorities in self._authorities:
            context.load_verify_locations(cadata=authorities.pem)
        return context

    def _at_handshake(
        self, connection: ssl.SSLSocket | ssl.SSLObject, _name: str | None, _: ssl.SSLContext
    ) -> None:
        generations = self._current_generations()
        if generations != self._generations:
            self._generations = generations
            self._latest = self._trusting()
        if self._latest is not self.context:
            connection.context = self._latest
