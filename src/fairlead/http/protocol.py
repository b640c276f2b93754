"""A connection: one request is read, answered, and only then the next one looked at.

The parser is given a head when it is whole and never more than the request at hand, so nothing that
follows a request is taken for a part of it, nor a part of it for the next request.
"""

from __future__ import annotations

import asyncio
import logging
import re
from dataclasses import replace
from typing import cast

import httptools

from fairlead.http.connections import Connections
from fairlead.http.exchange import ClientGone, Exchange
from fairlead.http.head import Head, Refused
from fairlead.http.peer import NOBODY, Peer
from fairlead.http.writing import refusal

logger = logging.getLogger("fairlead.http")

_FOREVER = float("inf")
_END_OF_HEAD = b"\r\n\r\n"
_SLICE = 64 * 1024
_MOST_KNOWN = 4 * 1024
_LINE = re.compile(rb"(GET|DELETE|HEAD) (/[!\"$-~]*) HTTP/1\.1\r\n")


class HttpProtocol(asyncio.Protocol):
    """Its transport may be TCP or TLS over it. `secured` says who the peer is, once that is known.

    Between requests `_exchange` is None. Bytes that came before their time wait in `_waiting`, and
    reading is paused while there are any.
    """

    __slots__ = (
        "_address",
        "_at_end",
        "_body_left",
        "_closing",
        "_connections",
        "_deadline",
        "_exchange",
        "_fed",
        "_fields",
        "_full_since",
        "_head_done",
        "_keep_alive",
        "_known",
        "_known_fields",
        "_lingered",
        "_loop",
        "_overrun",
        "_parser",
        "_paused",
        "_peer",
        "_skipping",
        "_target",
        "_task",
        "_transport",
        "_waiting",
        "full",
        "limits",
    )

    _transport: asyncio.Transport

    def __init__(self, connections: Connections, loop: asyncio.AbstractEventLoop) -> None:
        self._connections = connections
        self._loop = loop
        self.limits = connections.limits
        self.full: asyncio.Future[None] | None = None  # while the peer has too much to read
        self._full_since = 0.0
        self._address = ""
        self._peer = NOBODY
        self._parser: httptools.HttpRequestParser | None = None
        self._known: Head | None = None
        self._known_fields = b""
        self._exchange: Exchange | None = None
        self._task: asyncio.Task[None] | None = None
        self._deadline = _FOREVER
        self._waiting = b""
        self._paused = False
        self._closing = False
        self._lingered = 0
        self._skipping = False  # past the body of a request that was answered without it
        self._begin_request()

    def _begin_request(self) -> None:
        self._target = b""
        self._fields: list[tuple[bytes, bytes]] = []
        self._head_done = self._at_end = self._overrun = False
        self._keep_alive = True
        self._body_left = 0
        self._fed = 0

    # The transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        peer = transport.get_extra_info("peername")
        self._address = peer[0] if isinstance(peer, tuple) else ""
        self._peer = Peer(address=self._address)
        if not self._connections.add(self, self._address):
            self._closing = True
            self._transport.abort()
            return
        self._transport.set_write_buffer_limits(high=self.limits.unread_bytes)
        self._parser = httptools.HttpRequestParser(self)
        self._deadline = self._loop.time() + self.limits.handshake_seconds

    def secured(self, peer: Peer) -> None:
        self._peer = replace(peer, address=self._address)
        self._deadline = self._loop.time() + self.limits.head_seconds

    def connection_lost(self, error: Exception | None) -> None:
        if self._parser is not None:
            self._connections.remove(self, self._address)
        self._closing = True
        self._parser = self._known = None  # the parser holds this protocol's methods
        self._waiting = b""
        self.resume_writing()
        exchange, self._exchange = self._exchange, None
        if exchange is not None:
            exchange.lose()

    def pause_writing(self) -> None:
        if self.full is None:
            self.full = self._loop.create_future()
            self._full_since = self._loop.time()

    def resume_writing(self) -> None:
        full, self.full = self.full, None
        if full is not None and not full.done():
            full.set_result(None)

    def _pause_reading(self) -> None:
        if not self._paused:
            self._paused = True
            self._transport.pause_reading()

    def resume_reading(self) -> None:
        if self._paused:
            self._paused = False
            if not self._transport.is_closing():
                self._transport.resume_reading()

    def write(self, data: bytes) -> None:
        self._transport.write(data)

    # Reading

    def data_received(self, data: bytes) -> None:
        if self._closing:
            self._lingered += len(data)
            if self._lingered > self.limits.linger_bytes:
                self._transport.abort()
            return
        if self._waiting:
            data = self._waiting + data
            self._waiting = b""
        self._take(data)

    def _take(self, data: bytes) -> None:
        try:
            while data:
                exchange = self._exchange
                if exchange is None and not self._skipping:
                    data = self._take_head(data)
                elif self._at_end:
                    self._wait_with(data)
                    return
                else:
                    data = self._take_body(data)
        except Refused as refused:
            self._refuse(refused.code, refused.message)

    def _wait_with(self, data: bytes) -> None:
        self._waiting = data
        self._pause_reading()

    def _take_head(self, data: bytes) -> bytes:
        """Read a head if it is whole; gives what follows it."""
        if self._fed == 0:
            self._deadline = self._loop.time() + self.limits.head_seconds
        end = data.find(_END_OF_HEAD) + 4
        if end == 3:
            self._fed = len(data)
            if len(data) > self.limits.head_bytes:
                raise Refused(431, "the head of the request is too large")
            self._waiting = data
            return b""
        self._fed = end
        if end > self.limits.head_bytes:
            raise Refused(431, "the head of the request is too large")
        rest = data[end:]
        line = _LINE.match(data)
        if line is not None and data[line.end() : end] == self._known_fields:
            self._start_like_last(line[1], line[2])
            return rest
        upgrade = self._feed(data if end == len(data) else data[:end])
        if self._head_done:  # rather than empty lines before a request
            self._start(upgrade)
            if line is not None:
                self._remember(data[line.end() : end])
        return rest

    def _remember(self, fields: bytes) -> None:
        """Clients send the same header fields again and again."""
        head = self._exchange.head if self._exchange is not None else None
        if head is not None and head.is_all and head.keep_alive and len(fields) <= _MOST_KNOWN:
            self._known, self._known_fields = head, fields

    def _feed(self, data: bytes) -> bool:
        """Give bytes to the parser; whether it found a change of protocols."""
        assert self._parser is not None
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            return True
        except httptools.HttpParserError as error:
            if not self._at_end:
                raise Refused(400, f"malformed HTTP request: {error}") from None
            self._overrun = True
        return False

    def _start(self, upgrade: bool) -> None:
        parser = self._parser
        assert parser is not None
        if len(self._fields) > self.limits.header_fields:
            raise Refused(431, "the request has too many header fields")
        head = Head(parser.get_method(), self._target, self._fields)
        head.check(parser.get_http_version())
        head.keep_alive = self._keep_alive and head.modern
        if upgrade:
            # Nothing here changes protocols. The parser is through with this connection, and what
            # may follow is the body of this request or nothing.
            head.keep_alive = False
            self._read_body_apart(head)
        self._body_left = head.length
        self._begin(head)

    def _start_like_last(self, method: bytes, target: bytes) -> None:
        """A request with the very same header fields as the one before, which were found good and
        announced nothing that follows them: only its first line is new."""
        assert self._known is not None
        self._at_end = True
        self._begin(self._known.for_target(method, target))

    def _begin(self, head: Head) -> None:
        self._deadline = _FOREVER
        deadline = self._loop.time() + self.limits.request_seconds
        exchange = self._exchange = Exchange(self, head, self._peer, deadline)
        exchange.body_complete = self._at_end
        self._task = self._loop.create_task(self._answer(exchange))

    def _read_body_apart(self, head: Head) -> None:
        """Have the body read that the parser left unread for a change of protocols."""
        self._at_end = True
        if not head.has_body:
            return
        self._parser = httptools.HttpRequestParser(self)
        length = b"Content-Length: %d" % head.length
        framing = b"Transfer-Encoding: chunked" if head.chunked else length
        self._parser.feed_data(b"POST / HTTP/1.1\r\n" + framing + b"\r\n\r\n")
        self._at_end = self._overrun = False

    def _take_body(self, data: bytes) -> bytes:
        """Read of a body; gives what follows it."""
        left = self._body_left
        if left:
            part = data[:left]
            self._body_left = left - len(part)
            self._feed(part)
            rest = data[left:]
        else:
            part = data[:_SLICE]
            self._fed += len(part)
            self._feed(part)
            rest = data[len(part) :]
            if self._overrun:
                rest = b""
            elif self._fed > self.limits.chunk_overhead_bytes + self.limits.head_bytes:
                raise Refused(400, "too much beside the chunks of the body")
        if self._at_end:
            self._finish_body()
        return rest

    def _finish_body(self) -> None:
        if self._skipping:
            self._skipping = False
            self._next()
        elif self._exchange is not None:
            self._exchange.body_complete = True
            self._exchange.wake()

    # What the parser finds

    def on_message_begin(self) -> None:
        if self._at_end:
            self._overrun = True

    def on_url(self, url: bytes) -> None:
        if not self._head_done:
            self._target += url

    def on_header(self, name: bytes, value: bytes) -> None:
        if not self._head_done:  # trailers are no headers
            self._fields.append((name.lower(), value))

    def on_headers_complete(self) -> None:
        if not self._head_done:
            assert self._parser is not None
            self._head_done = True
            self._keep_alive = self._parser.should_keep_alive()

    def on_body(self, part: bytes) -> None:
        exchange = self._exchange
        if self._overrun or self._skipping or exchange is None:
            return
        self._fed -= 16 * len(part)
        held = exchange.take(part)
        if held > self.limits.unwanted_body_bytes and not exchange.wanted:
            self._pause_reading()

    def on_message_complete(self) -> None:
        self._at_end = True

    # Answering

    @property
    def date(self) -> bytes:
        return self._connections.date

    async def _answer(self, exchange: Exchange) -> None:
        try:
            await self._connections.application(exchange)
        except ClientGone:
            pass
        except Exception:
            logger.exception("cannot answer a request")
        finally:
            if not exchange.gone:  # it was left without a whole answer
                self.abort()

    def stays(self, exchange: Exchange) -> bool:
        """Whether the connection goes on after an answer that begins now."""
        head = exchange.head
        if not head.keep_alive or self._overrun or self._connections.draining:
            head.keep_alive = False
        elif not exchange.body_complete:
            # What is left of the body must be read past before another request can begin.
            small = not head.chunked and self._body_left <= self.limits.skipped_body_bytes
            head.keep_alive = small and not head.expects_continue
        return head.keep_alive

    def finish(self, exchange: Exchange) -> None:
        """The answer is whole."""
        self._exchange = self._task = None
        exchange.release()
        if not exchange.head.keep_alive:
            self._end(unread=not exchange.body_complete or bool(self._waiting) or self._overrun)
        elif exchange.body_complete:
            self._next()
        else:
            self._skipping = True
            self._deadline = self._loop.time() + self.limits.head_seconds
            self.resume_reading()

    def _next(self) -> None:
        """Look at the next request, of which something may be there already."""
        self._begin_request()
        if self._connections.draining and not self._waiting:
            self._end(unread=False)
            return
        self._deadline = self._loop.time() + self.limits.idle_seconds
        if self._waiting:
            self._loop.call_soon(self._take_waiting)
        else:
            self.resume_reading()

    def _take_waiting(self) -> None:
        data, self._waiting = self._waiting, b""
        if self._closing or not data:
            return
        self.resume_reading()
        self._take(data)

    # Ending

    def _refuse(self, code: int, message: str) -> None:
        """Answer what is no request; if one is being answered it has lost its body."""
        exchange, self._exchange = self._exchange, None
        if exchange is not None:
            started = exchange.started
            exchange.lose()
            if started:
                self.abort()
                return
        self.write(refusal(code, message, self.date))
        self._end(unread=True)

    def _end(self, *, unread: bool) -> None:
        """Close once everything is sent. A client that is still sending would lose the answer if
        its bytes met a closed socket, so they are taken and dropped for a while."""
        self._closing = True
        self._waiting = b""
        self._deadline = self._loop.time() + self.limits.linger_seconds
        if unread and self._transport.can_write_eof():
            self._transport.write_eof()
            self.resume_reading()
        else:
            self._transport.close()

    def abort(self) -> None:
        self._closing = True
        self._transport.abort()

    def cancel(self) -> None:
        """Cut off, and stop working on the answer."""
        if self._task is not None:
            self._task.cancel()
        self.abort()

    def end_when_idle(self) -> None:
        """Close now, or after the request that is being read or answered."""
        busy = self._exchange is not None or self._waiting or self._skipping
        if not busy and not self._closing:
            self._end(unread=False)

    def check_time(self, now: float) -> None:
        """End what takes too long."""
        exchange = self._exchange
        if self.full is not None and now - self._full_since > self.limits.unread_seconds:
            self.abort()
        elif exchange is None:
            if now >= self._deadline:
                self.abort()
        elif now >= exchange.deadline:
            if exchange.started or exchange.timed_out or self._task is None:
                self.abort()
                return
            exchange.timed_out = True
            exchange.deadline = now + self.limits.linger_seconds
            self._task.cancel()
