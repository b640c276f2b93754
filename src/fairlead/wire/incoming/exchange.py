"""One request and its answer, as the application sees them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from email.utils import formatdate
from http import HTTPStatus
from typing import TYPE_CHECKING, Final

from fairlead.base.errors import StatusError
from fairlead.wire.incoming.limits import BodyMemory
from fairlead.wire.incoming.parser import Head

if TYPE_CHECKING:
    from fairlead.wire.incoming.protocol import HttpProtocol

SWITCHING_PROTOCOLS: Final = 101
_WITHOUT_BODY: Final[tuple[int, ...]] = (204, 304)

_NEVER: Final = float("inf")

# Minimal heads that replace the request's own while a detached answer stays open.
_KEEP_ALIVE_HEAD: Final = Head(b"GET", b"/", [], {}, {})
_CLOSING_HEAD = Head(b"GET", b"/", [], {}, {})
_CLOSING_HEAD.keep_alive = False

# Flow control: waits until the request's flow may send this many small pieces, or do equal work.
Turn = Callable[[int], Awaitable[None]]


class ClientGone(Exception):
    """The client has disconnected or was cut off."""


class BodyTooLarge(Exception):
    """The body exceeds the limit."""


class Exchange:
    """The application's interface to a request. Reading the body and sending the answer raise
    ClientGone when the connection is lost; `respond` does nothing then."""

    __slots__ = (
        "_complete_callback",
        "_timer",
        "arrived_at",
        "body_complete",
        "body_limit",
        "body_requested",
        "connection",
        "deadline",
        "detached",
        "disconnect_callback",
        "has_more",
        "head",
        "in_chunks",
        "in_parts",
        "interruptible",
        "lines",
        "parts",
        "peer",
        "received_bytes",
        "reserved",
        "retained_bytes",
        "sent_bytes",
        "started",
        "timed_out",
        "timeout_callback",
        "too_large",
        "turn",
        "waiter",
    )

    def __init__(self, connection: HttpProtocol, head: Head, peer: Peer, arrived_at: float) -> None:
        self.connection: HttpProtocol | None = connection
        self.head = head
        self.peer = peer
        self.arrived_at = arrived_at
        self.deadline = arrived_at + connection.limits.request_seconds
        self._timer: asyncio.TimerHandle | None = None  # if the periodic check is too coarse
        self.started = False  # part of the answer was sent
        self.timed_out = False
        self.body_complete = False
        self.body_limit = connection.limits.body_bytes
        self.too_large = head.length > self.body_limit
        self.has_more = False  # bytes behind the head have arrived
        self.body_requested = False  # the application has called `read`
        self.interruptible = False  # shutdown does not wait for its end
        self.detached = False  # the answer stays open without a task
        self.turn: Turn | None = None  # awaited before anything large is sent
        self.retained_bytes = 0  # bytes that live until the whole answer is sent
        self.sent_bytes = 0  # of the body of the answer
        self.lines = b""  # header lines added to any answer
        self.parts: list[bytes] = []
        self.received_bytes = 0  # and not yet read by the application
        self.reserved: tuple[BodyMemory, str, int] | None = None
        self.in_chunks = False
        self.in_parts = False  # the body is read as it arrives
        self.waiter: asyncio.Future[None] | None = None
        self.timeout_callback: Callable[[], None] | None = None
        self.disconnect_callback: Callable[[], object] | None = None
        self._complete_callback: Callable[[bool], None] | None = None

    @property
    def disconnected(self) -> bool:
        return self.connection is None

    # Called by the protocol

    def receive_part(self, part: bytes) -> int:
        """Add a part of the body; returns the number of bytes held."""
        self.received_bytes += len(part)
        if self.received_bytes > self.body_limit:
            self.too_large = True
            self.parts.clear()
        else:
            self.parts.append(part)
            if not self.in_parts:
                return self.received_bytes
        self.wake()
        return self.received_bytes

    def wake(self) -> None:
        if self.waiter is not None and not self.waiter.done():
            self.waiter.set_result(None)

    def release(self) -> None:
        """Detach from the connection: the request is complete."""
        self.connection = self.disconnect_callback = self.timeout_callback = None
        if self._timer is not None:
            self._cancel_timer()
        if self.reserved is not None:
            self.forget_body()

    def lose(self) -> None:
        """Detach from a lost connection and wake waiters."""
        self.connection = self.timeout_callback = None
        self._cancel_timer()
        callback, self.disconnect_callback = self.disconnect_callback, None
        if callback is not None:
            callback()
        self.wake()

    # Called by the application

    def set_owner(self, owner: str) -> None:
        """Set the owner that is charged for the memory this connection uses."""
        if self.connection is not None:
            self.connection.owner = owner

    def note_upstream_backlog(self, size: int) -> None:
        """Report the bytes that wait for another server that does not read the client's data."""
        if self.connection is not None:
            self.connection.upstream_backlog = size
            self.connection.report_unread()

    def request_body(self) -> None:
        """Let the client send the body."""
        connection = self.connection
        if connection is None:
            raise ClientGone
        if self.head.expects_continue:
            connection.write(CONTINUE)
        connection.resume_reading()

    def take_received(self) -> bytes:
        """Return the bytes of the body that have arrived, and forget them."""
        parts, self.parts = self.parts, []
        self.received_bytes = 0
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def arrived_body(self) -> bytes | None:
        """Return the whole body if it has arrived and there is memory for it."""
        connection, head = self.connection, self.head
        if connection is None or not self.body_complete or self.too_large or head.chunked:
            return None
        size = head.length
        if size > connection.limits.small_body_bytes and self.reserved is None:
            if not connection.body_memory.try_to_reserve(connection.owner, size):
                return None
            self.reserved = connection.body_memory, connection.owner, size
        return self.take_received()

    def forget_body(self) -> None:
        """Release the memory reserved for the body."""
        reserved, self.reserved = self.reserved, None
        if reserved is not None:
            memory, owner, size = reserved
            memory.release(owner, size)

    def limit(self, seconds: float) -> None:
        """Limit the time of the request, counted from the arrival of its head. If that has passed
        already, the request is timed out now."""
        deadline = self.arrived_at + seconds
        if deadline >= self.deadline or self.connection is None:
            return
        self.deadline = deadline
        self._cancel_timer()
        self._timer = self.connection.set_timer(self, seconds)

    def _cancel_timer(self) -> None:
        alarm, self._timer = self._timer, None
        if alarm is not None:
            alarm.cancel()

    def no_deadline(self) -> None:
        """Remove the deadline, for long-running answers; the limit on unread data stays."""
        self.deadline = _NEVER

    def detach(self) -> None:
        """Let the answer continue without a task, and free memory: little will be sent from now on,
        perhaps for long. The sender of the rest calls `complete` at the end."""
        if self.connection is None:
            raise ClientGone
        if self.head.method != "HEAD":
            self.head = _KEEP_ALIVE_HEAD if self.head.keep_alive else _CLOSING_HEAD
        self.detached = True
        self.connection.free_memory()

    def resume(self, work: Callable[[Exchange], Awaitable[None]]) -> None:
        """Start a task that works on a detached answer until it is complete or detached again."""
        self.detached = False
        if self.connection is not None:
            self.connection.resume(self, work)

    def resume_with(self, sending: Awaitable[None]) -> None:
        """Start a task that sends the answer of a request without one."""
        self.timeout_callback = None
        if self.connection is not None:
            self.connection.send_in_task(self, sending)

    def on_timeout(self, callback: Callable[[], None]) -> None:
        """Register a callback for the deadline of a request that is not worked on by a task. It
        answers the request."""
        self.timeout_callback = callback

    def on_complete(self, callback: Callable[[bool], None]) -> None:
        """Register a callback for the end of a detached answer; it gets whether the answer is
        complete."""
        self._complete_callback = callback

    def complete(self, is_complete: bool) -> None:
        self.detached = False
        on_over, self._complete_callback = self._complete_callback, None
        if on_over is not None:
            on_over(is_complete)

    def on_disconnect(self, callback: Callable[[], object]) -> None:
        """Register a callback for a client that disconnects before the answer is complete."""
        if self.connection is None:
            callback()
        else:
            self.disconnect_callback = callback

    def abort(self) -> None:
        """Abort the connection and drop unsent data."""
        if self.connection is not None:
            self.connection.abort()

    def respond(self, code: int, headers: Iterable[Header], body: bytes) -> None:
        """Send a complete answer."""
        connection = self.connection
        if connection is None:
            return
        self.started = True
        has_body = code not in _WITHOUT_BODY
        last = b"%bcontent-length: %d\r\n" % (self.lines, len(body)) if has_body else self.lines
        if not connection.keeps_alive(self):
            last += CLOSE
        answer = head_bytes(code, connection.date, headers, last)
        if has_body and self.head.method != "HEAD":
            answer += body
            self.sent_bytes = len(body)
        connection.write(answer)
        connection.finish(self)

    def start(self, code: int, headers: Iterable[Header], size: int | None = None) -> None:
        """Begin an answer that is sent in pieces, of a known size or not."""
        connection = self.connection
        if connection is None:
            raise ClientGone
        self.started = True
        if code in _WITHOUT_BODY:
            last = b""
        elif size is not None:
            last = b"content-length: %d\r\n" % size
        elif self.head.is_http_1_1:
            self.in_chunks = True
            last = CHUNKED
        else:
            self.head.keep_alive = False  # HTTP/1.0: the body ends with the connection
            last = b""
        if not connection.keeps_alive(self):
            last += CLOSE
        connection.write(head_bytes(code, connection.date, headers, self.lines + last))

    def hand_over(self, headers: Iterable[Header], successor: asyncio.Protocol) -> None:
        """Answer 101 and pass the connection, with the input received so far, to another protocol.
        Removes the deadline."""
        connection = self.connection
        if connection is None:
            raise ClientGone
        self.started = True
        self.no_deadline()
        head = head_bytes(SWITCHING_PROTOCOLS, connection.date, headers, self.lines)
        connection.write(head)
        connection.hand_over(successor)

    def switch(self, headers: Iterable[Header], on_data: Callable[[bytes], None]) -> None:
        """Answer 101 and continue: pieces are sent unframed, and all input goes to `on_data`."""
        connection = self.connection
        if connection is None:
            raise ClientGone
        self.started = True
        self.head.keep_alive = False
        connection.write(head_bytes(SWITCHING_PROTOCOLS, connection.date, headers, self.lines))
        connection.pass_input_to(on_data)

    @property
    def takes_chunks(self) -> bool:
        """Whether the answer uses chunked encoding."""
        return self.in_chunks

    @property
    def can_send_now(self) -> bool:
        """Whether the write buffer has room."""
        connection = self.connection
        return (
            connection is not None
            and connection.drain_waiter is None
            and self.head.method != "HEAD"
        )

    def send_now(self, data: bytes) -> bool:
        """Send data without waiting, already chunked if `takes_chunks`; False if that is not
        possible."""
        connection = self.connection
        if connection is None or connection.drain_waiter is not None or self.head.method == "HEAD":
            return False
        connection.write(data)
        return True

    def hold(self, piece: bytes) -> None:
        """Count a piece as sent, and as held until all of it is sent."""
        self.sent_bytes += len(piece)
        if self.connection is not None:
            self.connection.retained = self.retained_bytes + len(piece)

    def end(self) -> None:
        connection = self.connection
        if connection is None:
            raise ClientGone
        if self.in_chunks and self.head.method != "HEAD":
            connection.write(LAST_CHUNK)
        connection.finish(self)


# The peer of a connection.


@dataclass(frozen=True, slots=True)
class Peer:
    """`certificates` are the DER certificates of the client, its own first, whose private key it
    has proved to hold. `problem` is the reason why TLS did not verify them, empty if it did.
    `address` is the client's IP address."""

    certificates: tuple[bytes, ...] = ()
    problem: str = ""
    address: str = ""


NOBODY: Final = Peer()


# Encoding of answers.

Header = tuple[bytes, bytes]

CONTINUE: Final = b"HTTP/1.1 100 Continue\r\n\r\n"
CLOSE: Final = b"connection: close\r\n"
CHUNKED: Final = b"transfer-encoding: chunked\r\n"
LAST_CHUNK: Final = b"0\r\n\r\n"
PLAIN_HTTP: Final = (
    b"HTTP/1.0 400 Bad Request\r\ncontent-type: text/plain; charset=utf-8\r\n\r\n"
    b"Client sent an HTTP request to an HTTPS server.\n"
)
_PHRASES: Final = {status.value: status.phrase for status in HTTPStatus}
_STATUS_LINES: Final = {  # webhooks may refuse with codes that have no meaning
    code: f"HTTP/1.1 {code} {_PHRASES.get(code, '')}\r\n".encode() for code in range(100, 1000)
}
_REASONS: Final = {
    400: "BadRequest",
    405: "MethodNotAllowed",
    431: "RequestHeaderFieldsTooLarge",
    501: "NotImplemented",
}


def date_line() -> bytes:
    return f"date: {formatdate(usegmt=True)}\r\n".encode()


def head_bytes(code: int, date: bytes, headers: Iterable[Header], last: bytes) -> bytes:
    """Encode the head of an answer up to its empty line; `last` is a block of encoded lines."""
    parts = [_STATUS_LINES[code], date]
    for name, value in headers:
        parts += (name, b": ", value, b"\r\n")
    parts += (last, b"\r\n")
    return b"".join(parts)


def chunk(data: bytes | memoryview) -> bytes:
    return b"".join((b"%x\r\n" % len(data), data, b"\r\n"))


def refusal(code: int, message: str, date: bytes) -> bytes:
    """Encode the whole answer to a rejected request; the connection closes after it."""
    status = StatusError(code, _REASONS.get(code, ""), message).status()
    body = json.dumps(status, separators=(",", ":")).encode() + b"\n"
    headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
    return head_bytes(code, date, headers, CLOSE) + body
