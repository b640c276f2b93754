"""Both sides of SPDY/3.1, written separately from ours: a kubelet that speaks nothing else, and a
client that forwards ports."""

from __future__ import annotations

import struct
import zlib
from collections import defaultdict
from collections.abc import Callable, Iterator

from support.extension import Caller, fields

SWITCH = (
    b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n"
    b"X-Stream-Protocol-Version: %s\r\n\r\n"
)


class Node:
    """A connection that has switched to SPDY. `streams` are the numbers of streams by type."""

    def __init__(self, caller: Caller, head: bytes) -> None:
        self.caller = caller
        self.streams: dict[str, int] = {}
        self._inflating = zlib.decompressobj()
        assert head.startswith(b"POST "), head
        assert fields(head, "upgrade") == ["SPDY/3.1"]
        assert not fields(head, "sec-websocket-key")
        caller.say(SWITCH % fields(head, "x-stream-protocol-version")[-1].encode())

    def accept(self, count: int) -> None:
        """Accept that many streams, and reply to each."""
        for _ in range(count):
            kind, content = self.frame()
            assert kind == 1, kind
            (stream,) = struct.unpack(">I", content[:4])
            headers = self._headers(content[10:])
            self.streams[headers["streamtype"]] = stream
            self.control(2, struct.pack(">I", stream))

    def _headers(self, block: bytes) -> dict[str, str]:
        raw = self._inflating.decompress(block)
        (count,), position = struct.unpack(">I", raw[:4]), 4
        texts = []
        for _ in range(count * 2):
            (size,) = struct.unpack(">I", raw[position : position + 4])
            texts.append(raw[position + 4 : position + 4 + size].decode())
            position += 4 + size
        return dict(zip(texts[::2], texts[1::2], strict=True))

    def frame(self) -> tuple[int, bytes]:
        """The kind (0 for data, with head and flags) and content of the next frame."""
        head = self.caller.take(8)
        content = self.caller.take(int.from_bytes(head[5:], "big"))
        return (head[3], content) if head[0] & 0x80 else (0, head + content)

    def received(self, name: str) -> Iterator[bytes]:
        """The data of a stream, until the client ends it."""
        while True:
            kind, content = self.frame()
            if kind == 0 and int.from_bytes(content[:4], "big") == self.streams[name]:
                if content[8:]:
                    yield content[8:]
                if content[4] & 1:
                    return

    def control(self, kind: int, content: bytes) -> None:
        self.caller.say(struct.pack(">HHI", 0x8003, kind, len(content)) + content)

    def data(self, name: str, data: bytes, *, ends: bool = False) -> None:
        flags = int(ends) << 24
        self.caller.say(struct.pack(">II", self.streams[name], flags | len(data)) + data)


def frame(kind: int, content: bytes, flags: int = 0) -> bytes:
    """Encode a control frame."""
    return struct.pack(">HHI", 0x8003, kind, flags << 24 | len(content)) + content


class Forwarding:
    """A client with streams to ports. `send` and `receive` carry its bytes. The texts of errors are
    in `errors` by the number of the data stream."""

    def __init__(self, send: Callable[[bytes], object], receive: Callable[[], bytes]) -> None:
        self.send = send
        self.receive = receive
        self._deflating = zlib.compressobj()
        self._data = b""
        self._next = 1
        self._of_error: dict[int, int] = {}  # data streams by error streams
        self._received: dict[int, bytes] = defaultdict(bytes)
        self._ended: set[int] = set()
        self.errors: dict[int, str] = {}

    def open(self, **headers: str) -> int:
        """Open a stream, and return its number."""
        texts = [text.encode() for pair in headers.items() for text in pair]
        block = struct.pack(">I", len(headers))
        block += b"".join(struct.pack(">I", len(text)) + text for text in texts)
        packed = self._deflating.compress(block) + self._deflating.flush(zlib.Z_SYNC_FLUSH)
        stream, self._next = self._next, self._next + 2
        self.send(frame(1, struct.pack(">IIH", stream, 0, 0) + packed))
        return stream

    def connect(self, port: int) -> int:
        """Open both streams of a connection, and return the number of the one for data."""
        request = str(self._next)
        error = self.open(streamtype="error", port=str(port), requestid=request)
        self.data(error, b"", ends=True)
        stream = self.open(streamtype="data", port=str(port), requestid=request)
        self._of_error[error] = stream
        return stream

    def data(self, stream: int, data: bytes, *, ends: bool = False) -> None:
        self.send(struct.pack(">II", stream, int(ends) << 24 | len(data)) + data)

    def read(self, stream: int, size: int) -> bytes:
        """The next bytes of a stream."""
        while len(self._received[stream]) < size:
            self._next_frame()
        data = self._received[stream]
        self._received[stream] = data[size:]
        return data[:size]

    def rest(self, stream: int) -> bytes:
        """Everything until the server ends a stream."""
        while stream not in self._ended:
            self._next_frame()
        return self._received.pop(stream, b"")

    def _next_frame(self) -> None:
        head = self._take(8)
        content = self._take(int.from_bytes(head[5:], "big"))
        if head[0] & 0x80:
            if head[3] == 3:  # reset
                self._ended.add(int.from_bytes(content[:4], "big"))
            return
        stream = int.from_bytes(head[:4], "big")
        if stream in self._of_error:
            if content:
                self.errors[self._of_error[stream]] = content.decode()
            return
        self._received[stream] += content
        if head[4] & 1:
            self._ended.add(stream)

    def _take(self, size: int) -> bytes:
        while len(self._data) < size:
            self._data += self.receive()
        taken, self._data = self._data[:size], self._data[size:]
        return taken
