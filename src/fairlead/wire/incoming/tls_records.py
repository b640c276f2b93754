"""Encrypts and decrypts the TLS records of connections.

Every request and event passes through here. pyOpenSSL's methods check, allocate and copy more than
the encryption itself costs, so OpenSSL's functions are called directly; if this version of the
library does not expose them, its methods are used.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from contextvars import Context
from time import perf_counter
from typing import Any
from weakref import WeakKeyDictionary

from OpenSSL import SSL

from fairlead.base.compiled import mypyc_attr

PLAIN = 16384  # maximum bytes in a record
_MORE = 1024  # overhead of a record


class Records:
    """The record layer of one connection. All methods raise SSL.Error."""

    __slots__ = ()

    def put(self, data: bytes) -> None:
        """Add whole received records."""
        raise NotImplementedError

    def read(self) -> bytes:
        """Return the content of one record; SSL.WantReadError if there is none."""
        raise NotImplementedError

    def seal(self, data: bytes | memoryview) -> bytes:
        """Return a record with at most `PLAIN` bytes, and any other pending output of OpenSSL."""
        raise NotImplementedError

    def seal_all(self, data: bytes | memoryview) -> bytes | memoryview:
        """Return records for any number of bytes."""
        raise NotImplementedError

    def said(self) -> bytes:
        """Return OpenSSL's pending output, empty if there is none."""
        raise NotImplementedError

    def settle(self) -> None:
        """Free buffers, after the handshake or before an idle time."""
        raise NotImplementedError

    def end(self) -> bytes:
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
        pass  # not possible with methods

    def end(self) -> bytes:
        self._connection.shutdown()
        return self.said()


class _Functions:
    """OpenSSL's functions, looked up once, with a scratch buffer and the error function that all
    connections of a loop share."""

    def __init__(self) -> None:
        self.ssl_read: Any = _lib.SSL_read
        self.ssl_write: Any = _lib.SSL_write
        self.bio_read: Any = _lib.BIO_read
        self.bio_write: Any = _lib.BIO_write
        self.scratch: Any = _ffi.new("char[]", PLAIN + _MORE)
        self.content: Any = _ffi.buffer(self.scratch)  # slices of it are bytes
        self.raise_error: Any = _SAMPLE._raise_ssl_error


class NativeRecords(Records):
    """Uses OpenSSL's functions. Keeps only OpenSSL's own object of pyOpenSSL's connection. Has no
    buffers between `settle` and their next use."""

    __slots__ = ("_from", "_functions", "_into", "_ssl")

    def __init__(self, connection: SSL.Connection, functions: _Functions) -> None:
        own: Any = connection
        self._ssl, self._into, self._from = own._ssl, own._into_ssl, own._from_ssl
        self._functions = functions

    def put(self, data: bytes) -> None:
        if self._into is None:
            self._make_buffers()
        if self._functions.bio_write(self._into, data, len(data)) != len(data):
            raise SSL.Error

    def read(self) -> bytes:
        if self._into is None:
            raise SSL.WantReadError
        functions = self._functions
        size = functions.ssl_read(self._ssl, functions.scratch, PLAIN)
        if size <= 0:
            self._fail(size)
        plain: bytes = functions.content[:size]
        return plain

    def seal(self, data: bytes | memoryview) -> bytes:
        if not isinstance(data, bytes):
            data = bytes(data)
        if self._from is None:
            self._make_buffers()
        size = self._functions.ssl_write(self._ssl, data, len(data))
        if size <= 0:
            self._fail(size)
        return self._written()

    def seal_all(self, data: bytes | memoryview) -> memoryview:
        # Copying dominates the cost, so records are read directly into the buffer that is sent.
        if self._from is None:
            self._make_buffers()
        functions = self._functions
        size = len(data)
        room = -(-size // PLAIN) * (PLAIN + _MORE)
        given, sealed = _ffi.from_buffer("char[]", data), _allocate("char[]", room)
        start = end = 0
        while start < size:
            taken = functions.ssl_write(self._ssl, given + start, min(PLAIN, size - start))
            if taken <= 0:
                self._fail(taken)
            start += taken
            end += max(functions.bio_read(self._from, sealed + end, room - end), 0)
        return memoryview(_ffi.buffer(sealed, end))

    def said(self) -> bytes:
        return b"" if self._from is None else self._written()

    def settle(self) -> None:
        if self._into is None:
            return
        early = self._taken_out(self._into)  # sent right behind the handshake
        _lib.SSL_set_bio(self._ssl, _ffi.NULL, _ffi.NULL)  # frees them
        self._into = self._from = None
        if early:
            self.put(early)

    def end(self) -> bytes:
        if self._from is None:
            self._make_buffers()
        if _lib.SSL_shutdown(self._ssl) < 0:
            self._fail(-1)
        return self.said()

    def _written(self) -> bytes:
        """Read up to one record of OpenSSL's output."""
        functions = self._functions
        size = functions.bio_read(self._from, functions.scratch, PLAIN + _MORE)
        written: bytes = functions.content[:size] if size > 0 else b""
        return written

    def _make_buffers(self) -> None:
        self._into, self._from = (_lib.BIO_new(_lib.BIO_s_mem()) for _ in range(2))
        _lib.SSL_set_bio(self._ssl, self._into, self._from)

    def _taken_out(self, bio: Any) -> bytes:
        functions = self._functions
        parts = []
        while (size := functions.bio_read(bio, functions.scratch, PLAIN)) > 0:
            parts.append(functions.content[:size])
        return b"".join(parts)

    def _fail(self, size: int) -> None:
        self._functions.raise_error(self._ssl, size)
        raise SSL.Error


_lib: Any = None
_allocate: Any = None
try:
    from OpenSSL._util import ffi as _ffi
    from OpenSSL._util import lib as _lib

    _allocate = _ffi.new_allocator(should_clear_after_alloc=False)
    _NEEDED = ("_ssl", "_into_ssl", "_from_ssl", "_raise_ssl_error")
    _SAMPLE: Any = SSL.Connection(SSL.Context(SSL.TLS_SERVER_METHOD), None)
    _has_functions = all(hasattr(_SAMPLE, name) for name in _NEEDED)
except ImportError:
    _has_functions = False


class Sealing:
    """Creates the record layer of connections; one instance per event loop."""

    def __init__(self, *, by_methods: bool = not _has_functions) -> None:
        self._functions = None if by_methods else _Functions()

    def of(self, connection: SSL.Connection) -> Records:
        if self._functions is None:
            return PyOpenSslRecords(connection)
        return NativeRecords(connection, self._functions)


# Batches the reads and writes of all connections in one iteration of the event loop.
#
# The code of each step (decrypt a record, answer a request, encrypt the answer, write it to the
# socket) is larger than the processor's first-level cache. Done connection by connection, the steps
# evict each other from it; done step by step for all connections, they cost half as much.

_MAX_BYTES = 256 * 1024  # queued in either direction before a batch ends early
_SECONDS_OF_SLICES = 0.004

Data = bytes | memoryview


@mypyc_attr(allow_interpreted_subclasses=True)
class TlsParty:
    """A connection. An exception in one of its methods aborts this connection only."""

    __slots__ = ()

    def received(self, data: bytes) -> None:
        """Process received data, possibly answering at once."""
        raise NotImplementedError

    def sealed(self, data: Data) -> Data:
        """Encrypt data; empty if the connection cannot send any more."""
        raise NotImplementedError

    def pass_on(self, sealed: Data) -> None:
        """Send encrypted data. Called in the order of `sealed`."""
        raise NotImplementedError

    def abort(self) -> None:
        raise NotImplementedError


class Round:
    """The batch of one event loop. While only one connection is active its data is not queued."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._context = Context()  # empty: the callback inherits nothing from the first sender
        self._came: list[tuple[TlsParty, bytes]] = []
        self._senders: list[TlsParty] = []
        self._waiting: list[Data] = []  # one item per sender
        self._came_size = self._waiting_size = 0
        self._came_last: TlsParty | None = None
        self._sent_last: TlsParty | None = None
        self._is_to_end = False

    def take(self, party: TlsParty, data: bytes) -> None:
        """Queue received data, in order."""
        if not self._came and party is self._came_last:
            party.received(data)
            return
        self._came_last = party
        self._came.append((party, data))
        self._came_size += len(data)
        if self._came_size > _MAX_BYTES:
            self.end()
        else:
            self._end_soon()

    def send(self, party: TlsParty, data: Data) -> None:
        """Queue data to send, in order."""
        if len(data) > PLAIN:  # many records, which form a batch by themselves
            self.flush()
        elif self._waiting or party is not self._sent_last:
            self._keep(party, data)
            return
        party.pass_on(party.sealed(data))

    def _keep(self, party: TlsParty, data: Data) -> None:
        self._sent_last = party
        self._senders.append(party)
        # Copy: the caller may reuse its buffer.
        self._waiting.append(data if isinstance(data, bytes) else bytes(data))
        self._waiting_size += len(data)
        if self._waiting_size > _MAX_BYTES:
            self.flush()
        else:
            self._end_soon()

    def _end_soon(self) -> None:
        if not self._is_to_end:
            self._is_to_end = True
            self._loop.call_soon(self._ended, context=self._context)

    def _ended(self) -> None:
        self.end()
        self._is_to_end = False
        if self._waiting:  # queued while the batch was processed
            self._end_soon()

    def end(self) -> None:
        """Process all received and queued data now."""
        came = self._came
        if came:
            self._came, self._came_size = [], 0
            for party, data in came:
                try:
                    party.received(data)
                except Exception as error:
                    self._fail(party, error)
        self.flush()

    def flush(self) -> None:
        """Encrypt and send all queued data now."""
        waiting = self._waiting
        if not waiting:
            return
        senders = self._senders
        self._senders, self._waiting, self._waiting_size = [], [], 0
        for place, party in enumerate(senders):
            try:
                waiting[place] = party.sealed(waiting[place])
            except Exception as error:
                waiting[place] = b""
                self._fail(party, error)
        for place, party in enumerate(senders):
            try:
                party.pass_on(waiting[place])
            except Exception as error:
                self._fail(party, error)

    def _fail(self, party: TlsParty, error: Exception) -> None:
        context = {"message": "a connection failed", "exception": error}
        self._loop.call_exception_handler(context)
        party.abort()


class Slices:
    """Schedules input that is costly to parse, such as one-byte chunks, in slices. All connections
    of a loop together get 4 ms per iteration, in turn, so the delay for others does not grow with
    their number."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._context = Context()
        self._waiting: deque[Callable[[], None]] = deque()

    def add(self, take: Callable[[], None]) -> None:
        """Schedule one slice for a later iteration."""
        self._waiting.append(take)
        if len(self._waiting) == 1:
            self._loop.call_soon(self._take, context=self._context)

    def _take(self) -> None:
        end = perf_counter() + _SECONDS_OF_SLICES
        waiting, self._waiting = self._waiting, deque()
        while waiting and perf_counter() < end:
            take = waiting.popleft()
            try:
                take()
            except Exception as error:
                context = {"message": "a connection failed", "exception": error}
                self._loop.call_exception_handler(context)
        # Callbacks added meanwhile go behind those that still wait.
        had_none = not self._waiting
        waiting.extend(self._waiting)
        self._waiting = waiting
        if waiting and had_none:
            self._loop.call_soon(self._take, context=self._context)


_slices: WeakKeyDictionary[asyncio.AbstractEventLoop, Slices] = WeakKeyDictionary()


def slices_of(loop: asyncio.AbstractEventLoop) -> Slices:
    """Return the instance of an event loop."""
    found = _slices.get(loop)
    if found is None:
        found = _slices[loop] = Slices(loop)
    return found
