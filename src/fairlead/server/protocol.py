"""uvicorn's HTTP protocol with the peer's certificate in the scope (ASGI's `tls` extension)."""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol


class TlsProtocol(HttpToolsProtocol):
    """`scope["extensions"]["tls"]["subject"]` is the verified client certificate's subject, as a
    list of (attribute, value), or None. One dictionary a connection: what a method learns from the
    certificate can be kept in it."""

    _tls: dict[Any, Any]

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        certificate = transport.get_extra_info("peercert")
        subject = None
        if certificate:
            subject = [pair for part in certificate.get("subject", ()) for pair in part]
        self._tls = {"subject": subject}

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self.scope["extensions"] = {"tls": self._tls}
