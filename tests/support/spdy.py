"""The node's side of SPDY/3.1, written separately from ours: a kubelet that speaks nothing else."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator

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
