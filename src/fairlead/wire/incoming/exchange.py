"""One request and its answer, as the application sees them."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from email.utils import formatdate
from functools import partial
from http import HTTPStatus
from typing import TYPE_CHECKING

from fairlead.base.errors import StatusError
from fairlead.wire.incoming.memory import BodyMemory
from fairlead.wire.incoming.parser import Head

if TYPE_CHECKING:
    from fairlead.wire.incoming.protocol import HttpProtocol

SWITCHING_PROTOCOLS = 101
_WITHOUT_BODY = (204, 304)
_PIECE = 256 * 1024
_SMALL_PIECE = 64 * 1024 - 8  # as a chunk it fills whole TLS records

_NEVER = float("inf")

# Minimal heads that replace the request's own while a detached answer stays open.
_STAYS = Head(b"GET", b"/", [], {}, {})
_ENDS = Head(b"GET", b"/", [], {}, {})
_ENDS.keep_alive = False

# Waits for the turn of the request's flow: to send so many small pieces, or for equal work.
Turn = Callable[[int], Awaitable[None]]


class ClientGone(Exception):
    """The client has disconnected or was cut off."""


class BodyTooLarge(Exception):
    """The body exceeds the limit."""


class Exchange:
    """The application's interface to a request. Reading the body and sending the answer raise
    ClientGone when the connection is lost; `respond` does nothing then."""

    __slots__ = (
        "_alarm",
        "_connection",
        "_in_chunks",
        "_in_parts",
        "_on_gone",
        "_on_over",
        "_parts",
        "_reserved",
        "_size",
        "_waiter",
        "began",
        "body_complete",
        "body_limit",
        "can_be_cut",
        "deadline",
        "detached",
        "head",
        "keeps",
        "lines",
        "peer",
        "started",
        "timed_out",
        "too_large",
        "turn",
        "wanted",
    )

    def __init__(self, connection: HttpProtocol, head: Head, peer: Peer, began: float) -> None:
        self._connection: HttpProtocol | None = connection
        self.head = head
        self.peer = peer
        self.began = began
        self.deadline = began + connection.limits.request_seconds
        self._alarm: asyncio.TimerHandle | None = None  # if the periodic check is too coarse
        self.started = False  # part of the answer was sent
        self.timed_out = False
        self.body_complete = False
        self.body_limit = connection.limits.body_bytes
        self.too_large = head.length > self.body_limit
        self.wanted = False  # the application has called `read`
        self.can_be_cut = False  # shutdown does not wait for its end
        self.detached = False  # the answer stays open without a task
        self.turn: Turn | None = None  # awaited before anything large is sent
        self.keeps = 0  # bytes that live until the whole answer is sent
        self.lines = b""  # header lines added to any answer
        self._parts: list[bytes] = []
        self._size = 0
        self._reserved: tuple[BodyMemory, str, int] | None = None
        self._in_chunks = False
        self._in_parts = False  # the body is read as it arrives
        self._waiter: asyncio.Future[None] | None = None
        self._on_gone: Callable[[], object] | None = None
        self._on_over: Callable[[bool], None] | None = None

    @property
    def gone(self) -> bool:
        return self._connection is None

    # Called by the protocol

    @property
    def come(self) -> int:
        """Bytes of the body that have arrived and are unread."""
        return self._size

    def take(self, part: bytes) -> int:
        """Add a part of the body; returns the number of bytes held."""
        self._size += len(part)
        if self._size > self.body_limit:
            self.too_large = True
            self._parts.clear()
        else:
            self._parts.append(part)
            if not self._in_parts:
                return self._size
        self.wake()
        return self._size

    def wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def release(self) -> None:
        """Detach from the connection: the request is complete."""
        self._connection = self._on_gone = None
        if self._alarm is not None:
            self._silence()

    def lose(self) -> None:
        """Detach from a lost connection and wake waiters."""
        self._connection = None
        self._silence()
        told, self._on_gone = self._on_gone, None
        if told is not None:
            told()
        self.wake()

    # Called by the application

    def belongs_to(self, owner: str) -> None:
        """Set the owner that is charged for the memory this connection uses."""
        if self._connection is not None:
            self._connection.owner = owner

    def waits_elsewhere(self, size: int) -> None:
        """Report the bytes that wait for another server that does not read the client's data."""
        if self._connection is not None:
            self._connection.held_up_elsewhere = size
            self._connection.count()

    async def read(self) -> bytes:
        """Return the whole body. Raises BodyTooLarge, TooManyBodies if there is no memory for it,
        and ClientGone if it was cut off."""
        await self._reserve()
        while not self.body_complete and not self.too_large:
            connection = self._connection
            if connection is None:
                raise ClientGone
            if not self.wanted:
                self.wanted = True
                self._let_come(connection)
            await self._wait()
        if self.too_large:
            raise BodyTooLarge
        parts, self._parts = self._parts, []
        return parts[0] if len(parts) == 1 else b"".join(parts)

    async def _reserve(self) -> None:
        """Reserve memory for the body, charged to the connection's owner; waits if none is free."""
        connection = self._connection
        size = self.body_limit if self.head.chunked else self.head.length
        if connection is None or self._reserved is not None or self.too_large:
            return
        if size <= connection.limits.small_body_bytes:
            return
        uploads, owner = connection.uploads, connection.owner
        if not uploads.try_to_reserve(owner, size):
            connection.pause_reading()
            granted = asyncio.get_running_loop().create_future()
            self.when_gone(partial(_leave, granted))
            try:
                await uploads.reserve(owner, size, self._size, granted)
            finally:
                self._on_gone = None
        self._reserved = uploads, owner, size

    def forget_body(self) -> None:
        """Release the memory reserved for the body."""
        reserved, self._reserved = self._reserved, None
        if reserved is not None:
            uploads, owner, size = reserved
            uploads.give_back(owner, size)

    async def read_part(self) -> bytes:
        """Return the part of the body that has arrived, empty at its end. Applies backpressure:
        more is received only as it is called. The size is unlimited. Raises ClientGone if it was
        cut off."""
        if not self._in_parts:
            self._in_parts = True
            self.body_limit, self.too_large = sys.maxsize, False
            if self._connection is not None and not self.body_complete:
                self._let_come(self._connection)
        while not self._parts and not self.body_complete:
            if self._connection is None:
                raise ClientGone
            self._connection.resume_reading()
            await self._wait()
        parts, self._parts, self._size = self._parts, [], 0
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def _let_come(self, connection: HttpProtocol) -> None:
        if self.head.expects_continue:
            connection.write(CONTINUE)
        connection.resume_reading()

    async def _wait(self) -> None:
        self._waiter = asyncio.get_running_loop().create_future()
        try:
            await self._waiter
        finally:
            self._waiter = None

    def limit(self, seconds: float) -> None:
        """Limit the time of the request, counted from the arrival of its head. If that has passed
        already, the request is timed out now."""
        deadline = self.began + seconds
        if deadline >= self.deadline or self._connection is None:
            return
        self.deadline = deadline
        self._silence()
        self._alarm = self._connection.alarm(self, seconds)

    def _silence(self) -> None:
        alarm, self._alarm = self._alarm, None
        if alarm is not None:
            alarm.cancel()

    def no_deadline(self) -> None:
        """Remove the deadline, for long-running answers; the limit on unread data stays."""
        self.deadline = _NEVER

    def detach(self) -> None:
        """Let the answer continue without a task, and free memory: little will be sent from now on,
        perhaps for long. The sender of the rest calls `over` at the end."""
        if self._connection is None:
            raise ClientGone
        if self.head.method != "HEAD":
            self.head = _STAYS if self.head.keep_alive else _ENDS
        self.detached = True
        self._connection.settle()

    def resume(self, work: Callable[[Exchange], Awaitable[None]]) -> None:
        """Start a task that works on a detached answer until it is complete or detached again."""
        self.detached = False
        if self._connection is not None:
            self._connection.resume(self, work)

    def when_over(self, call: Callable[[bool], None]) -> None:
        """Register a callback for the end of a detached answer; it gets whether the answer is
        complete."""
        self._on_over = call

    def over(self, whole: bool) -> None:
        self.detached = False
        told, self._on_over = self._on_over, None
        if told is not None:
            told(whole)

    def when_gone(self, call: Callable[[], object]) -> None:
        """Register a callback for a client that disconnects before the answer is complete."""
        if self._connection is None:
            call()
        else:
            self._on_gone = call

    def abort(self) -> None:
        """Abort the connection and drop unsent data."""
        if self._connection is not None:
            self._connection.abort()

    def respond(self, code: int, headers: Iterable[Header], body: bytes) -> None:
        """Send a complete answer."""
        connection = self._connection
        if connection is None:
            return
        self.started = True
        has_body = code not in _WITHOUT_BODY
        last = b"%bcontent-length: %d\r\n" % (self.lines, len(body)) if has_body else self.lines
        if not connection.stays(self):
            last += CLOSE
        answer = head_bytes(code, connection.date, headers, last)
        if has_body and self.head.method != "HEAD":
            answer += body
        connection.write(answer)
        connection.finish(self)

    async def respond_in_pieces(self, code: int, headers: Iterable[Header], body: bytes) -> None:
        """Send a complete answer of any size; waits while the client does not read."""
        if len(body) <= _PIECE:
            self.respond(code, headers, body)
            return
        self.start(code, headers, len(body))
        self.keeps = len(body)
        for start in range(0, len(body), _PIECE):
            await self.send(body[start : start + _PIECE])
        self.end()

    def start(self, code: int, headers: Iterable[Header], size: int | None = None) -> None:
        """Begin an answer that is sent in pieces, of a known size or not."""
        connection = self._connection
        if connection is None:
            raise ClientGone
        self.started = True
        if code in _WITHOUT_BODY:
            last = b""
        elif size is not None:
            last = b"content-length: %d\r\n" % size
        elif self.head.modern:
            self._in_chunks = True
            last = CHUNKED
        else:
            self.head.keep_alive = False  # HTTP/1.0: the body ends with the connection
            last = b""
        if not connection.stays(self):
            last += CLOSE
        connection.write(head_bytes(code, connection.date, headers, self.lines + last))

    def hand_over(self, headers: Iterable[Header], successor: asyncio.Protocol) -> None:
        """Answer 101 and pass the connection, with the input received so far, to another protocol.
        Removes the deadline."""
        connection = self._connection
        if connection is None:
            raise ClientGone
        self.started = True
        self.no_deadline()
        head = head_bytes(SWITCHING_PROTOCOLS, connection.date, headers, self.lines)
        connection.write(head)
        connection.hand_over(successor)

    def switch(self, headers: Iterable[Header], takes: Callable[[bytes], None]) -> None:
        """Answer 101 and continue: pieces are sent unframed, and all input goes to `takes`."""
        connection = self._connection
        if connection is None:
            raise ClientGone
        self.started = True
        self.head.keep_alive = False
        connection.write(head_bytes(SWITCHING_PROTOCOLS, connection.date, headers, self.lines))
        connection.listen(takes)

    @property
    def takes_chunks(self) -> bool:
        """Whether the answer uses chunked encoding."""
        return self._in_chunks

    @property
    def can_send_now(self) -> bool:
        """Whether the write buffer has room."""
        connection = self._connection
        return connection is not None and connection.full is None and self.head.method != "HEAD"

    def send_now(self, data: bytes) -> bool:
        """Send data without waiting, already chunked if `takes_chunks`; False if that is not
        possible."""
        connection = self._connection
        if connection is None or connection.full is not None or self.head.method == "HEAD":
            return False
        connection.write(data)
        return True

    async def send(self, piece: bytes) -> None:
        """Send a piece; waits while the client does not read."""
        self._hold(piece)
        if self.turn is not None:
            await self._send_in_turn(piece, self.turn, self._in_chunks)
            return
        if len(piece) <= _PIECE:
            await self._send(piece, self._in_chunks)
            return
        view = memoryview(piece)  # encrypts little ahead of a client that does not read
        for start in range(0, len(piece), _SMALL_PIECE):
            await self._send(view[start : start + _SMALL_PIECE], self._in_chunks)

    async def send_made(self, data: bytes) -> None:
        """As `send`, for data that is already chunked."""
        self._hold(data)
        if self.turn is not None:
            await self._send_in_turn(data, self.turn, False)
            return
        await self._send(data, False)

    def _hold(self, piece: bytes) -> None:
        """Count a piece as held until all of it is sent."""
        if self._connection is not None:
            self._connection.held = self.keeps + len(piece)

    async def _send_in_turn(self, piece: bytes, turn: Turn, as_chunks: bool) -> None:
        """Send a piece in small parts, waiting for a turn before each."""
        view = memoryview(piece)
        for start in range(0, len(piece), _SMALL_PIECE):
            await turn(1)
            await self._send(view[start : start + _SMALL_PIECE], as_chunks)

    async def _send(self, piece: bytes | memoryview, as_chunk: bool) -> None:
        connection = self._connection
        if connection is None:
            raise ClientGone
        if piece and self.head.method != "HEAD":
            connection.write(chunk(piece) if as_chunk else piece)
            if connection.full is not None:
                await connection.full
                if self._connection is None:
                    raise ClientGone

    def end(self) -> None:
        connection = self._connection
        if connection is None:
            raise ClientGone
        if self._in_chunks and self.head.method != "HEAD":
            connection.write(LAST_CHUNK)
        connection.finish(self)


def _leave(granted: asyncio.Future[None]) -> None:
    if not granted.done():
        granted.set_exception(ClientGone())


# The peer of a connection.


@dataclass(frozen=True, slots=True)
class Peer:
    """`certificates` are the DER certificates of the client, its own first, whose private key it
    has proved to hold. `problem` is the reason why TLS did not verify them, empty if it did.
    `address` is the client's IP address."""

    certificates: tuple[bytes, ...] = ()
    problem: str = ""
    address: str = ""


NOBODY = Peer()


# Encoding of answers.

Header = tuple[bytes, bytes]

CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
CLOSE = b"connection: close\r\n"
CHUNKED = b"transfer-encoding: chunked\r\n"
LAST_CHUNK = b"0\r\n\r\n"
PLAIN_HTTP = (
    b"HTTP/1.0 400 Bad Request\r\ncontent-type: text/plain; charset=utf-8\r\n\r\n"
    b"Client sent an HTTP request to an HTTPS server.\n"
)
_PHRASES = {status.value: status.phrase for status in HTTPStatus}
_STATUS_LINES = {  # webhooks may refuse with codes that have no meaning
    code: f"HTTP/1.1 {code} {_PHRASES.get(code, '')}\r\n".encode() for code in range(100, 1000)
}
_REASONS = {
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
