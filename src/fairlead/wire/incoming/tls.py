"""TLS connections: OpenSSL reads from and writes to the socket; the HTTP protocol sees an asyncio
transport."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Iterable
from contextlib import suppress
from contextvars import Context
from pathlib import Path
from typing import Any, Final

from cryptography.x509 import Certificate
from OpenSSL import SSL, crypto

from fairlead.base.metrics import REGISTRY
from fairlead.wire.incoming.batches import MAX_RECORD, Batch, BatchedConnection, Data, slices_of
from fairlead.wire.incoming.exchange import NOBODY, PLAIN_HTTP, Peer
from fairlead.wire.incoming.protocol import HttpProtocol

_HANDSHAKE: Final = 22  # the first byte of a TLS connection
_HTTP_FIRST_BYTES: Final = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZ")  # of plain HTTP requests
_PIECE: Final = 64 * 1024  # bytes read at once from a peer that is not listened to any more
_LOW_SHARE: Final = 4  # writing resumes at this part of the limit of unsent bytes
_EMPTY: Final = Context()  # callbacks inherit nothing from the request that registers them
_PARTIAL_WRITES: Final = 0x1  # SSL_MODE_ENABLE_PARTIAL_WRITE, which pyOpenSSL sets
# AES-128 before AES-256: faster and smaller, and the order of the reference.
_SUITES: Final = b"TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256"
_CIPHERS: Final = b"@SECLEVEL=2:ECDH+AESGCM:ECDH+CHACHA20:ECDH+AES:!aNULL:!eNULL:!SHA1:!AESCCM"


# OpenSSL's X509_V_ERR_… numbers with a message of their own in the log.
_PROBLEMS: Final = {
    7: "the certificate's signature is wrong",
    18: "the certificate was issued by an unknown authority",
    19: "the certificate was issued by an unknown authority",
    20: "the certificate was issued by an unknown authority",
    21: "the certificate was issued by an unknown authority",
    26: "the certificate is not for client authentication",
}
# Validity dates are checked at each request, against a clock that tests can move.
_VALIDITY_ERRORS: Final[tuple[int, ...]] = (9, 10)
_FAILED_HANDSHAKES: Final = REGISTRY.counter(
    "apiserver_tls_handshake_errors", "Connections that ended before their TLS handshake did."
)


class TlsConnection(BatchedConnection):
    """A connection of a client, from its TCP socket to the HTTP protocol. What the client does not
    read waits here, not yet encrypted."""

    __slots__ = (
        *("_batch", "_fd", "_inner", "_is_closing", "_is_done_writing", "_is_established"),
        *("_is_full", "_is_paused", "_is_reading", "_is_upgraded", "_is_writing", "_limit"),
        *("_loop", "_on_established", "_peername", "_receive", "_send", "_sock", "_speaks_tls"),
        *("_ssl", "_unsent", "_unsent_size", "_wants_eof"),
    )

    def __init__(
        self,
        sock: socket.socket,
        peername: Any,
        context: SSL.Context,
        protocol: HttpProtocol,
        loop: asyncio.AbstractEventLoop,
        batch: Batch,
    ) -> None:
        sock.setblocking(False)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._sock = sock
        self._fd = sock.fileno()
        self._peername = peername
        ssl = self._ssl = SSL.Connection(context, sock)
        ssl.set_accept_state()
        ssl.set_app_data([])  # collects verification errors
        self._receive: Any = ssl.recv
        self._send: Any = ssl.send
        self._loop = loop
        self._batch = batch
        self._inner: Any = protocol  # an asyncio protocol, None at the end
        self._on_established: Callable[[Peer], None] | None = protocol.tls_established
        self._unsent: list[Data] = []
        self._unsent_size = 0
        self._limit = MAX_RECORD  # of unsent bytes, above which the protocol is told to pause
        self._speaks_tls = self._is_established = self._is_upgraded = False
        self._is_reading = self._is_paused = False  # paused by the protocol
        self._is_writing = self._is_full = False  # waits for the socket; told the protocol to pause
        self._wants_eof = False  # the sending side closes when all is sent
        self._is_done_writing = False  # the sending side is closed
        self._is_closing = False
        transport: Any = self
        protocol.connection_made(transport)
        self._start_reading()

    # Reading

    def _start_reading(self) -> None:
        if not self._is_reading and not self._is_paused and not self._is_closing:
            self._is_reading = True
            _EMPTY.run(self._loop.add_reader, self._fd, self._on_readable)

    def _stop_reading(self) -> None:
        if self._is_reading:
            self._is_reading = False
            self._loop.remove_reader(self._fd)

    def _on_readable(self) -> None:
        if not self._is_established:
            self._begin_handshake()
            return
        if self._is_done_writing and not self._is_upgraded:
            self._discard()
            return
        try:
            data: bytes = self._receive(MAX_RECORD)
        except SSL.WantReadError:
            return  # a part of a record, or no content
        except SSL.ZeroReturnError:
            self._handle_eof()
            return
        except SSL.SysCallError as error:
            if error.args[0] == -1:  # the peer closed TCP only
                self._handle_eof()
            else:
                self._lose(None)
            return
        except (SSL.Error, OSError):
            self._batch.process_all()
            self.close()
            return
        self._batch.receive(self, data)

    def _discard(self) -> None:
        """Read from a client that does not notice that its request was answered. The protocol only
        counts the bytes."""
        try:
            data = self._sock.recv(_PIECE)
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            data = b""
        if data:
            self.process(data)
        else:
            self._lose(None)

    def _handle_eof(self) -> None:
        """The peer has closed its sending side. The protocol decides whether data may still be
        sent."""
        self._batch.process_all()
        if self._inner is None or self._is_closing:
            return
        self._stop_reading()
        self._is_paused = True
        if not self._inner.eof_received():
            self.close()

    def process(self, data: bytes) -> None:
        if self._inner is not None and not self._is_closing:
            self._inner.data_received(data)

    # The handshake

    def _begin_handshake(self) -> None:
        """Continue the handshake in a slice of time: a signature takes as long as many requests."""
        if self._speaks_tls or self._check_first_byte():
            self._stop_reading()
            slices_of(self._loop).add(self._shake_hands)

    def _check_first_byte(self) -> bool:
        """Whether the first byte is one of TLS. Plain HTTP gets an error response."""
        try:
            first = self._sock.recv(1, socket.MSG_PEEK)
        except (BlockingIOError, InterruptedError):
            return False
        except OSError:
            first = b""
        if first and first[0] == _HANDSHAKE:
            self._speaks_tls = True
            return True
        with suppress(OSError):
            if first and first[0] in _HTTP_FIRST_BYTES:
                self._sock.recv(_PIECE)  # unread input would make the system drop the answer
                self._sock.send(PLAIN_HTTP)
        self._lose(None)
        return False

    def _shake_hands(self) -> None:
        if self._is_closing:
            return
        try:
            self._ssl.do_handshake()
        except SSL.WantReadError:
            self._start_reading()
        except SSL.WantWriteError:
            self._wait_until_writable(self._shake_hands)
        except (SSL.Error, OSError):
            self._lose(None)
        else:
            self._is_established = True
            callback, self._on_established = self._on_established, None
            if callback is not None:
                callback(_peer(self._ssl))
            self._start_reading()

    # Writing

    def write(self, data: Any) -> None:
        if not self._is_closing and not self._wants_eof:
            self._batch.send(self, data)

    def writelines(self, parts: Iterable[Any]) -> None:
        self.write(b"".join(parts))

    def send(self, data: Data) -> None:
        if not data or self._is_closing or self._is_done_writing:
            return
        if not self._unsent:
            try:
                self._send(data)
                return
            except SSL.WantWriteError:
                self._wait_until_writable(self._send_rest)
            except (SSL.Error, OSError):
                self._lose(None)
                return
        self._unsent.append(data)
        self._unsent_size += len(data)
        if self._unsent_size > self._limit and not self._is_full:
            self._is_full = True
            self._inner.pause_writing()

    def _wait_until_writable(self, callback: Callable[[], None]) -> None:
        self._is_writing = True
        _EMPTY.run(self._loop.add_writer, self._fd, self._on_writable, callback)

    def _on_writable(self, callback: Callable[[], None]) -> None:
        self._is_writing = False
        self._loop.remove_writer(self._fd)
        callback()

    def _send_rest(self) -> None:
        unsent = self._unsent
        while unsent:
            try:
                self._send(unsent[0])  # what was begun must be sent again as it was
            except SSL.WantWriteError:
                self._wait_until_writable(self._send_rest)
                break
            except (SSL.Error, OSError):
                self._lose(None)
                return
            self._unsent_size -= len(unsent.pop(0))
        if self._is_full and self._unsent_size * _LOW_SHARE <= self._limit:
            self._is_full = False
            if self._inner is not None:
                self._inner.resume_writing()
        if not unsent:
            self._finish_writing()

    def _finish_writing(self) -> None:
        """Close what was to be closed once all is sent."""
        if self._is_closing:
            self._shut_down()
            self._lose(None)
        elif self._wants_eof and not self._is_done_writing:
            self._is_done_writing = True
            self._shut_down()
            with suppress(OSError):
                self._sock.shutdown(socket.SHUT_WR)

    def _shut_down(self) -> None:
        """Send TLS's notice that nothing follows."""
        if self._is_established:
            with suppress(SSL.Error, OSError):
                self._ssl.shutdown()

    def can_write_eof(self) -> bool:
        return True

    def write_eof(self) -> None:
        """Close the sending side and keep reading. Further input of an HTTP client is only
        counted."""
        self._batch.flush()
        if not self._is_closing and not self._wants_eof:
            self._wants_eof = True
            if not self._unsent:
                self._finish_writing()

    def close(self) -> None:
        """Close the connection once all is sent."""
        self._batch.flush()
        if self._is_closing:
            return
        self._stop_reading()
        self._is_closing = True
        if not self._unsent:
            self._finish_writing()

    def abort(self) -> None:
        self._lose(None)

    def _lose(self, error: Exception | None) -> None:
        """Close the socket now."""
        if self._fd < 0:
            return
        self._stop_reading()
        if self._is_writing:
            self._loop.remove_writer(self._fd)
        self._is_closing, self._fd = True, -1
        self._unsent.clear()
        self._unsent_size = 0
        self._sock.close()
        self._loop.call_soon(self._tell_lost, error, context=_EMPTY)

    def _tell_lost(self, error: Exception | None) -> None:
        if not self._is_established:
            _FAILED_HANDSHAKES.add()
        inner, self._inner = self._inner, None
        self._on_established = None
        if inner is not None:
            inner.connection_lost(error)

    # What else a transport has

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        """Replace the protocol, after the handshake."""
        self._inner = protocol
        self._is_upgraded = True

    def is_closing(self) -> bool:
        return self._is_closing

    def pause_reading(self) -> None:
        self._is_paused = True
        if self._is_established:
            self._stop_reading()

    def resume_reading(self) -> None:
        self._is_paused = False
        if self._is_established:
            self._start_reading()

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        if name == "peername":
            return self._peername
        return self._sock if name == "socket" else default

    def get_write_buffer_size(self) -> int:
        return self._unsent_size

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        if high is not None:
            self._limit = high


def server_context(certificate: Path, key: Path, authorities: Iterable[Certificate]) -> SSL.Context:
    """Create a context that requests client certificates of these CAs and accepts others with a
    problem noted. Session resumption is off: it would skip the check against the current CAs.
    Raises SSL.Error if certificate and key cannot be used."""
    context = SSL.Context(SSL.TLS_SERVER_METHOD)
    context.set_min_proto_version(SSL.TLS1_2_VERSION)
    context.set_options(SSL.OP_NO_TICKET | SSL.OP_NO_COMPRESSION | SSL.OP_NO_RENEGOTIATION)
    # Else a client that only closes TCP could not be answered any more.
    context.set_options(SSL.OP_CIPHER_SERVER_PREFERENCE | SSL.OP_IGNORE_UNEXPECTED_EOF)
    context.set_mode(SSL.MODE_RELEASE_BUFFERS)
    context.clear_mode(_PARTIAL_WRITES)  # a write is done, or is repeated
    context.set_session_cache_mode(SSL.SESS_CACHE_OFF)
    context.set_cipher_list(_CIPHERS)
    context.set_tls13_ciphersuites(_SUITES)
    context.use_certificate_chain_file(str(certificate))
    context.use_privatekey_file(str(key))
    context.check_privatekey()
    store = context.get_cert_store()
    assert store is not None
    store.set_flags(crypto.X509StoreFlags.PARTIAL_CHAIN)
    for authority in authorities:
        context.add_client_ca(authority)
        store.add_cert(crypto.X509.from_cryptography(authority))
    context.set_verify(SSL.VERIFY_PEER | SSL.VERIFY_CLIENT_ONCE, _collect_problem)
    return context


def _collect_problem(
    connection: SSL.Connection, _certificate: crypto.X509, number: int, _depth: int, good: int
) -> bool:
    if not good and number not in _VALIDITY_ERRORS:
        connection.get_app_data().append(number)
    return True


def _peer(ssl: SSL.Connection) -> Peer:
    problems: list[int] = ssl.get_app_data()
    leaf = ssl.get_peer_certificate()
    if leaf is None:
        return NOBODY
    # Not parsed here: other libraries may reject certificates that OpenSSL reads.
    certificates = [leaf, *(ssl.get_peer_cert_chain() or [])]
    chain = tuple(
        dict.fromkeys(
            crypto.dump_certificate(crypto.FILETYPE_ASN1, certificate)
            for certificate in certificates
        )
    )
    problem = _PROBLEMS.get(problems[0], "the certificate cannot be verified") if problems else ""
    return Peer(chain, problem)
