"""TLS towards a server of others."""

from __future__ import annotations

import asyncio
import ssl
from typing import Any


class Secured(asyncio.Transport):
    """TLS over a TCP connection whose reading is paused below TLS: what the library has decrypted
    while it is paused itself is lost when the other side closes."""

    def __init__(self, tcp: asyncio.Transport, tls: asyncio.Transport) -> None:
        super().__init__()
        self._tcp = tcp
        self._tls = tls

    def pause_reading(self) -> None:
        if not self._tcp.is_closing():
            self._tcp.pause_reading()

    def resume_reading(self) -> None:
        if not self._tcp.is_closing():
            self._tcp.resume_reading()

    def write(self, data: Any) -> None:
        self._tls.write(data)

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        self._tls.set_protocol(protocol)

    def can_write_eof(self) -> bool:
        return False

    def get_write_buffer_size(self) -> int:
        return self._tls.get_write_buffer_size()

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return self._tls.get_extra_info(name, default)

    def is_closing(self) -> bool:
        return self._tls.is_closing()

    def close(self) -> None:
        self.resume_reading()  # the other side's farewell has to be read
        self._tls.close()

    def abort(self) -> None:
        self._tls.abort()


async def secure(
    tcp: asyncio.Transport,
    protocol: asyncio.Protocol,
    context: ssl.SSLContext,
    name: str,
    seconds_to_part: float,
) -> None:
    """Speak TLS over a connection on which nothing was said yet, and let a protocol have it. Raises
    OSError and ssl.CertificateError."""
    loop = asyncio.get_running_loop()
    try:
        made = await loop.start_tls(
            tcp, protocol, context, server_hostname=name, ssl_shutdown_timeout=seconds_to_part
        )
    except BaseException:
        tcp.abort()
        raise
    if made is None:
        raise ConnectionResetError
    protocol.connection_made(Secured(tcp, made))
