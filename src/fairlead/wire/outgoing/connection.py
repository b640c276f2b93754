"""One HTTP/1.1 connection to another server, over which requests and responses are streamed.

Both directions have backpressure: a sender waits while the peer does not read, and reading pauses
while data waits for its consumer.
"""

from __future__ import annotations

import asyncio
import os
import select
import socket
from collections.abc import AsyncGenerator, Callable
from contextlib import suppress
from functools import partial
from typing import cast

import httptools

from fairlead.wire.incoming.batches import slices_of
from fairlead.wire.outgoing.response import CallError, Decompressor, Header, Lost, first_value

SWITCHING_PROTOCOLS = 101
_MAX_HEAD = 64 * 1024
_MAX_INTERIM = 100  # interim responses (1xx) before the final one
_MAX_OVERHEAD = 64 * 1024  # bytes of a body outside of its content: chunk sizes, trailers
_CHUNK_OVERHEAD = 16  # bytes per part of a body that are not counted
_MAX_BUFFERED = 256 * 1024  # the size of a read: a reader that keeps up never pauses the transport
_SLICE = 16 * 1024  # parsed at once of a chunked body
_MAX_PIECES = 256  # of a chunked body; the rest of a body in tiny chunks is parsed later
_VERSION = b"HTTP/1."
_END_OF_HEAD = b"\r\n\r\n"
_CODING = b"transfer-encoding"
_WITHOUT_BODY = (204, 304)
# TCP keepalive in seconds: a server that vanished is detected within about 90 s.
_KEEPALIVE = {"TCP_KEEPIDLE": 30, "TCP_KEEPINTVL": 15, "TCP_KEEPCNT": 4}


class Connection(asyncio.Protocol):
    """One request at a time: `start` it, `send` its body, then `read_head` and `read`; sending and
    reading may overlap. `on_end` is called when the connection has ended. Names in `headers` are in
    lower case. `idle_since` is set by the pool."""

    def __init__(self, on_end: Callable[[Connection], None]) -> None:
        self._on_end = on_end
        self._transport: asyncio.Transport | None = None
        self._drain_waiter: asyncio.Future[None] | None = None
        self._waiter: asyncio.Future[None] | None = None
        self._paused = False
        self._in_slices = b""  # rest of a body that is parsed in slices
        self.is_open = True
        self.idle_since = 0.0
        self._has_started = self._upgrades = False
        self._interim = 0
        self._reset(b"")

    def _reset(self, method: bytes) -> None:
        self._method = method
        self._parser = httptools.HttpResponseParser(self)
        self._head = b""
        self._pieces: list[bytes] = []
        self._buffered_bytes = self._overhead_bytes = 0
        self._failure: Callable[[], Exception] | None = (
            None  # a factory: a raised exception would keep us alive
        )
        self._head_done = self._keeps_alive = self._has_switched = False
        self._ends_with_connection = True
        self._in_chunks = False
        self.status = 0
        self.headers: list[Header] = []
        self.complete = False

    # Sending

    def start(self, method: bytes, head: bytes, *, upgrades: bool = False) -> None:
        """Send the head of a request, including its empty line, and any part of its body.
        `upgrades`: the response may switch protocols."""
        self._reset(method)
        self._has_started, self._upgrades = True, upgrades
        self._interim = 0
        if self._transport is None or not self.is_open:
            self._failure = partial(Lost, "EOF")
        else:
            self._transport.write(head)

    async def send(self, piece: bytes) -> None:
        """Send a piece of the body, including its framing; waits while the peer does not read.
        Raises Lost."""
        if self._transport is None or not self.is_open:
            raise Lost("EOF")
        self._transport.write(piece)
        while self._drain_waiter is not None:
            await asyncio.shield(self._drain_waiter)
            if not self.is_open:
                raise Lost("EOF")

    # Receiving

    async def read_head(self) -> None:
        """Wait for the head of the response. Raises Lost if the connection ends before it begins,
        CallError if it is malformed."""
        while not self._head_done:
            if self._failure is not None:
                raise self._failure()
            await self._wait()

    async def read(self) -> bytes:
        """Return the part of the body that has arrived, empty at its end. Raises CallError if it is
        cut off."""
        while not self._pieces and not self.complete:
            if self._failure is not None:
                raise self._failure()
            await self._wait()
        pieces, self._pieces, self._buffered_bytes = self._pieces, [], 0
        self._resume_reading()
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    async def pieces(self) -> AsyncGenerator[bytes, None]:
        """Yield the body as it arrives, decompressed; raises CallError if it is cut off."""
        decompressor = self._decompressor()
        while piece := await self.read():
            for part in decompressor.decompress(piece) if decompressor else (piece,):
                yield part
        if decompressor:
            decompressor.finish()

    async def read_all(self, max_bytes: int) -> bytes:
        """Return the whole body, decompressed; raises CallError if it is longer than `max_bytes`
        bytes."""
        decompressor = self._decompressor()
        parts, size = [], 0
        while piece := await self.read():
            for part in decompressor.decompress(piece) if decompressor else (piece,):
                size += len(part)
                if size > max_bytes:
                    raise CallError(f"the answer is longer than {max_bytes} bytes", self.status)
                parts.append(part)
        if decompressor:
            decompressor.finish()
        return b"".join(parts)

    def _decompressor(self) -> Decompressor | None:
        is_compressed = self.header(b"content-encoding").lower() in (b"gzip", b"x-gzip")
        return Decompressor() if is_compressed else None

    def header(self, name: bytes) -> bytes:
        """Return the first value of a header, or b""."""
        return first_value(self.headers, name)

    @property
    def content_length(self) -> int | None:
        """The Content-Length of the response, None if absent."""
        length = self.header(b"content-length")
        return int(length) if length.isdigit() else None

    @property
    def is_reusable(self) -> bool:
        """Whether another request can follow on this connection."""
        return self.is_open and self.complete and self._keeps_alive and not self._in_slices

    def is_usable(self) -> bool:
        """Whether an idle connection is usable: open, and without unread input such as an EOF."""
        if not self.is_open or self._transport is None or self._transport.is_closing():
            return False
        tcp_socket: socket.socket | None = self._transport.get_extra_info("socket")
        if tcp_socket is None or tcp_socket.fileno() < 0:
            return False
        poll = select.poll()
        poll.register(tcp_socket.fileno(), select.POLLIN)
        return not poll.poll(0)

    async def _wait(self) -> None:
        self._waiter = asyncio.get_running_loop().create_future()
        try:
            await self._waiter
        finally:
            self._waiter = None

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def _resume_reading(self) -> None:
        if self._paused and not self._in_slices and self._transport is not None:
            self._paused = False
            if not self._transport.is_closing():
                self._transport.resume_reading()

    def _pause_reading(self) -> None:
        if not self._paused and self._transport is not None:
            self._paused = True
            self._transport.pause_reading()

    # Called by the transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        _keep_alive(transport.get_extra_info("socket"))

    def pause_writing(self) -> None:
        if self._drain_waiter is None:
            self._drain_waiter = asyncio.get_running_loop().create_future()

    def resume_writing(self) -> None:
        waiter, self._drain_waiter = self._drain_waiter, None
        if waiter is not None and not waiter.done():
            waiter.set_result(None)

    def data_received(self, data: bytes) -> None:
        if not self._has_started or self.complete:
            self.abort()  # unsolicited data
            return
        if self._failure is not None:
            return
        if self._in_slices:
            self._in_slices += data
            return
        self._parse(data)

    def _parse(self, data: bytes) -> None:
        try:
            while data and not self._head_done:
                data = self._parse_head(data)
            if data and self._has_switched:
                self._add_piece(data)
            elif data and self._in_chunks:
                self._parse_chunks(data)
            elif data:
                self._parse_body(data)
        except httptools.HttpParserError as error:
            self._fail(f"malformed HTTP response: {error}")
        if self._buffered_bytes > _MAX_BUFFERED or self._in_slices:
            self._pause_reading()
        self._wake()

    def _parse_chunks(self, data: bytes) -> None:
        """Parse in slices. Once there are many pieces, the rest is parsed in a later iteration of
        the event loop: a body in tiny chunks is costly."""
        view, size = memoryview(data), 0
        while size < len(data) and self._failure is None:
            self._parse_body(view[size : size + _SLICE])
            size += _SLICE
            if len(self._pieces) > _MAX_PIECES:
                break
        rest = data[size:]
        if rest and self.complete:
            self._keeps_alive = False  # more than announced
        elif rest and self._failure is None:
            self._in_slices = rest
            slices_of(asyncio.get_running_loop()).add(self._parse_slice)

    def _parse_slice(self) -> None:
        data, self._in_slices = self._in_slices, b""
        if not data or self._failure is not None:
            return
        self._parse(data)
        if not self._in_slices and self._buffered_bytes <= _MAX_BUFFERED:
            self._resume_reading()

    def _parse_head(self, data: bytes) -> bytes:
        """Add to the head; returns the bytes behind it once it is complete."""
        searched = max(len(self._head) - 3, 0)
        self._head += data
        end = self._head.find(_END_OF_HEAD, searched)
        size = end + 4 if end >= 0 else len(self._head)
        if size > _MAX_HEAD or self._interim > _MAX_INTERIM:
            self._fail("the head of the answer is too long")
            return b""
        if not _VERSION.startswith(self._head[: len(_VERSION)]):
            self._fail("malformed HTTP response: it does not begin with the version")
            return b""
        if end < 0:
            return b""
        head, rest = self._head[:size], self._head[size:]
        self._head = b""
        with suppress(httptools.HttpParserUpgrade):
            self._parser.feed_data(head)
        status = self._parser.get_status_code()
        if 100 <= status < 200 and status != SWITCHING_PROTOCOLS:
            self._reset(self._method)  # an interim response; the final one follows
            self._interim += 1
            return rest
        self._begin_body(status, rest)
        return rest if self._head_done else b""

    def _begin_body(self, status: int, rest: bytes) -> None:
        if any(name == _CODING and value.lower() != b"chunked" for name, value in self.headers):
            self._fail("unsupported transfer encoding")  # would be passed on as plain data
            return
        if status == SWITCHING_PROTOCOLS and not self._upgrades:
            self._fail("malformed HTTP response: it switches protocols")
            return
        self.status = status
        self._head_done = True
        is_tunnel = self._method == b"CONNECT" and 200 <= status < 300
        if is_tunnel or status == SWITCHING_PROTOCOLS:
            self._has_switched = True
            self._ends_with_connection = self.complete = False
            self._pause_reading()  # the following bytes belong to another protocol
        elif self._method == b"HEAD" or status in _WITHOUT_BODY:
            self._keeps_alive = self._parser.should_keep_alive() and not rest
            self.complete = True

    def _parse_body(self, data: bytes | memoryview) -> None:
        if self.complete:
            self._keeps_alive = False  # more than announced
            return
        self._overhead_bytes += len(data)
        self._parser.feed_data(data)
        if self._overhead_bytes > _MAX_OVERHEAD:
            self._fail("the answer has too much beside its content")
        self._overhead_bytes = max(self._overhead_bytes, 0)

    def _add_piece(self, piece: bytes) -> None:
        self._pieces.append(piece)
        self._buffered_bytes += len(piece)

    def connection_lost(self, error: Exception | None) -> None:
        self.is_open = False
        self.resume_writing()
        self._parse_rest()
        if self._has_started and not self.complete and self._failure is None:
            if not self._head_done:
                self._failure = _truncated if self._head else partial(Lost, _loss_reason(error))
            elif self._ends_with_connection and error is None:
                self.complete = True
            else:
                self._failure = _truncated
        del self._parser  # breaks the reference cycle
        self._wake()
        self._on_end(self)

    def _parse_rest(self) -> None:
        """Parse the scheduled rest of a body at once."""
        data, self._in_slices = self._in_slices, b""
        if data and self._failure is None:
            try:
                self._parse_body(data)
            except httptools.HttpParserError as error:
                self._fail(f"malformed HTTP response: {error}")

    # Callbacks of the parser

    def on_header(self, name: bytes, value: bytes) -> None:
        if self._head_done:
            return  # trailers are ignored
        name = name.lower()
        if name in (b"content-length", _CODING):
            self._ends_with_connection = False
            self._in_chunks = name == _CODING
        self.headers.append((name, value))

    def on_body(self, body: bytes) -> None:
        if self.complete:
            return  # of an unsolicited second response
        self._overhead_bytes -= len(body) + _CHUNK_OVERHEAD
        self._add_piece(body)

    def on_message_complete(self) -> None:
        if 100 <= self._parser.get_status_code() < 200:
            return
        self._keeps_alive = not self.complete and self._parser.should_keep_alive()
        self.complete = True

    # Ending

    def hand_over(self, successor: asyncio.Protocol) -> None:
        """Pass the connection, which now speaks another protocol, to a successor, with the data
        received so far. Raises Lost."""
        pieces, self._pieces = self._pieces, []
        transport = self.detach()
        transport.set_protocol(successor)
        successor.connection_made(transport)
        if self._drain_waiter is not None:
            successor.pause_writing()
        for piece in pieces:
            successor.data_received(piece)
        if not transport.is_closing():
            transport.resume_reading()

    def detach(self) -> asyncio.Transport:
        """Give up the transport, whose reading is paused. Raises Lost."""
        if self._transport is None or not self.is_open:
            raise Lost("EOF")
        transport, self._transport = self._transport, None
        self.is_open = False
        del self._parser
        self._on_end(self)
        return transport

    def _fail(self, reason: str) -> None:
        self._failure = partial(CallError, reason)
        self.abort()

    def close(self) -> None:
        self.is_open = False
        if self._transport is not None:
            self._transport.close()

    def abort(self) -> None:
        """Close without a TLS shutdown, in which the peer could keep us waiting while it sends."""
        self.is_open = False
        if self._transport is not None:
            self._transport.abort()


def _truncated() -> CallError:
    return CallError("unexpected EOF", retryable=True)


def _loss_reason(error: Exception | None) -> str:
    if isinstance(error, OSError) and error.errno:
        return os.strerror(error.errno).lower()
    return "EOF"


def _keep_alive(tcp: socket.socket | None) -> None:
    with suppress(OSError):  # it may have ended already
        if tcp is not None:
            tcp.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            for name, value in _KEEPALIVE.items():
                if hasattr(socket, name):
                    tcp.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
