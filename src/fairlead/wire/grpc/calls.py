"""gRPC calls on HTTP/2 streams."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterable
from math import inf
from struct import Struct

from fairlead.wire.grpc.failures import STATUSES, CallFailed
from fairlead.wire.grpc.http2 import STREAM_WINDOW, Connection, Trailers

_PREFIX = Struct(">BI")  # message prefix: compressed flag and length
_MAX_UNGRANTED = STREAM_WINDOW // 2


def framed(message: bytes) -> bytes:
    return _PREFIX.pack(0, len(message)) + message


def _text(value: str) -> bytes:
    """Encode an HPACK string literal without Huffman coding."""
    raw = value.encode()
    size = len(raw)
    if size < 127:
        return bytes((size,)) + raw
    rest = size - 127
    return bytes((127, rest & 127 | 128, rest >> 7)) + raw


def head(
    scheme: str, authority: str, method: str, metadata: Iterable[tuple[str, str]] = ()
) -> bytes:
    """Encode the header block of a call. `metadata` are headers with names in lower case."""
    return b"".join(
        (
            b"\x83\x87" if scheme == "https" else b"\x83\x86",  # POST, and the scheme
            *(b"\x04", _text(method), b"\x01", _text(authority)),
            *(b"\x0f\x10", _text("application/grpc")),  # the content type
            *(b"\0", _text("te"), _text("trailers")),
            *(part for name, value in metadata for part in (b"\0", _text(name), _text(value))),
        )
    )


class Exchange:
    """A stream: collects DATA into messages. `window` is the number of bytes that may still be
    sent."""

    def __init__(self, connection: Connection) -> None:
        self.number = 0
        self.deadline = inf
        self.window = 0
        self.is_last = False
        self.connection = connection
        self._parts: list[bytes] = []
        self._buffered = 0
        self._expected = _PREFIX.size

    def receive(self, body: bytes, size: int) -> None:
        """Add a DATA frame; `size` counts for flow control. Most frames are exactly one message."""
        if not self._buffered and len(body) >= _PREFIX.size:
            is_compressed, length = _PREFIX.unpack_from(body)
            if not is_compressed and len(body) == _PREFIX.size + length:
                self.receive_message(body[_PREFIX.size :])
                return
        self._parts.append(body)
        self._buffered += len(body)
        while self._buffered >= self._expected:
            data = self._parts[0] if len(self._parts) == 1 else b"".join(self._parts)
            is_compressed, length = _PREFIX.unpack_from(data)
            if is_compressed:
                raise ValueError("a compressed message")
            self._expected = end = _PREFIX.size + length
            if len(data) < end:
                self._parts = [data]
                return
            self._parts, self._buffered, self._expected = (
                [data[end:]],
                len(data) - end,
                _PREFIX.size,
            )
            self.receive_message(data[_PREFIX.size : end])

    def receive_message(self, message: bytes) -> None:
        raise NotImplementedError

    def fail(self, failure: CallFailed) -> None:
        raise NotImplementedError

    def expire(self) -> None:
        """The deadline has passed."""
        raise NotImplementedError

    def finish(self, trailers: Trailers) -> None:
        raise NotImplementedError

    def connection_lost(self, reason: str) -> None:
        self.fail(CallFailed("UNAVAILABLE", reason))

    def refuse(self, *, is_unsent: bool) -> None:
        self.fail(CallFailed("UNAVAILABLE", "the call was refused", is_unsent=is_unsent))


def _failure(trailers: Trailers) -> CallFailed:
    number = trailers.get("grpc-status", "")
    is_known = number.isascii() and number.isdigit() and int(number) < len(STATUSES)
    return CallFailed(
        STATUSES[int(number)] if is_known else "UNAVAILABLE",
        trailers.get("grpc-message", "") or "the call was ended without a word",
    )


class Call(Exchange):
    """A unary call."""

    def __init__(self, connection: Connection, timeout: float) -> None:
        super().__init__(connection)
        loop = asyncio.get_running_loop()
        self.answer: asyncio.Future[bytes] = loop.create_future()
        self.deadline = loop.time() + timeout
        self._message: bytes | None = None
        self._ungranted = 0

    def receive(self, body: bytes, size: int) -> None:
        self._ungranted += size
        if self._ungranted > _MAX_UNGRANTED:
            self.connection.grant(self, self._ungranted)
            self._ungranted = 0
        super().receive(body, size)

    def receive_message(self, message: bytes) -> None:
        self._message = message

    def finish(self, trailers: Trailers) -> None:
        if trailers.get("grpc-status") != "0" or self._message is None:
            self.fail(_failure(trailers))
            return
        if not self.answer.done():
            self.answer.set_result(self._message)

    def fail(self, failure: CallFailed) -> None:
        if not self.answer.done():
            self.answer.set_exception(failure)

    def expire(self) -> None:
        self.connection.reset(self)
        self.fail(CallFailed("DEADLINE_EXCEEDED", "no answer in time"))

    def cancel(self) -> None:
        self.connection.reset(self)


class Stream(Exchange):
    """A server stream: one request, any number of responses."""

    def __init__(self, connection: Connection) -> None:
        super().__init__(connection)
        self._messages: deque[bytes] = deque()
        self._failure: CallFailed | None = None
        self._waiter: asyncio.Future[None] | None = None
        self._ungranted = 0

    async def read(self) -> bytes:
        """Return the next message; raises CallFailed, also at the end of the stream. One reader at
        a time."""
        while not self._messages:
            if self._failure is not None:
                raise self._failure
            self._waiter = asyncio.get_running_loop().create_future()
            await self._waiter
        message = self._messages.popleft()
        self._ungranted += len(message) + _PREFIX.size
        if self._ungranted > _MAX_UNGRANTED:
            self.connection.grant(self, self._ungranted)
            self._ungranted = 0
        return message

    def cancel(self) -> None:
        self.connection.reset(self)
        self.fail(CallFailed("CANCELLED", "the watch was abandoned"))

    def receive_message(self, message: bytes) -> None:
        self._messages.append(message)
        self._wake()

    def fail(self, failure: CallFailed) -> None:
        self._failure = self._failure or failure
        self._wake()

    def finish(self, trailers: Trailers) -> None:
        self.fail(_failure(trailers))

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)
