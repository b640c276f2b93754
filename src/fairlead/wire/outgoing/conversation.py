"""One connection over which requests and answers are streamed.

Both directions have backpressure: a sender waits while the peer does not read, and reading pauses
while data waits for its consumer.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import cast

import httptools

from fairlead.wire.incoming.batches import slices_of
from fairlead.wire.outgoing.client import CallError
from fairlead.wire.outgoing.connection import Lost, why_lost

Field = tuple[bytes, bytes]

SWITCHING_PROTOCOLS = 101
_MAX_HEAD = 64 * 1024
_MAX_BESIDE = 64 * 1024  # bytes of a body outside of its content: chunk sizes, trailers
_CHUNK_OVERHEAD = 16  # bytes per part of a body that are not counted
_MAX_HELD = 64 * 1024
_SLICE = 16 * 1024  # parsed at once of a chunked body, which may hold very many chunks
_END_OF_HEAD = b"\r\n\r\n"
_CODING = b"transfer-encoding"
_WITHOUT_BODY = (204, 304)
_MAX_FORERUNNERS = 100  # interim responses (1xx) before the final one


class Conversation(asyncio.Protocol):
    """One request at a time: `ask`, then `send` its body, then `answer` and its `piece`s; sending
    and reading may overlap. `on_end` is called when the connection has ended. Names in `fields` are
    in lower case. `idle_since` is set by the pool."""

    def __init__(self, on_end: Callable[[Conversation], None]) -> None:
        self._on_end = on_end
        self._transport: asyncio.Transport | None = None
        self._full: asyncio.Future[None] | None = None
        self._waiter: asyncio.Future[None] | None = None
        self._paused = False
        self._in_slices = b""  # rest of a body that is parsed in slices
        self.is_open = True
        self.idle_since = 0.0
        self._asked = False
        self._forerunners = 0
        self._reset(b"")

    def _reset(self, method: bytes) -> None:
        self._method = method
        self._parser = httptools.HttpResponseParser(self)
        self._head = b""
        self._pieces: list[bytes] = []
        self._held = self._beside = 0
        self._failure: Callable[[], Exception] | None = None  # factory: raised ones refer to us
        self._head_done = self._keeps_alive = False
        self._ends_with_connection = True
        self._in_chunks = False
        self.status = 0
        self.fields: list[Field] = []
        self.complete = False

    # Sending

    def ask(self, method: bytes, head: bytes) -> None:
        """Send the head of a request, including its empty line."""
        assert self._transport is not None
        self._reset(method)
        self._asked = True
        self._forerunners = 0
        self._transport.write(head)

    async def send(self, piece: bytes) -> None:
        """Send a piece of the body, including its framing; waits while the peer does not read.
        Raises Lost."""
        if self._transport is None or not self.is_open:
            raise Lost("EOF")
        self._transport.write(piece)
        while self._full is not None:
            await asyncio.shield(self._full)
            if not self.is_open:
                raise Lost("EOF")

    # Receiving

    async def answer(self) -> None:
        """Wait for the head of the answer. Raises Lost if the connection ends before it begins,
        CallError if it is malformed."""
        while not self._head_done:
            if self._failure is not None:
                raise self._failure()
            await self._wait()

    async def piece(self) -> bytes:
        """Return the part of the body that has arrived, empty at its end. Raises CallError if it is
        cut off."""
        while not self._pieces and not self.complete:
            if self._failure is not None:
                raise self._failure()
            await self._wait()
        pieces, self._pieces, self._held = self._pieces, [], 0
        self._go_on()
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    async def whole(self, most: int) -> bytes:
        """Return the whole body; raises CallError if it is longer than `most` bytes."""
        parts, size = [], 0
        while part := await self.piece():
            size += len(part)
            if size > most:
                raise CallError(f"the answer is longer than {most} bytes", self.status)
            parts.append(part)
        return b"".join(parts)

    def field(self, name: bytes) -> bytes:
        """Return the first value of a header, or b""."""
        return next((value for key, value in self.fields if key == name), b"")

    @property
    def size(self) -> int | None:
        """The Content-Length of the answer, None if absent."""
        said = self.field(b"content-length")
        return int(said) if said.isdigit() else None

    @property
    def is_reusable(self) -> bool:
        """Whether another request can follow on this connection."""
        return self.is_open and self.complete and self._keeps_alive and not self._in_slices

    async def _wait(self) -> None:
        self._waiter = asyncio.get_running_loop().create_future()
        try:
            await self._waiter
        finally:
            self._waiter = None

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def _go_on(self) -> None:
        if self._paused and not self._in_slices and self._transport is not None:
            self._paused = False
            if not self._transport.is_closing():
                self._transport.resume_reading()

    def _hold(self) -> None:
        if not self._paused and self._transport is not None:
            self._paused = True
            self._transport.pause_reading()

    # Called by the transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def pause_writing(self) -> None:
        if self._full is None:
            self._full = asyncio.get_running_loop().create_future()

    def resume_writing(self) -> None:
        full, self._full = self._full, None
        if full is not None and not full.done():
            full.set_result(None)

    def data_received(self, data: bytes) -> None:
        if not self._asked or self.complete:
            self.abort()  # unsolicited data
            return
        if self._failure is not None:
            return
        if self._in_slices:
            self._in_slices += data
            return
        self._take_all(data)

    def _take_all(self, data: bytes) -> None:
        try:
            while data and not self._head_done:
                data = self._take_head(data)
            if data and self.status == SWITCHING_PROTOCOLS:
                self._take(data)
            elif data and self._in_chunks:
                self._take_body(data[:_SLICE])
                self._put_off(data[_SLICE:])
            elif data:
                self._take_body(data)
        except httptools.HttpParserError as error:
            self._fail(f"malformed HTTP response: {error}")
        if self._held > _MAX_HELD or self._in_slices:
            self._hold()
        self._wake()

    def _put_off(self, data: bytes) -> None:
        """Schedule the rest of a body for a later iteration of the event loop."""
        if data and self.complete:
            self._keeps_alive = False  # more than announced
        elif data and self._failure is None:
            self._in_slices = data
            slices_of(asyncio.get_running_loop()).add(self._take_slice)

    def _take_slice(self) -> None:
        data, self._in_slices = self._in_slices, b""
        if not data or self._failure is not None:
            return
        self._take_all(data)
        if not self._in_slices and self._held <= _MAX_HELD:
            self._go_on()

    def _take_head(self, data: bytes) -> bytes:
        """Add to the head; returns the bytes behind it once it is complete."""
        seen = max(len(self._head) - 3, 0)
        self._head += data
        end = self._head.find(_END_OF_HEAD, seen)
        if (end if end >= 0 else len(self._head)) > _MAX_HEAD:
            self._fail("the head of the answer is too large")
            return b""
        if end < 0:
            return b""
        head, rest = self._head[: end + 4], self._head[end + 4 :]
        self._head = b""
        with suppress(httptools.HttpParserUpgrade):
            self._parser.feed_data(head)
        status = self._parser.get_status_code()
        if 100 <= status < 200 and status != SWITCHING_PROTOCOLS:
            self._reset(self._method)  # an interim response; the final one follows
            self._forerunners += 1
            if self._forerunners > _MAX_FORERUNNERS:
                self._fail("too many 1xx responses")
                return b""
            return rest
        self._begin(status, rest)
        return rest if self._head_done else b""

    def _begin(self, status: int, rest: bytes) -> None:
        if any(name == _CODING and value.lower() != b"chunked" for name, value in self.fields):
            self._fail("unsupported transfer encoding")  # would be passed on as plain data
            return
        self.status = status
        self._head_done = True
        if status == SWITCHING_PROTOCOLS:
            self._ends_with_connection = self.complete = False
            self._hold()  # the following bytes belong to another protocol
        elif self._method == b"HEAD" or status in _WITHOUT_BODY:
            self._keeps_alive = self._parser.should_keep_alive() and not rest
            self.complete = True

    def _take_body(self, data: bytes) -> None:
        if self.complete:
            self._keeps_alive = False  # more than announced
            return
        self._beside += len(data)
        self._parser.feed_data(data)
        if self._beside > _MAX_BESIDE:
            self._fail("the answer has too much beside its content")
        self._beside = max(self._beside, 0)

    def _take(self, piece: bytes) -> None:
        self._pieces.append(piece)
        self._held += len(piece)

    def connection_lost(self, error: Exception | None) -> None:
        self.is_open = False
        self.resume_writing()
        self._take_rest()
        if self._asked and not self.complete and self._failure is None:
            if not self._head_done:
                self._failure = _cut_off if self._head else partial(Lost, why_lost(error))
            elif self._ends_with_connection and error is None:
                self.complete = True
            else:
                self._failure = _cut_off
        del self._parser  # breaks the reference cycle
        self._wake()
        self._on_end(self)

    def _take_rest(self) -> None:
        """Parse the scheduled rest of a body at once."""
        data, self._in_slices = self._in_slices, b""
        if data and self._failure is None:
            try:
                self._take_body(data)
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
        self.fields.append((name, value))

    def on_body(self, body: bytes) -> None:
        if self.complete:
            return  # of an unsolicited second answer
        self._beside -= len(body) + _CHUNK_OVERHEAD
        self._take(body)

    def on_message_complete(self) -> None:
        if 100 <= self._parser.get_status_code() < 200:
            return
        self._keeps_alive = not self.complete and self._parser.should_keep_alive()
        self.complete = True

    # Ending

    def hand_over(self, successor: asyncio.Protocol) -> None:
        """Pass the connection, which now speaks another protocol, to a successor, with the data
        received so far. Raises Lost."""
        if self._transport is None or not self.is_open:
            raise Lost("EOF")
        transport, self._transport = self._transport, None
        pieces, self._pieces = self._pieces, []
        transport.set_protocol(successor)
        successor.connection_made(transport)
        if self._full is not None:
            successor.pause_writing()
        self.is_open = False
        del self._parser
        self._on_end(self)
        for piece in pieces:
            successor.data_received(piece)
        if not transport.is_closing():
            transport.resume_reading()

    def _fail(self, why: str) -> None:
        self._failure = partial(CallError, why)
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


def _cut_off() -> CallError:
    return CallError("unexpected EOF", retryable=True)
