"""The part of HTTP/2 that a gRPC client needs, on one connection.

grpcio takes several times the CPU time: its calls go through its own threads.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from math import inf
from struct import Struct
from typing import TYPE_CHECKING, cast
from urllib.parse import unquote

from hpack import Decoder, HPACKError

if TYPE_CHECKING:
    from fairlead.wire.grpc.calls import Exchange

DATA, HEADERS, RESET, SETTINGS, PUSH, PING, GOAWAY, WINDOW, CONTINUATION = 0, 1, 3, 4, 5, 6, 7, 8, 9
_END_STREAM, _ACK, _END_HEADERS, _PADDED, _PRIORITY = 0x1, 0x1, 0x4, 0x8, 0x20
_TABLE_SIZE, _PUSHES, _INITIAL_WINDOW, _LARGEST_FRAME = 1, 2, 4, 5
_CANCEL = b"\0\0\0\x08"
_REFUSED = 7

_HEAD = Struct(">HBBBI")  # frame header: length in two parts, type, flags, stream
_SETTING = Struct(">HI")
_UINT32 = Struct(">I")
_MAX_FRAME = 1 << 14  # default maximum frame size
STREAM_WINDOW = 1 << 24
_CONNECTION_WINDOW = 1 << 30
_MAX_BLOCKS = 256
_DEFER_SECONDS = 0.02  # seconds
_LAST_STREAM = (1 << 31) - 1

Trailers = dict[str, str]


def frame(kind: int, flags: int, stream: int, body: bytes) -> bytes:
    size = len(body)
    return _HEAD.pack(size >> 8, size & 0xFF, kind, flags, stream) + body


_PREFACE = (
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
    + frame(
        SETTINGS,
        0,
        0,
        # Without a dynamic table, equal headers have equal bytes, so decoded blocks can be cached.
        _SETTING.pack(_TABLE_SIZE, 0)
        + _SETTING.pack(_PUSHES, 0)
        + _SETTING.pack(_INITIAL_WINDOW, STREAM_WINDOW),
    )
    + frame(WINDOW, 0, 0, _UINT32.pack(_CONNECTION_WINDOW - 65_535))
)


class ProtocolError(Exception):
    """The peer violates HTTP/2."""


class Connection(asyncio.Protocol):
    """Multiplexes streams over one transport and numbers them. `on_lost` is called at its end, with
    the reason."""

    def __init__(self, on_lost: Callable[[Connection, str], None]) -> None:
        self.is_open = False
        self.last_received = 0.0
        self._on_lost = on_lost
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._streams: dict[int, Exchange] = {}
        self._number = -1
        self._rest = b""
        self._outgoing: list[bytes] = []
        self._deferred: list[bytes] = []
        self._window = 65_535  # bytes that may still be sent
        self._initial_window = 65_535
        self._largest = _MAX_FRAME
        self._blocked: deque[tuple[Exchange, bytes]] = deque()  # waits for a flow control window
        self._received = 0
        self._decoder = Decoder()
        self._blocks: dict[bytes, Trailers] = {}
        self._block: tuple[int, int, bytes] | None = None  # continues in the next frame
        self._reason = ""
        self._expiry = inf  # the earliest deadline of a stream
        self._timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's is no subclass
        self.is_open = True
        self.last_received = self._loop.time()
        self._transport.write(_PREFACE)

    def connection_lost(self, error: Exception | None) -> None:
        self.is_open = False
        if self._timer is not None:
            self._timer.cancel()
        reason = self._reason or (str(error) if error else "") or "the connection was closed"
        streams, self._streams = self._streams, {}
        for stream in streams.values():
            stream.connection_lost(reason)
        self._on_lost(self, reason)

    def data_received(self, data: bytes) -> None:
        self.last_received = self._loop.time()
        if self._rest:
            data = self._rest + data
        start, end = 0, len(data)
        try:
            while end - start >= 9:
                high, low, kind, flags, number = _HEAD.unpack_from(data, start)
                size = high << 8 | low
                if size > _MAX_FRAME:
                    raise ProtocolError("a frame that is too large")
                stop = start + 9 + size
                if stop > end:
                    break
                self._dispatch(kind, flags, number & 0x7FFF_FFFF, data[start + 9 : stop])
                start = stop
        except (ProtocolError, HPACKError, IndexError, ValueError) as error:
            self.abort(f"what it sends is not understood: {error}")
            return
        self._rest = data[start:] if start else data

    @property
    def is_busy(self) -> bool:
        return bool(self._streams)

    def begin(self, stream: Exchange, block: bytes, body: bytes, *, is_last: bool) -> None:
        """Open a stream with its header block and first message."""
        if not self.is_open:
            stream.refuse(is_unsent=True)
            return
        self._number += 2
        if self._number >= _LAST_STREAM:  # new streams use another connection
            self._close_after(self._number, "it has no numbers left")
        stream.number = number = self._number
        stream.window = self._initial_window
        self._streams[number] = stream
        if stream.deadline < self._expiry:
            self._set_timer(stream.deadline)
        self._write(frame(HEADERS, _END_HEADERS, number, block))
        stream.is_last = is_last
        size = len(body)
        if not self._blocked and size <= min(self._window, stream.window, self._largest):
            self._window -= size
            stream.window -= size
            flags = _END_STREAM if is_last else 0
            self._outgoing += (_HEAD.pack(size >> 8, size & 0xFF, DATA, flags, number), body)
        else:
            self._blocked.append((stream, body))
            self._send_blocked()

    def _set_timer(self, moment: float) -> None:
        """Set the timer shared by all streams: most end long before their deadline."""
        self._expiry = moment
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._loop.call_at(moment, self._expire) if moment < inf else None

    def _expire(self) -> None:
        now = self._loop.time()
        expired = [stream for stream in self._streams.values() if stream.deadline <= now]
        for stream in expired:
            stream.expire()
        self._set_timer(min((stream.deadline for stream in self._streams.values()), default=inf))

    def reset(self, stream: Exchange) -> None:
        """Cancel a stream."""
        if self._remove_stream(stream.number) is not None:
            self._write(frame(RESET, 0, stream.number, _CANCEL))

    def grant(self, stream: Exchange, size: int) -> None:
        """Extend a stream's receive window."""
        if stream.number in self._streams:
            self._write(frame(WINDOW, 0, stream.number, _UINT32.pack(size)))

    def ping(self) -> None:
        self._write(frame(PING, 0, 0, b"fairlead"))

    def abort(self, reason: str) -> None:
        """Close the connection now; all calls in progress fail."""
        self._reason = self._reason or reason
        if self._transport is not None:
            self._transport.abort()

    def _write(self, data: bytes) -> None:
        """Buffer data; everything written in one iteration of the event loop is sent together."""
        if not self._outgoing:
            self._loop.call_soon(self._flush)
        self._outgoing.append(data)

    def _write_deferred(self, data: bytes) -> None:
        """Send with the next write, or after 20 ms: etcd sends a ping with nearly every answer, and
        a packet costs more than a call."""
        if not self._deferred:
            self._loop.call_later(_DEFER_SECONDS, self._flush_deferred)
        self._deferred.append(data)

    def _flush_deferred(self) -> None:
        if self._deferred:
            self._flush()

    def _flush(self) -> None:
        out, self._outgoing = self._outgoing + self._deferred, []
        self._deferred.clear()
        if out and self._transport is not None and not self._transport.is_closing():
            self._transport.write(b"".join(out))

    def _send_blocked(self) -> None:
        while self._blocked:
            stream, body = self._blocked[0]
            if stream.number not in self._streams:
                self._blocked.popleft()
                continue
            size = min(len(body), self._window, stream.window, self._largest)
            if size <= 0:
                return
            is_end = size == len(body)
            self._window -= size
            stream.window -= size
            flags = _END_STREAM if is_end and stream.is_last else 0
            self._write(frame(DATA, flags, stream.number, body[:size]))
            if is_end:
                self._blocked.popleft()
            else:
                self._blocked[0] = stream, body[size:]

    def _dispatch(self, kind: int, flags: int, number: int, body: bytes) -> None:
        if self._block is not None and kind != CONTINUATION:
            raise ProtocolError("a head that is cut off")
        if kind == DATA:
            self._receive_data(flags, number, body)
        elif kind == HEADERS:
            self._receive_headers(flags, number, flags & _END_STREAM, _unpadded(flags, body))
        elif kind == CONTINUATION and self._block is not None:
            first, is_last, beginning = self._block
            self._block = None
            self._receive_headers(flags, first, is_last, beginning + body)
        elif kind == WINDOW:
            self._receive_window(number, _UINT32.unpack(body)[0])
        elif kind == SETTINGS and not flags & _ACK:
            self._receive_settings(body)
        elif kind == PING and not flags & _ACK:
            self._write_deferred(frame(PING, _ACK, 0, body))
        elif kind == RESET:
            stream = self._remove_stream(number)
            if stream is not None:
                stream.refuse(is_unsent=_UINT32.unpack(body)[0] == _REFUSED)
        elif kind == GOAWAY:
            self._receive_goaway(_UINT32.unpack_from(body)[0] & 0x7FFF_FFFF)
        elif kind == PUSH:
            raise ProtocolError("a push")

    def _receive_data(self, flags: int, number: int, body: bytes) -> None:
        size = len(body)
        self._received += size
        if self._received > _CONNECTION_WINDOW // 2:
            self._write(frame(WINDOW, 0, 0, _UINT32.pack(self._received)))
            self._received = 0
        stream = self._streams.get(number)
        if stream is None:
            return
        if flags & _PADDED:
            body = body[1 : size - body[0]]
        stream.receive(body, size)
        if flags & _END_STREAM:
            self._remove_stream(number)
            stream.finish({})

    def _receive_headers(self, flags: int, number: int, is_last: int, block: bytes) -> None:
        if not flags & _END_HEADERS:
            if len(block) > 1 << 16:
                raise ProtocolError("a head without end")
            self._block = number, is_last, block
            return
        headers = self._blocks.get(block)
        if headers is None:
            headers = self._decode(block)
        stream = self._streams.get(number)
        if stream is None:
            return
        if is_last:
            self._remove_stream(number)
            stream.finish(headers)
        elif headers.get(":status", "200") != "200":
            self.reset(stream)
            stream.connection_lost(f"it answers {headers[':status']}")

    def _decode(self, block: bytes) -> Trailers:
        decoded = self._decoder.decode(block)
        headers = {str(name): str(value) for name, value in decoded}
        if "grpc-message" in headers:
            headers["grpc-message"] = unquote(headers["grpc-message"])
        if not self._decoder.header_table.dynamic_entries:
            if len(self._blocks) >= _MAX_BLOCKS:
                self._blocks.clear()
            self._blocks[block] = headers
        return headers

    def _receive_window(self, number: int, size: int) -> None:
        if number == 0:
            self._window += size
        elif (stream := self._streams.get(number)) is not None:
            stream.window += size
        self._send_blocked()

    def _receive_settings(self, body: bytes) -> None:
        for name, value in _SETTING.iter_unpack(body):
            if name == _INITIAL_WINDOW:
                for stream in self._streams.values():
                    stream.window += value - self._initial_window
                self._initial_window = value
            elif name == _LARGEST_FRAME:
                self._largest = value
        self._write(frame(SETTINGS, _ACK, 0, b""))
        self._send_blocked()

    def _receive_goaway(self, last: int) -> None:
        """Handle GOAWAY: open no more streams; those up to `last` complete."""
        self._close_after(last, "it is going away")
        self._remove_stream(0)

    def _close_after(self, last: int, reason: str) -> None:
        """Open no more streams; those up to `last` complete, later ones are refused as unsent."""
        self.is_open = False
        self._reason = reason
        for number, stream in list(self._streams.items()):
            if number > last:
                self._remove_stream(number)
                stream.refuse(is_unsent=True)
        self._on_lost(self, self._reason)

    def _remove_stream(self, number: int) -> Exchange | None:
        """Remove a stream; closes a connection that accepts no more streams after its last one."""
        stream = self._streams.pop(number, None)
        if not self.is_open and not self._streams and self._transport is not None:
            self._transport.close()
        return stream


def _unpadded(flags: int, body: bytes) -> bytes:
    """Strip padding and priority from a header block."""
    if flags & _PADDED:
        body = body[1 : len(body) - body[0]]
    return body[5:] if flags & _PRIORITY else body
