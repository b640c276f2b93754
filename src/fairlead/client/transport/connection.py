"""A client connection that handles one request at a time."""

from __future__ import annotations

import asyncio
import socket
import zlib
from collections.abc import AsyncGenerator, Iterator, Mapping

import httptools

from fairlead.base.records import dataclass, field
from fairlead.client.transport.errors import Unreachable

_MAX_HEAD_BYTES = 64 * 1024
_MAX_HELD_BYTES = 1024 * 1024  # received and not read yet
_CUT_OFF = "unexpected EOF"
# TCP keepalive in seconds: a server that vanished is detected within about 90 s.
_PROBES = {"TCP_KEEPIDLE": 30, "TCP_KEEPINTVL": 15, "TCP_KEEPCNT": 4}


@dataclass(slots=True)
class Head:
    """The head of a response. Header names are lower case."""

    status: int
    headers: Mapping[str, str] = field(default_factory=dict)


class Connection(asyncio.Protocol):
    """An HTTP/1.1 connection. Send a request, read its `pieces` to the end, then it can be
    reused."""

    def __init__(self) -> None:
        self._transport: asyncio.Transport | None = None
        self._parser = httptools.HttpResponseParser(self)
        self._waiter: asyncio.Future[None] | None = None
        self._fault = ""  # why the connection cannot be read any more
        self._keeps = True
        self._begin(has_body=True)
        self._is_complete = True

    def _begin(self, has_body: bool) -> None:
        self._headers: dict[str, str] = {}
        self._body: list[bytes] = []
        self._head_bytes = self._held_bytes = 0
        self._has_head = self._is_complete = False
        self._has_body = has_body

    @property
    def is_free(self) -> bool:
        """Whether it can send another request."""
        return self._is_complete and self._keeps and not self._fault

    async def send(self, request: bytes, *, has_body: bool = True) -> Head:
        """Send a request and return the response head; raises Unreachable. Pass `has_body` False
        for HEAD, whose responses have no body whatever their headers say."""
        assert self._transport is not None
        self._begin(has_body)
        self._transport.write(request)  # a response may come before it is all sent
        while not self._has_head:
            await self._more()
        return Head(self._parser.get_status_code(), self._headers)

    async def pieces(self) -> AsyncGenerator[bytes, None]:
        """Yield the body as it arrives, decompressed; raises Unreachable if it is cut off."""
        packed = self._headers.get("content-encoding", "").lower() in ("gzip", "x-gzip")
        unpacking = Unpacking() if packed and self._has_body else None
        while True:
            body = self._taken()
            for piece in body:
                if unpacking is None:
                    yield piece
                else:
                    for part in unpacking.parts(piece):
                        yield part
            if self._is_complete and not self._body:
                break
            if not body:
                await self._more()
        if unpacking is not None:
            unpacking.finish()

    def _taken(self) -> list[bytes]:
        body, self._body = self._body, []
        if self._held_bytes > _MAX_HELD_BYTES and self._transport is not None:
            self._transport.resume_reading()
        self._held_bytes = 0
        return body

    async def _more(self) -> None:
        """Wait for data; raises Unreachable if the connection is closed."""
        if self._fault:
            raise Unreachable(self._fault, sent=True)
        self._waiter = asyncio.get_running_loop().create_future()
        try:
            await self._waiter
        finally:
            self._waiter = None

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def _fail(self, fault: str) -> None:
        self._fault = self._fault or fault
        self._wake()
        if self._transport is not None:
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        _probe(transport.get_extra_info("socket"))

    def data_received(self, data: bytes) -> None:
        if self._is_complete:
            return self._fail("an answer to nothing that was asked")
        if not self._has_head:
            self._head_bytes += len(data)
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:
            return self._fail(f"malformed HTTP response: {error}")
        if not self._has_head and self._head_bytes > _MAX_HEAD_BYTES:
            return self._fail("the head of the answer is too long")
        if self._held_bytes > _MAX_HELD_BYTES and self._transport is not None:
            self._transport.pause_reading()
        self._wake()
        return None

    def connection_lost(self, error: Exception | None) -> None:
        known = "content-length" in self._headers or "transfer-encoding" in self._headers
        if self._has_head and not self._is_complete and not known and error is None:
            self._is_complete = True  # a body delimited by the end of the connection
        if isinstance(error, OSError):
            fault = error.strerror or str(error)
        else:
            fault = _CUT_OFF if self._head_bytes else "EOF"
        self._fault = self._fault or fault
        self._wake()

    def on_message_begin(self) -> None:
        if self._has_head:
            self._keeps = False  # more than one response to a request

    def on_header(self, name: bytes, value: bytes) -> None:
        if not self._has_head:
            key, text = name.decode("latin-1").lower(), value.decode("latin-1").strip()
            self._headers[key] = f"{self._headers[key]}, {text}" if key in self._headers else text

    def on_headers_complete(self) -> None:
        if self._has_head:
            return
        if self._parser.get_status_code() < 200:
            self._headers = {}
            return
        self._has_head = True
        self._keeps = self._parser.should_keep_alive()
        if not self._has_body:
            # The parser would read the next response as this body: do not reuse the connection.
            self._is_complete, self._keeps = True, False

    def on_body(self, body: bytes) -> None:
        if not self._is_complete:
            self._body.append(body)
            self._held_bytes += len(body)

    def on_message_complete(self) -> None:
        if self._has_head:
            self._is_complete = True

    def close(self) -> None:
        """Close immediately, without waiting for the server."""
        self._keeps = False
        if self._transport is not None:
            self._transport.abort()


def _probe(found: socket.socket | None) -> None:
    if found is None:
        return
    found.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in _PROBES.items():
        if hasattr(socket, name):
            found.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)


# Compressed bodies

_PART = 1024 * 1024


class Unpacking:
    """Decompresses a gzip body incrementally, at most 1 MiB at a time."""

    def __init__(self) -> None:
        self._member = _member()
        self._begun = False

    def parts(self, piece: bytes) -> Iterator[bytes]:
        """Yield the decompressed parts of a piece; raises Unreachable if it is malformed."""
        while piece:
            if self._member.eof:  # another gzip member may follow
                self._member = _member()
            self._begun = True
            try:
                part = self._member.decompress(piece, _PART)
            except zlib.error as error:
                raise Unreachable(f"gzip: {error}", sent=True) from None
            if part:
                yield part
            piece = self._member.unconsumed_tail or self._member.unused_data
            if not piece and len(part) == _PART:
                yield from self._held_back()

    def _held_back(self) -> Iterator[bytes]:
        """Yield output that the decompressor holds after consuming all input."""
        while part := self._member.decompress(b"", _PART):
            yield part

    def finish(self) -> None:
        """Raises Unreachable if the body ended early; an empty body is valid."""
        if self._begun and not self._member.eof:
            raise Unreachable("gzip: unexpected EOF", sent=True)


def _member() -> zlib._Decompress:
    return zlib.decompressobj(16 + zlib.MAX_WBITS)
