"""TLS handshakes of the server with others, verified by the rules of the reference.

`TrustingContext` is an SSL context for asyncio. pyOpenSSL does its handshakes, because its public
functions return the server's certificate chain; `wire/outgoing/trust.py` verifies the chain before
anything else is sent.
"""

from __future__ import annotations

import ssl
from ipaddress import ip_address
from typing import Any

from OpenSSL import SSL
from OpenSSL.crypto import FILETYPE_ASN1, X509, dump_certificate

from fairlead.wire.outgoing.certificates import parse_bundle
from fairlead.wire.outgoing.trust import Trust, system_trust

_PIECE = 64 * 1024
# Short keys are judged by `Trust`, with the rules of the reference.
_CIPHERS = b"DEFAULT:@SECLEVEL=0"


def trusting(bundle: bytes) -> TrustingContext:
    """Create a context that trusts a PEM bundle, or the system's CAs if it is empty; raises
    BundleError."""
    return TrustingContext(Trust(parse_bundle(bundle)) if bundle else None)


class TrustingContext(ssl.SSLContext):
    """Verifies servers with a `Trust`, by default that of the system. The base class has no trusted
    CAs, so a handshake that bypasses `wrap_bio` fails."""

    def __new__(cls, trust: Trust | None) -> TrustingContext:
        return super().__new__(cls, ssl.PROTOCOL_TLS_CLIENT)

    def __init__(self, trust: Trust | None) -> None:
        self._trust = trust
        self._settings = settings = SSL.Context(SSL.TLS_CLIENT_METHOD)
        settings.set_min_proto_version(SSL.TLS1_2_VERSION)
        settings.set_cipher_list(_CIPHERS)
        # A renegotiation could present another certificate.
        settings.set_options(SSL.OP_NO_RENEGOTIATION)
        settings.set_session_cache_mode(SSL.SESS_CACHE_OFF)
        settings.set_verify(SSL.VERIFY_NONE)

    def load_cert_chain(self, certfile: Any, keyfile: Any = None, password: Any = None) -> None:
        """As in the base class, which checks first that the pair is usable."""
        super().load_cert_chain(certfile, keyfile, password)
        self._settings.use_certificate_chain_file(certfile)
        self._settings.use_privatekey_file(keyfile or certfile)

    def wrap_bio(
        self,
        incoming: ssl.MemoryBIO,
        outgoing: ssl.MemoryBIO,
        server_side: bool = False,
        server_hostname: str | bytes | None = None,
        session: ssl.SSLSession | None = None,
    ) -> ssl.SSLObject:
        if server_side or not server_hostname or session is not None:
            raise ValueError("a client that names its server and resumes no session")
        name = server_hostname if isinstance(server_hostname, str) else server_hostname.decode()
        connection = SSL.Connection(self._settings)
        return _Session(connection, self._trust or system_trust(), name, incoming, outgoing)


class _Session(ssl.SSLObject):
    """TLS of one connection between two buffers, as event loops use it."""

    def __init__(
        self,
        connection: SSL.Connection,
        trust: Trust,
        name: str,
        incoming: ssl.MemoryBIO,
        outgoing: ssl.MemoryBIO,
    ) -> None:
        self._connection = connection
        self._trust = trust
        self._name = name
        self._incoming = incoming
        self._outgoing = outgoing
        self._is_trusted = False
        self._has_more = False
        connection.set_connect_state()
        if not _is_address(name):
            connection.set_tlsext_host_name(name.rstrip(".").encode())

    def do_handshake(self) -> None:
        """Continue the handshake; verifies the server's certificate before any further output."""
        self._read_incoming()
        try:
            self._connection.do_handshake()
        except SSL.WantReadError:
            self._verify(self._connection.get_peer_cert_chain())
            self._write_outgoing()
            raise ssl.SSLWantReadError(ssl.SSL_ERROR_WANT_READ, "handshake") from None
        except SSL.Error as error:
            self._write_outgoing()
            raise _translated(error) from None
        self._verify(self._connection.get_peer_cert_chain() or [])
        self._write_outgoing()

    def _verify(self, chain: list[X509] | None) -> None:
        if chain is None or self._is_trusted:
            return
        self._trust.check(
            [dump_certificate(FILETYPE_ASN1, certificate) for certificate in chain], self._name
        )
        self._is_trusted = True

    def read(self, len: int = 1024, buffer: Any = None) -> Any:
        self._read_incoming()
        try:
            if buffer is not None:
                return self._connection.recv_into(buffer, len)
            return self._connection.recv(len)
        except SSL.WantReadError:
            self._has_more = False
            raise ssl.SSLWantReadError(ssl.SSL_ERROR_WANT_READ, "read") from None
        except SSL.ZeroReturnError:
            self._has_more = False
            return b"" if buffer is None else 0
        except SSL.Error as error:
            raise _translated(error) from None
        finally:
            self._write_outgoing()

    def write(self, data: Any) -> int:
        try:
            return self._connection.send(data)
        except SSL.WantReadError:
            raise ssl.SSLWantReadError(ssl.SSL_ERROR_WANT_READ, "write") from None
        except SSL.Error as error:
            raise _translated(error) from None
        finally:
            self._write_outgoing()

    def unwrap(self) -> None:
        """Send close_notify and wait for the peer's."""
        self._read_incoming()
        try:
            is_over = self._connection.shutdown()
        except SSL.WantReadError:
            is_over = False
        except SSL.Error as error:
            raise _translated(error) from None
        finally:
            self._write_outgoing()
        if not is_over:
            raise ssl.SSLWantReadError(ssl.SSL_ERROR_WANT_READ, "unwrap")

    def pending(self) -> int:
        """Return more than 0 if there may be data to read: event loops stop reading at 0, and
        buffered records are only decrypted when they are read."""
        return max(self._connection.pending(), int(self._has_more))

    # Connection details that event loops query; unused here.

    def getpeercert(self, binary_form: bool = False) -> Any:
        return None

    def cipher(self) -> None:
        return None

    def compression(self) -> None:
        return None

    def _read_incoming(self) -> None:
        if self._incoming.pending:
            self._connection.bio_write(self._incoming.read())
            self._has_more = True

    def _write_outgoing(self) -> None:
        try:
            while True:
                self._outgoing.write(self._connection.bio_read(_PIECE))
        except SSL.WantReadError:
            pass


def _is_address(name: str) -> bool:
    try:
        ip_address(name.strip("[]"))
    except ValueError:
        return False
    return True


def _translated(error: SSL.Error) -> ssl.SSLError:
    """Convert a pyOpenSSL error to one of the standard library."""
    queue = error.args[0] if error.args and isinstance(error.args[0], list) else []
    reason = queue[-1][-1] if queue else str(error) or "EOF"
    translated = ssl.SSLError(ssl.SSL_ERROR_SSL, reason)
    translated.reason = reason.upper().replace(" ", "_")
    return translated
