"""TLS to other servers: contexts, client certificates and the transport.

Contexts verify the other server by the rules of the reference (`handshake.trusting`, in a server),
by those of OpenSSL (`trust_by_openssl`, in commands) or not at all (`unchecked`).
"""

from __future__ import annotations

import asyncio
import os
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_OWN_FILES = "/proc/self/fd"


class Untrusted(ssl.SSLCertVerificationError):
    """The certificate is not trusted. The message is that of a client of the reference."""

    def __init__(self, reason: str) -> None:
        super().__init__(1, reason)
        self.verify_code, self.verify_message = 1, reason


def trust_by_openssl(bundle: bytes) -> ssl.SSLContext:
    """Create a context that trusts a bundle, or the system's CAs, by OpenSSL's rules. Used by
    commands: the verification by the reference's rules takes longer to load than a command runs."""
    context = _NamingContext(ssl.PROTOCOL_TLS_CLIENT)
    if bundle:
        context.load_verify_locations(cadata=bundle.decode())
    else:
        context.load_default_certs()
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    if key_log := os.environ.get("SSLKEYLOGFILE"):
        context.keylog_filename = key_log
    return context


class _NamingContext(ssl.SSLContext):
    """Passes ASCII names of servers on as bytes: for text, the base class loads the tables of
    international names, which takes long for a command."""

    def wrap_bio(
        self,
        incoming: ssl.MemoryBIO,
        outgoing: ssl.MemoryBIO,
        server_side: bool = False,
        server_hostname: str | bytes | None = None,
        session: ssl.SSLSession | None = None,
    ) -> ssl.SSLObject:
        if isinstance(server_hostname, str) and server_hostname.isascii():
            server_hostname = server_hostname.encode()
        return super().wrap_bio(incoming, outgoing, server_side, server_hostname, session)


def unchecked() -> ssl.SSLContext:
    """Create a context that accepts any certificate."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


def load_pair(context: ssl.SSLContext, certificate: bytes, key: bytes) -> None:
    """Load a pair from a temporary file: the ssl module reads pairs from files only."""
    with _private_file(certificate + b"\n" + key) as name:
        # A password, even an empty one, prevents a prompt for an encrypted key.
        context.load_cert_chain(name, password="")


@contextmanager
def _private_file(content: bytes) -> Iterator[str]:
    """Yield the name of a private temporary file, in memory if the system supports that."""
    if hasattr(os, "memfd_create") and os.path.isdir(_OWN_FILES):
        with open(os.memfd_create("pair"), "wb") as file:
            file.write(content)
            file.flush()
            yield f"{_OWN_FILES}/{file.fileno()}"
        return
    import tempfile

    with tempfile.NamedTemporaryFile() as temporary:
        temporary.write(content)
        temporary.flush()
        yield temporary.name


class Secured(asyncio.Transport):
    """A TLS transport that pauses reading at the TCP level: data that asyncio's TLS layer has
    decrypted while it is paused is lost when the peer closes."""

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
        self.resume_reading()  # close_notify of the peer must be read
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
    """Start TLS on an unused connection and attach a protocol. Raises OSError, including
    Untrusted."""
    loop = asyncio.get_running_loop()
    try:
        transport = await loop.start_tls(
            tcp, protocol, context, server_hostname=name, ssl_shutdown_timeout=seconds_to_part
        )
    except BaseException:
        tcp.abort()
        raise
    if transport is None:
        raise ConnectionResetError
    protocol.connection_made(Secured(tcp, transport))
