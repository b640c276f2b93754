"""Encrypts and decrypts the TLS records of connections.

Every request and event passes through here. pyOpenSSL's methods check, allocate and copy more than
the encryption itself costs (a third of a watch event to 20 watchers), so OpenSSL's functions are
called directly; if this version of the library does not expose them, its methods are used.
"""

from __future__ import annotations

from typing import Any

from OpenSSL import SSL

from fairlead.wire.incoming.batches import MAX_RECORD

_OVERHEAD = 1024  # overhead of a record


class Records:
    """The record layer of one connection. All methods raise SSL.Error."""

    __slots__ = ()

    def put(self, data: bytes) -> None:
        """Add whole received records."""
        raise NotImplementedError

    def read(self) -> bytes:
        """Return the content of one record; SSL.WantReadError if there is none."""
        raise NotImplementedError

    def encrypt(self, data: bytes | memoryview) -> bytes:
        """Return a record with at most `MAX_RECORD` bytes, and any other pending output."""
        raise NotImplementedError

    def encrypt_all(self, data: bytes | memoryview) -> bytes | memoryview:
        """Return records for any number of bytes."""
        raise NotImplementedError

    def pending_output(self) -> bytes:
        """Return OpenSSL's pending output, empty if there is none."""
        raise NotImplementedError

    def free_buffers(self) -> None:
        """Free buffers, after the handshake or before an idle time."""
        raise NotImplementedError

    def close(self) -> bytes:
        """Return the close_notify alert."""
        raise NotImplementedError


class PyOpenSslRecords(Records):
    """Uses the methods of pyOpenSSL."""

    __slots__ = ("_connection",)

    def __init__(self, connection: SSL.Connection) -> None:
        self._connection = connection

    def put(self, data: bytes) -> None:
        self._connection.bio_write(data)

    def read(self) -> bytes:
        return self._connection.recv(MAX_RECORD)

    def encrypt(self, data: bytes | memoryview) -> bytes:
        self._connection.send(data)
        return self._connection.bio_read(MAX_RECORD + _OVERHEAD)

    def encrypt_all(self, data: bytes | memoryview) -> bytes:
        view = memoryview(data)
        return b"".join(
            self.encrypt(view[start : start + MAX_RECORD])
            for start in range(0, len(data), MAX_RECORD)
        )

    def pending_output(self) -> bytes:
        try:
            return self._connection.bio_read(MAX_RECORD)
        except SSL.WantReadError:
            return b""

    def free_buffers(self) -> None:
        pass  # not possible with methods

    def close(self) -> bytes:
        self._connection.shutdown()
        return self.pending_output()


class _Functions:
    """OpenSSL's functions, looked up once, with a scratch buffer and the error function that all
    connections of a loop share."""

    def __init__(self) -> None:
        self.ssl_read: Any = _lib.SSL_read
        self.ssl_write: Any = _lib.SSL_write
        self.bio_read: Any = _lib.BIO_read
        self.bio_write: Any = _lib.BIO_write
        self.scratch: Any = _ffi.new("char[]", MAX_RECORD + _OVERHEAD)
        self.content: Any = _ffi.buffer(self.scratch)  # slices of it are bytes
        self.raise_error: Any = _SAMPLE._raise_ssl_error


class NativeRecords(Records):
    """Uses OpenSSL's functions. Keeps only OpenSSL's own object of pyOpenSSL's connection. Has no
    buffers between `free_buffers` and their next use."""

    __slots__ = ("_functions", "_input", "_output", "_ssl")

    def __init__(self, connection: SSL.Connection, functions: _Functions) -> None:
        internals: Any = connection
        self._ssl, self._input, self._output = (
            internals._ssl,
            internals._into_ssl,
            internals._from_ssl,
        )
        self._functions = functions

    def put(self, data: bytes) -> None:
        if self._input is None:
            self._make_buffers()
        if self._functions.bio_write(self._input, data, len(data)) != len(data):
            raise SSL.Error

    def read(self) -> bytes:
        if self._input is None:
            raise SSL.WantReadError
        functions = self._functions
        size = functions.ssl_read(self._ssl, functions.scratch, MAX_RECORD)
        if size <= 0:
            self._fail(size)
        plain: bytes = functions.content[:size]
        return plain

    def encrypt(self, data: bytes | memoryview) -> bytes:
        if not isinstance(data, bytes):
            data = bytes(data)
        if self._output is None:
            self._make_buffers()
        size = self._functions.ssl_write(self._ssl, data, len(data))
        if size <= 0:
            self._fail(size)
        return self._read_output()

    def encrypt_all(self, data: bytes | memoryview) -> memoryview:
        # Copying dominates the cost, so records are read directly into the buffer that is sent.
        if self._output is None:
            self._make_buffers()
        functions = self._functions
        size = len(data)
        room = -(-size // MAX_RECORD) * (MAX_RECORD + _OVERHEAD)
        plain, encrypted = _ffi.from_buffer("char[]", data), _allocate("char[]", room)
        start = end = 0
        while start < size:
            written = functions.ssl_write(self._ssl, plain + start, min(MAX_RECORD, size - start))
            if written <= 0:
                self._fail(written)
            start += written
            end += max(functions.bio_read(self._output, encrypted + end, room - end), 0)
        return memoryview(_ffi.buffer(encrypted, end))

    def pending_output(self) -> bytes:
        return b"" if self._output is None else self._read_output()

    def free_buffers(self) -> None:
        if self._input is None:
            return
        early = self._drain(self._input)  # sent right behind the handshake
        _lib.SSL_set_bio(self._ssl, _ffi.NULL, _ffi.NULL)  # frees them
        self._input = self._output = None
        if early:
            self.put(early)

    def close(self) -> bytes:
        if self._output is None:
            self._make_buffers()
        if _lib.SSL_shutdown(self._ssl) < 0:
            self._fail(-1)
        return self.pending_output()

    def _read_output(self) -> bytes:
        """Read up to one record of OpenSSL's output."""
        functions = self._functions
        size = functions.bio_read(self._output, functions.scratch, MAX_RECORD + _OVERHEAD)
        written: bytes = functions.content[:size] if size > 0 else b""
        return written

    def _make_buffers(self) -> None:
        self._input, self._output = (_lib.BIO_new(_lib.BIO_s_mem()) for _ in range(2))
        _lib.SSL_set_bio(self._ssl, self._input, self._output)

    def _drain(self, bio: Any) -> bytes:
        functions = self._functions
        parts = []
        while (size := functions.bio_read(bio, functions.scratch, MAX_RECORD)) > 0:
            parts.append(functions.content[:size])
        return b"".join(parts)

    def _fail(self, size: int) -> None:
        self._functions.raise_error(self._ssl, size)
        raise SSL.Error


_lib: Any = None
_ffi: Any = None
_allocate: Any = None
try:
    from OpenSSL import _util

    _lib, _ffi = _util.lib, _util.ffi
    _allocate = _ffi.new_allocator(should_clear_after_alloc=False)
    _NEEDED = ("_ssl", "_into_ssl", "_from_ssl", "_raise_ssl_error")
    _SAMPLE: Any = SSL.Connection(SSL.Context(SSL.TLS_SERVER_METHOD), None)
    _has_functions = all(hasattr(_SAMPLE, name) for name in _NEEDED)
except ImportError:
    _has_functions = False


class RecordLayers:
    """Creates the record layer of connections; one instance per event loop."""

    def __init__(self, *, by_methods: bool = not _has_functions) -> None:
        self._functions = None if by_methods else _Functions()

    def of(self, connection: SSL.Connection) -> Records:
        if self._functions is None:
            return PyOpenSslRecords(connection)
        return NativeRecords(connection, self._functions)
