"""One connection: reads a request, answers it, and only then reads the next."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Final, cast

from fairlead.base.logs import Logger
from fairlead.wire.incoming.batches import slices_of
from fairlead.wire.incoming.connections import Application, Connections, UpgradedProtocol, answer
from fairlead.wire.incoming.exchange import NOBODY, Exchange, Peer, refusal
from fairlead.wire.incoming.limits import BodyMemory
from fairlead.wire.incoming.parser import IDLE_READER, Reader, Refused

logger: Final = Logger("fairlead.wire.incoming")

_CLOCK_STEP: Final = 0.001  # resolution of the event loop's clock in seconds
_FOREVER: Final = float("inf")
_FEW_CHUNKS: Final = 1024  # bytes below which chunks or frames are parsed at once


class HttpProtocol:
    """An asyncio protocol over a TCP or TLS transport. `tls_established` is called with the peer
    after the TLS handshake.

    Between requests `_exchange` is None. Bytes that arrive early wait in `_unprocessed`; reading is
    paused while there are any.
    """

    __slots__ = (
        "_address",
        "_blocked_since",
        "_closing",
        "_connections",
        "_deadline",
        "_discarded_bytes",
        "_exchange",
        "_is_blocked",
        "_is_counted",
        "_is_in_slices",
        "_is_tunnel_full",
        "_loop",
        "_peer",
        "_reader",
        "_reading_paused",
        "_registered",
        "_skipping",
        "_slices",
        "_task",
        "_transport",
        "_unprocessed",
        "_unread_output",
        "drain_waiter",
        "limits",
        "owner",
        "retained",
        "upstream_backlog",
    )

    _transport: asyncio.Transport

    def __init__(self, connections: Connections, loop: asyncio.AbstractEventLoop) -> None:
        self._connections = connections
        self._loop = loop
        self.limits = connections.limits
        self.drain_waiter: asyncio.Future[None] | None = None  # while the write buffer is full
        self._blocked_since = 0.0
        self._unread_output = connections.unread_output
        self._slices = slices_of(loop)
        self._is_in_slices = False  # `_unprocessed` is parsed in slices
        self._is_counted = self._is_tunnel_full = False
        # Bytes held beside the transport's buffer: of the answer while the client does not read,
        # and of data for another server that does not read.
        self.retained = self.upstream_backlog = 0
        self.owner = ""  # charged for them: an address, or the sender of the last request
        self._is_blocked = False  # the next request waits until the previous answers are read
        self._address = ""
        self._peer = NOBODY
        self._reader = Reader(self.limits, self._receive_part)
        self._registered = False
        self._exchange: Exchange | None = None
        self._task: asyncio.Task[None] | None = None
        self._deadline = _FOREVER
        self._unprocessed = b""
        self._reading_paused = False
        self._closing = False
        self._discarded_bytes = 0
        self._skipping = False  # skips the body of a request that was answered without it

    # The transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        peer = transport.get_extra_info("peername")
        self._address = peer[0] if isinstance(peer, tuple) else ""
        self._peer = Peer(address=self._address)
        self.owner = self._address
        if not self._connections.add(self, self._address):
            self._closing = True
            self._transport.abort()
            return
        self._registered = True
        self._transport.set_write_buffer_limits(high=self.limits.unread_bytes)
        self._deadline = self._loop.time() + self.limits.handshake_seconds

    def tls_established(self, peer: Peer) -> None:
        self._peer = replace(peer, address=self._address)
        self._deadline = self._loop.time() + self.limits.head_seconds

    def connection_lost(self, error: Exception | None) -> None:
        if self._registered:
            self._connections.remove(self, self._address)
        self._closing = True
        self._reader.close()
        self._unprocessed = b""
        self._is_tunnel_full = False
        self.upstream_backlog = 0
        self.resume_writing()
        exchange, self._exchange = self._exchange, None
        if exchange is not None:
            exchange.lose()

    def eof_received(self) -> bool:
        """A client that has closed its sending side gets an answer that needs no waiting: the task
        of its request runs once before the connection is closed."""
        if self._exchange is None or self._closing:
            return False
        self._loop.call_soon(self._transport.close)
        return True

    def pause_writing(self) -> None:
        if self.drain_waiter is None:
            self.drain_waiter = self._loop.create_future()
            self._blocked_since = self._loop.time()
        self.report_unread()

    def resume_writing(self) -> None:
        waiter, self.drain_waiter = self.drain_waiter, None
        if waiter is not None and not waiter.done():
            waiter.set_result(None)
        self.report_unread()
        if self._is_blocked:
            self._is_blocked = False
            if not self._closing:
                self._read_next()

    @property
    def unread(self) -> int:
        """Bytes held because a peer does not read or because the client sends too early."""
        unread = self.upstream_backlog
        if unread and self._exchange is not None:
            unread += self._exchange.received_bytes
        if len(self._unprocessed) > self.limits.unread_bytes:
            unread += len(self._unprocessed)
        if self.drain_waiter is not None or self._is_tunnel_full:
            unread += self.retained + self._transport.get_write_buffer_size()
        return unread

    def report_unread(self) -> None:
        """Report `unread` to the total of all connections."""
        unread = self.unread
        if unread or self._is_counted:
            self._is_counted = unread > 0
            self._unread_output.note(self, unread)

    def _report_tunnel(self, is_full: bool) -> None:
        self._is_tunnel_full = is_full
        self.report_unread()

    def pause_reading(self) -> None:
        if not self._reading_paused:
            self._reading_paused = True
            self._transport.pause_reading()

    def resume_reading(self) -> None:
        if self._reading_paused:
            self._reading_paused = False
            if not self._transport.is_closing():
                self._transport.resume_reading()

    def write(self, data: bytes | memoryview) -> None:
        self._transport.write(data)

    # Reading

    def data_received(self, data: bytes) -> None:
        if self._closing:
            self._discarded_bytes += len(data)
            if self._discarded_bytes > self.limits.linger_bytes:
                self._transport.abort()
            return
        if self._unprocessed:
            data = self._unprocessed + data
            self._unprocessed = b""
        if self._is_in_slices:
            self._postpone(data)
        else:
            self._read(data)

    def _read(self, data: bytes) -> None:
        try:
            self._read_all(data)
        except Refused as refused:
            self._refuse(refused.code, refused.message)
        if self._is_counted or len(self._unprocessed) > self.limits.unread_bytes:
            self.report_unread()

    def _read_all(self, data: bytes) -> None:
        while data:
            if self._exchange is None and not self._skipping and not self._is_blocked:
                data = self._read_head(data)
            elif self._reader.complete or self._is_blocked:
                self._postpone(data)
                return
            elif len(data) > _FEW_CHUNKS and self._reader.is_costly:
                self._postpone(data)
                self._is_in_slices = True
                self._slices.add(self._read_slice)
                return
            else:
                data = self._read_body(data)

    def _postpone(self, data: bytes) -> None:
        """Keep data for later and pause reading."""
        self._unprocessed = data
        self.pause_reading()

    def _read_slice(self) -> None:
        """Parse a slice of a chunked body or of frames; there may be very many of them."""
        self._is_in_slices = False
        data, self._unprocessed = self._unprocessed, b""
        if self._closing or not data:
            return
        try:
            data = self._read_body(data)
        except Refused as refused:
            self._refuse(refused.code, refused.message)
            return
        if data:
            self._read(data)
        if not self._is_in_slices and not self._is_blocked:
            exchange = self._exchange
            if (
                exchange is None
                or exchange.body_requested
                or exchange.received_bytes <= self.limits.unwanted_body_bytes
            ):
                self.resume_reading()

    def _read_head(self, data: bytes) -> bytes:
        """Start a request if its head is complete; returns the bytes behind the head."""
        reader = self._reader
        if not reader.started:
            self._deadline = self._loop.time() + self.limits.head_seconds
        head, rest = reader.read_head(data)
        if head is None:
            if len(rest) == len(data):
                self._unprocessed = rest
                return b""
            return rest
        self._deadline = _FOREVER
        exchange = self._exchange = Exchange(self, head, self._peer, self._loop.time())
        if 0 < reader.body_left <= min(len(rest), self.limits.unwanted_body_bytes):
            rest = reader.read_body(rest)  # the whole body came with the head
        exchange.body_complete = reader.complete
        exchange.has_more = bool(rest)
        self.resume(exchange, self._connections.application)
        return rest

    def _read_body(self, data: bytes) -> bytes:
        rest = self._reader.read_body(data)
        if self._reader.complete:
            if self._skipping:
                self._skipping = False
                self._prepare_next()
            elif self._exchange is not None:
                self._exchange.body_complete = True
                self._exchange.wake()
        return rest

    def _receive_part(self, part: bytes) -> None:
        exchange = self._exchange
        if exchange is not None:
            received = exchange.receive_part(part)
            if received > self.limits.unwanted_body_bytes and not exchange.body_requested:
                self.pause_reading()

    # Answering

    @property
    def date(self) -> bytes:
        return self._connections.date

    @property
    def body_memory(self) -> BodyMemory:
        return self._connections.body_memory

    def resume(self, exchange: Exchange, work: Application) -> None:
        """Run the application, and a task for its work that has to wait."""
        try:
            waiting = work(exchange)
        except Exception:
            logger.exception("cannot answer a request")
            self.abort()
            return
        if waiting is not None:
            self.send_in_task(exchange, waiting)

    def send_in_task(self, exchange: Exchange, waiting: Awaitable[None]) -> None:
        """Await the rest of an answer in a task."""
        self._task = self._loop.create_task(answer(self, exchange, waiting))

    def keeps_alive(self, exchange: Exchange) -> bool:
        """Whether the connection stays open after an answer that begins now."""
        head = exchange.head
        if not head.keep_alive or self._reader.overrun or self._connections.draining:
            head.keep_alive = False
        elif not exchange.body_complete:
            # The rest of the body must be skipped before the next request.
            small = not head.chunked and self._reader.body_left <= self.limits.skipped_body_bytes
            head.keep_alive = small and not head.expects_continue
        return head.keep_alive

    def finish(self, exchange: Exchange) -> None:
        """Complete the answer and go on with the next request, or close."""
        self._exchange = self._task = None
        self.retained = 0
        exchange.release()
        if not exchange.head.keep_alive:
            unread = not exchange.body_complete or bool(self._unprocessed) or self._reader.overrun
            self._end(unread=unread)
        elif exchange.body_complete:
            self._prepare_next()
        else:
            self._skipping = True
            self._deadline = self._loop.time() + self.limits.head_seconds
            self.resume_reading()

    def _prepare_next(self) -> None:
        """Prepare for the next request, part of which may have arrived."""
        if self._reader is IDLE_READER:
            self._reader = Reader(self.limits, self._receive_part)
        else:
            self._reader.next()
        if self._connections.draining and not self._unprocessed:
            self._end(unread=False)
            return
        self._deadline = self._loop.time() + self.limits.idle_seconds
        if self.drain_waiter is not None:  # no further answers for a client that does not read
            self._is_blocked = True
            self.pause_reading()
        else:
            self._read_next()

    def _read_next(self) -> None:
        if self._unprocessed:
            self._loop.call_soon(self._read_unprocessed)
        else:
            self.resume_reading()

    def _read_unprocessed(self) -> None:
        data, self._unprocessed = self._unprocessed, b""
        if self._closing or not data:
            return
        self.resume_reading()
        self._read(data)

    def free_memory(self) -> None:
        """Free memory for an answer that stays open and mostly idle, such as a watch."""
        self._task = None
        if self._reader.complete and not self._reader.overrun:
            self._reader.close()
            self._reader = IDLE_READER

    def hand_over(self, successor: asyncio.Protocol) -> None:
        """Pass the connection to another protocol; `connection_lost` is still called here too. The
        exchange lasts until the application returns."""
        unprocessed, self._unprocessed = self._unprocessed, b""
        waiter, self.drain_waiter = self.drain_waiter, None
        self._transport.set_protocol(
            UpgradedProtocol(successor, self._report_tunnel, self.connection_lost)
        )
        successor.connection_made(self._transport)
        if waiter is not None:
            waiter.set_result(None)
            self._report_tunnel(True)
            successor.pause_writing()
        if unprocessed:
            successor.data_received(unprocessed)
        self.resume_reading()

    def pass_input_to(self, on_data: Callable[[bytes], None]) -> None:
        """Pass all further input to `on_data`; the exchange keeps sending."""
        self._reader.close()
        self._reader = Reader(self.limits, on_data)
        self._reader.pass_all()
        self._read_next()

    # Ending

    def _refuse(self, code: int, message: str) -> None:
        """Answer a malformed request. A request in progress loses its body; if its answer has
        begun, abort."""
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
        its bytes met a closed socket, so its input is read and discarded for a while."""
        self._closing = True
        self._unprocessed = b""
        self._deadline = self._loop.time() + self.limits.linger_seconds
        if unread and self._transport.can_write_eof():
            self._transport.write_eof()
            self.resume_reading()
        else:
            self._transport.close()

    def abort(self) -> None:
        self._closing = True
        self._transport.abort()

    def abort_soon(self) -> None:
        """Abort in the next iteration of the event loop: the caller may be writing to this
        connection."""
        self._loop.call_soon(self.abort)

    def cancel(self) -> None:
        """Abort, and cancel the task that works on the answer."""
        if self._task is not None:
            self._task.cancel()
        self.abort()

    def end_when_idle(self) -> None:
        """Close now, or after the request that is being read or answered."""
        if self._exchange is not None and self._exchange.interruptible:
            self.cancel()
            return
        busy = self._exchange is not None or self._unprocessed or self._skipping
        if not busy and not self._closing:
            self._end(unread=False)

    def set_timer(self, exchange: Exchange, seconds: float) -> asyncio.TimerHandle | None:
        """Set a timer for a deadline that is too short for the periodic check; None if the check is
        precise enough or the time is up."""
        if seconds >= self._connections.timer_threshold:
            return None
        deadline, now = exchange.deadline, self._loop.time()
        if deadline - now < _CLOCK_STEP:
            self._time_out(exchange, now)
            return None
        return self._loop.call_at(deadline, self._on_timer, exchange, deadline)

    def _on_timer(self, exchange: Exchange, deadline: float) -> None:
        if self._exchange is exchange and exchange.deadline <= deadline:
            self.check_time(max(deadline, self._loop.time()))  # timers may fire early

    def check_time(self, now: float) -> None:
        """Abort or cancel work whose deadline has passed."""
        exchange = self._exchange
        if self.drain_waiter is not None and now - self._blocked_since > self.limits.unread_seconds:
            self.abort()
        elif exchange is None:
            if now >= self._deadline:
                self.abort()
        elif now >= exchange.deadline:
            task, on_timeout = self._task, exchange.timeout_callback
            if exchange.started or exchange.timed_out or (task is None and on_timeout is None):
                self.abort()
                return
            self._time_out(exchange, now)
            if task is not None:
                task.cancel()
            elif on_timeout is not None:
                on_timeout()

    def _time_out(self, exchange: Exchange, now: float) -> None:
        """Mark a request as timed out and extend its deadline for the error response."""
        exchange.timed_out = True
        exchange.deadline = now + self.limits.linger_seconds
