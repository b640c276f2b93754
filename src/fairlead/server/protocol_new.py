"""The HTTP protocol with all certificates of the client in the scope and a bound on request heads
that never end, and the TLS settings that ask clients for certificates."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable, Sequence

from fairlead.authentication.authorities import Authorities, Chain
from fairlead.server.protocol import MOST_HEADER_BYTES, TlsProtocol


class CertificateProtocol(TlsProtocol):
    """`scope["extensions"]["tls"]["certificates"]` are the DER certificates that the client sent
    and the TLS layer verified, the client's own first; empty if it sent none."""

    _in_head = False
    _head_bytes = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._tls["certificates"] = client_chain(transport.get_extra_info("ssl_object"))

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._in_head = True
        self._head_bytes = 0

    def on_headers_complete(self) -> None:
        self._in_head = False
        super().on_headers_complete()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self._in_head:  # the parser keeps one header however long it gets
            self._head_bytes += len(data)
            if self._head_bytes > MOST_HEADER_BYTES and not self.transport.is_closing():
                self._in_head = False
                self._refuse(431)


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
