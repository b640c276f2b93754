"""Encrypting and decrypting for one connection, over and over.

Every request and every event comes through here. The methods of pyOpenSSL check, allocate and copy
more than the encryption itself takes, so that OpenSSL's functions are called as they are; where the
library keeps them elsewhere, its methods do the same.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from OpenSSL import SSL

PLAIN = 16384  # bytes of a record
_MORE = 1024  # room for what a record adds to its content


class Records(Protocol):
    """What OpenSSL does with records. All raise SSL.Error."""

    def put(self, data: bytes) -> None:
        """Take whole records that came."""

    def read(self) -> bytes:
        """What is in one of them; SSL.WantReadError if there is none."""

    def seal(self, data: bytes | memoryview) -> bytes:
        """A record with at most `PLAIN` bytes, and what else OpenSSL has to say."""

    def seal_all(self, data: bytes | memoryview) -> bytes | memoryview:
        """The same with any number of bytes, in as many records as it takes."""

    def said(self) -> bytes:
        """What OpenSSL has to say by itself; nothing at the end."""

    def settle(self) -> None:
        """The handshake is over, or there will be silence: buffers can go."""

    def end(self) -> bytes:
        """What tells the peer that nothing more comes."""


class ByMethods:
    """By the methods of the library."""

    __slots__ = ("_connection",)

    def __init__(self, connection: SSL.Connection) -> None:
        self._connection = connection

    def put(self, data: bytes) -> None:
        self._connection.bio_write(data)

    def read(self) -> bytes:
        return self._connection.recv(PLAIN)

    def seal(self, data: bytes | memoryview) -> bytes:
        self._connection.send(data)
        return self._connection.bio_read(PLAIN + _MORE)

    def seal_all(self, data: bytes | memoryview) -> bytes:
        view = memoryview(data)
        return b"".join(
            self.seal(view[start : start + PLAIN]) for start in range(0, len(data), PLAIN)
        )

    def said(self) -> bytes:
        try:
            return self._connection.bio_read(PLAIN)
        except SSL.WantReadError:
            return b""

    def settle(self) -> None:
        pass  # no method lets go of them

    def end(self) -> bytes:
        self._connection.shutdown()
        return self.said()


class ByFunctions:
    """By the functions of OpenSSL; `scratch` is for all connections of one loop, and so is
    `raise_error`, which raises what a function has said. Of the library's connection nothing is
    kept but OpenSSL's own. There are no buffers from when it settles until one is needed."""

    __slots__ = ("_from", "_into", "_raise_error", "_scratch", "_ssl")

    def __init__(
        self, connection: SSL.Connection, scratch: Any, raise_error: Callable[[Any, int], None]
    ) -> None:
        own: Any = connection
        self._ssl, self._into, self._from = own._ssl, own._into_ssl, own._from_ssl
        self._scratch = scratch
        self._raise_error = raise_error

    def put(self, data: bytes) -> None:
        if self._into is None:
            self._make_buffers()
        if _lib.BIO_write(self._into, data, len(data)) != len(data):
            raise SSL.Error

    def read(self) -> bytes:
        if self._into is None:
            raise SSL.WantReadError
        size = _lib.SSL_read(self._ssl, self._scratch, PLAIN)
        if size <= 0:
            self._fail(size)
        plain: bytes = _unpack(self._scratch, size)
        return plain

    def seal(self, data: bytes | memoryview) -> bytes:
        if not isinstance(data, bytes):
            data = bytes(data)
        if self._from is None:
            self._make_buffers()
        size = _lib.SSL_write(self._ssl, data, len(data))
        if size <= 0:
            self._fail(size)
        size = _lib.BIO_read(self._from, self._scratch, PLAIN + _MORE)
        sealed: bytes = _unpack(self._scratch, size) if size > 0 else b""
        return sealed

    def seal_all(self, data: bytes | memoryview) -> memoryview:
        # Copies are what it costs: records are read to where they are sent from.
        if self._from is None:
            self._make_buffers()
        size = len(data)
        room = -(-size // PLAIN) * (PLAIN + _MORE)
        given, sealed = _ffi.from_buffer("char[]", data), _allocate("char[]", room)
        start = end = 0
        while start < size:
            taken = _lib.SSL_write(self._ssl, given + start, min(PLAIN, size - start))
            if taken <= 0:
                self._fail(taken)
            start += taken
            end += max(_lib.BIO_read(self._from, sealed + end, room - end), 0)
        return memoryview(_buffer(sealed, end))

    def said(self) -> bytes:
        if self._from is None:
            return b""
        size = _lib.BIO_read(self._from, self._scratch, PLAIN + _MORE)
        said: bytes = _unpack(self._scratch, size) if size > 0 else b""
        return said

    def settle(self) -> None:
        if self._into is None:
            return
        early = self._taken_out(self._into)  # what was sent behind a handshake
        _lib.SSL_set_bio(self._ssl, _ffi.NULL, _ffi.NULL)  # which frees them
        self._into = self._from = None
        if early:
            self.put(early)

    def end(self) -> bytes:
        if self._from is None:
            self._make_buffers()
        if _lib.SSL_shutdown(self._ssl) < 0:
            self._fail(-1)
        return self.said()

    def _make_buffers(self) -> None:
        self._into, self._from = (_lib.BIO_new(_lib.BIO_s_mem()) for _ in range(2))
        _lib.SSL_set_bio(self._ssl, self._into, self._from)

    def _taken_out(self, bio: Any) -> bytes:
        parts = []
        while (size := _lib.BIO_read(bio, self._scratch, PLAIN)) > 0:
            parts.append(_unpack(self._scratch, size))
        return b"".join(parts)

    def _fail(self, size: int) -> None:
        self._raise_error(self._ssl, size)
        raise SSL.Error


_lib: Any = None
_buffer: Any = None
_unpack: Any = None
_allocate: Any = None
try:
    from OpenSSL._util import ffi as _ffi
    from OpenSSL._util import lib as _lib

    _buffer, _unpack = _ffi.buffer, _ffi.unpack
    _allocate = _ffi.new_allocator(should_clear_after_alloc=False)
    _NEEDED = ("_ssl", "_into_ssl", "_from_ssl", "_raise_ssl_error")
    _SAMPLE: Any = SSL.Connection(SSL.Context(SSL.TLS_SERVER_METHOD), None)
    _has_functions = all(hasattr(_SAMPLE, name) for name in _NEEDED)
except ImportError:
    _has_functions = False


class Sealing:
    """Makes what seals the records of connections; one for all those of a loop."""

    def __init__(self, *, by_methods: bool = not _has_functions) -> None:
        self._scratch = None if by_methods else _ffi.new("char[]", PLAIN + _MORE)
        self._raise_error: Any = None if by_methods else _SAMPLE._raise_ssl_error

    def of(self, connection: SSL.Connection) -> Records:
        if self._scratch is None:
            return ByMethods(connection)
        return ByFunctions(connection, self._scratch, self._raise_error)
