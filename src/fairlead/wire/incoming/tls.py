"""TLS between a TCP transport and the HTTP protocol.

OpenSSL works on memory buffers. It gets whole records only, so after each read it is known whether
more can be read; and in small portions, because its buffers keep their largest size as long as the
connection lives.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

from cryptography.x509 import Certificate
from OpenSSL import SSL, crypto

from fairlead.base.metrics import REGISTRY
from fairlead.wire.incoming.batches import (
    MAX_RECORD,
    Batch,
    BatchedConnection,
    Data,
    slices_of,
)
from fairlead.wire.incoming.exchange import NOBODY, PLAIN_HTTP, Peer
from fairlead.wire.incoming.protocol import HttpProtocol
from fairlead.wire.incoming.tls_records import RecordLayers, Records

_HANDSHAKE, _MAX_RECORD_BYTES, _RECORD_HEAD = 22, 5 + MAX_RECORD + 2048, 5
_MAX_UNREAD = 512 * 1024
_MAX_RECORDS = 64  # parsed at once; one read holds fewer full-sized records
_HTTP_FIRST_BYTES = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZ")  # first bytes of plain HTTP requests
# AES-128 before AES-256: faster and smaller, and the order of the reference.
_SUITES = b"TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256"
_CIPHERS = b"@SECLEVEL=2:ECDH+AESGCM:ECDH+CHACHA20:ECDH+AES:!aNULL:!eNULL:!SHA1:!AESCCM"


# OpenSSL's X509_V_ERR_… numbers with a message of their own in the log.
_PROBLEMS = {
    7: "the certificate's signature is wrong",
    18: "the certificate was issued by an unknown authority",
    19: "the certificate was issued by an unknown authority",
    20: "the certificate was issued by an unknown authority",
    21: "the certificate was issued by an unknown authority",
    26: "the certificate is not for client authentication",
}
# Validity dates are checked at each request, against a clock that tests can move.
_VALIDITY_ERRORS = (9, 10)
_FAILED_HANDSHAKES = REGISTRY.counter(
    "apiserver_tls_handshake_errors", "Connections that ended before their TLS handshake did."
)


class TlsTransport(BatchedConnection):
    """To TCP it is an asyncio protocol, to the HTTP protocol an asyncio transport."""

    __slots__ = (
        "_batch",
        "_closed",
        "_eof_seen",
        "_established",
        "_has_data",
        "_inner",
        "_is_in_slices",
        "_is_paused",
        "_is_upgraded",
        "_may_send",
        "_on_established",
        "_records",
        "_rest",
        "_ssl",
        "_tcp",
    )

    _tcp: asyncio.Transport

    def __init__(
        self, context: SSL.Context, inner: HttpProtocol, layers: RecordLayers, batch: Batch
    ) -> None:
        ssl = SSL.Connection(context, None)
        ssl.set_accept_state()
        ssl.set_app_data([])  # collects verification errors
        self._ssl: SSL.Connection | None = ssl  # until the handshake is complete
        self._records: Records | None = layers.of(ssl)
        self._batch = batch
        self._inner: Any = inner  # an asyncio protocol, None at the end
        self._on_established: Callable[[Peer], None] | None = inner.tls_established
        self._is_upgraded = False
        self._has_data = self._established = self._closed = False
        self._eof_seen = self._may_send = False  # the peer has closed its sending side
        self._rest = b""  # an incomplete record, or data that is taken in slices
        self._is_in_slices = self._is_paused = False

    # The TCP side

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._tcp = cast(asyncio.Transport, transport)
        if self._inner is not None:
            self._inner.connection_made(self)

    def connection_lost(self, error: Exception | None) -> None:
        if not self._established:
            _FAILED_HANDSHAKES.add()
        inner, self._inner = self._inner, None
        self._records = self._on_established = self._ssl = None
        self._rest = b""
        if inner is not None:
            inner.connection_lost(error)

    def eof_received(self) -> bool:
        """Return whether TCP stays open because data may still be sent."""
        return self._handle_eof()

    def pause_writing(self) -> None:
        if self._inner is not None:
            self._inner.pause_writing()

    def resume_writing(self) -> None:
        if self._inner is not None:
            self._inner.resume_writing()

    def data_received(self, data: bytes) -> None:
        if self._closed:
            if self._inner is not None:
                self._inner.data_received(data)  # only counts it
            return
        if self._rest:
            data = self._rest + data
            if self._is_in_slices:
                self._rest = data
                return
        elif not self._has_data:
            self._has_data = True
            if data[0] != _HANDSHAKE:
                self._reject(data)
                return
        elif (
            self._established
            and len(data) > _RECORD_HEAD
            and data[3] * 256 + data[4] + _RECORD_HEAD == len(data)
        ):
            self._decrypt(data, 1)  # nearly always
            return
        if self._ssl is not None:  # a handshake signature takes as long as many requests
            self._defer(data)
        else:
            self._split_records(data)

    def _defer(self, data: bytes) -> None:
        self._rest = data
        self._is_in_slices = True
        self._tcp.pause_reading()
        slices_of(asyncio.get_running_loop()).add(self._read_slice)

    def _split_records(self, data: bytes) -> None:
        """Split the input into portions of whole records."""
        start = end = count = total = 0
        size = len(data)
        while size - end >= _RECORD_HEAD and total < _MAX_RECORDS:
            length = data[end + 3] * 256 + data[end + 4] + _RECORD_HEAD
            if length > _MAX_RECORD_BYTES:
                end, count = size, count + 1  # OpenSSL reports the error
                break
            if length > size - end:
                break
            end += length
            count += 1
            total += 1
            if end - start >= 2 * MAX_RECORD:
                self._decrypt(data[start:end], count)
                start, count = end, 0
        self._rest = data[end:]
        if count:
            self._decrypt(data[start:end], count)
        if total == _MAX_RECORDS and self._rest and not self._tcp.is_closing():
            self._defer(self._rest)

    def _read_slice(self) -> None:
        """Continue a handshake, or the parsing of very many small records."""
        self._is_in_slices = False
        data, self._rest = self._rest, b""
        if not self._closed:
            self._split_records(data)
        if not self._is_in_slices and not self._is_paused and not self._tcp.is_closing():
            self._tcp.resume_reading()

    def _reject(self, data: bytes) -> None:
        """Close a connection that does not speak TLS; plain HTTP gets an error response."""
        if data[0] in _HTTP_FIRST_BYTES:
            self._tcp.write(PLAIN_HTTP)
        self._closed = True
        self._tcp.close()

    def _decrypt(self, data: bytes, records: int) -> None:
        layer = self._records
        if layer is None or self._closed:
            return
        try:
            layer.put(data)
            if self._ssl is not None:
                self._ssl.do_handshake()
                self._finish_handshake(self._ssl)
                records = len(data)  # upper bound: any number of records may have been waiting
            for _ in range(records):
                self._batch.receive(self, layer.read())
        except SSL.WantReadError:
            self._flush()
            if self._tcp.get_write_buffer_size() > _MAX_UNREAD:
                self.abort()  # the peer triggers answers and does not read them
        except SSL.ZeroReturnError:
            if not self._handle_eof():
                self._close_after_flush()
        except SSL.Error:
            self._close_after_flush()

    def _handle_eof(self) -> bool:
        """Handle the end of input; returns whether data may still be sent."""
        self._batch.process_all()
        if self._closed or self._inner is None or not self._established:
            return False
        if not self._eof_seen:
            self._eof_seen = True
            self._may_send = bool(self._inner.eof_received())
        return self._may_send

    def _close_after_flush(self) -> None:
        self._batch.process_all()
        self._flush()
        self._closed = True
        self._tcp.close()

    def _finish_handshake(self, ssl: SSL.Connection) -> None:
        self._established, self._ssl = True, None
        self._flush()
        if self._records is not None:
            self._records.free_buffers()
        callback, self._on_established = self._on_established, None
        if callback is not None:
            callback(_peer(ssl))

    def _flush(self) -> None:
        """Send OpenSSL's output."""
        while self._records is not None and (output := self._records.pending_output()):
            self._tcp.write(output)

    # The HTTP side

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        """Replace the inner protocol, after the handshake."""
        self._inner = protocol
        self._is_upgraded = True

    def free_buffers(self) -> None:
        """Free the buffers, which are as large as the largest record."""
        if self._records is not None and self._established:
            self._batch.flush()  # may need the buffers
            self._flush()
            self._records.free_buffers()

    def write(self, data: Any) -> None:
        if self._records is not None and not self._closed:
            self._batch.send(self, data)

    def encrypt(self, data: Data) -> Data:
        records = self._records
        if records is None or self._closed:
            return b""
        try:
            return records.encrypt(data) if len(data) <= MAX_RECORD else records.encrypt_all(data)
        except SSL.Error:
            self.abort()
            return b""

    def process(self, data: bytes) -> None:
        if self._inner is not None:
            self._inner.data_received(data)

    def send_encrypted(self, encrypted: Data) -> None:
        if encrypted:
            self._tcp.write(encrypted)

    def writelines(self, parts: Iterable[Any]) -> None:
        self.write(b"".join(parts))

    def can_write_eof(self) -> bool:
        return True

    def write_eof(self) -> None:
        """Close the sending side and keep reading. Further input only counts toward HTTP's linger
        limit."""
        self._close_tls()
        self._closed = not self._is_upgraded
        if self._tcp.can_write_eof() and not self._tcp.is_closing():
            self._tcp.write_eof()

    def close(self) -> None:
        self._close_tls()
        self._tcp.close()

    def _close_tls(self) -> None:
        if self._records is not None and self._established and not self._closed:
            self._batch.flush()
            with suppress(SSL.Error):
                self._tcp.write(self._records.close())
            self._flush()
        self._closed = True

    def abort(self) -> None:
        self._closed = True
        self._tcp.abort()

    def is_closing(self) -> bool:
        return self._tcp.is_closing()

    def pause_reading(self) -> None:
        self._is_paused = True
        if not self._is_in_slices:
            self._tcp.pause_reading()

    def resume_reading(self) -> None:
        self._is_paused = False
        if not self._is_in_slices:
            self._tcp.resume_reading()

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return self._tcp.get_extra_info(name, default)

    def get_write_buffer_size(self) -> int:
        return self._tcp.get_write_buffer_size()

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        self._tcp.set_write_buffer_limits(high, low)


def server_context(certificate: Path, key: Path, authorities: Iterable[Certificate]) -> SSL.Context:
    """Create a context that requests client certificates of these CAs and accepts others with a
    problem noted. Session resumption is off: it would skip the check against the current CAs.
    Raises SSL.Error if certificate and key cannot be used."""
    context = SSL.Context(SSL.TLS_SERVER_METHOD)
    context.set_min_proto_version(SSL.TLS1_2_VERSION)
    context.set_options(SSL.OP_NO_TICKET | SSL.OP_NO_COMPRESSION | SSL.OP_NO_RENEGOTIATION)
    context.set_options(SSL.OP_CIPHER_SERVER_PREFERENCE)
    context.set_mode(SSL.MODE_RELEASE_BUFFERS)
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
