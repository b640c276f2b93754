"""The client's side of SPDY/3.1, as far as kubelets use it: streams without flow control.

Headers are sent in a compressed form without the dictionary of SPDY, which zlib allows. Headers of
the other side are not read.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from typing import NamedTuple

from fairlead.wire.outgoing.tunnel import Malformed

PROTOCOL = b"SPDY/3.1"
_CONTROL = 0x80
_VERSION = b"\x80\x03"
_SYN_STREAM, _RST_STREAM, _PING, _GOAWAY = 1, 3, 6, 7
_FIN = 0x01
_HEAD = 8  # bytes of a frame's head
_MAX_CONTROL = 64 * 1024  # bytes of a control frame
_MAX_DATA = (1 << 24) - 1


class Piece(NamedTuple):
    """Data of a stream; `ends` if no more follows."""

    stream: int
    data: bytes
    ends: bool


class Session:
    """Encodes and parses frames. Streams are numbered 1, 3, 5 … as they are opened."""

    def __init__(self) -> None:
        self._compressor = zlib.compressobj()
        self._next_stream = 1
        self._buffer = b""
        self._stream = self._remaining = 0  # of a data frame
        self._ends = False
        self.is_over = False  # the other side opens and answers nothing more
        self.unsent = b""  # answers to pings

    def open(self, headers: Mapping[str, str]) -> tuple[int, bytes]:
        """The number of a new stream, and the frame that opens it."""
        block = [len(headers).to_bytes(4, "big")]
        for text in (text for pair in headers.items() for text in pair):
            block += len(text).to_bytes(4, "big"), text.encode()
        compressed = self._compressor.compress(b"".join(block))
        compressed += self._compressor.flush(zlib.Z_SYNC_FLUSH)
        stream, self._next_stream = self._next_stream, self._next_stream + 2
        return stream, _control(_SYN_STREAM, stream.to_bytes(4, "big") + bytes(6) + compressed)

    def receive(self, data: bytes) -> list[Piece]:
        """The data in received bytes; raises Malformed."""
        data = self._buffer + data if self._buffer else data
        position = 0
        pieces: list[Piece] = []
        while True:
            taken = min(self._remaining, len(data) - position)
            if taken:
                self._remaining -= taken
                ends = self._ends and not self._remaining
                pieces.append(Piece(self._stream, data[position : position + taken], ends))
                position += taken
            if self._remaining or len(data) < position + _HEAD:
                break
            size = int.from_bytes(data[position + 5 : position + _HEAD], "big")
            if data[position] & _CONTROL:
                end = position + _HEAD + size
                if size > _MAX_CONTROL:
                    raise Malformed
                if len(data) < end:
                    break
                pieces += self._control_frame(data[position:end])
                position = end
                continue
            self._stream = int.from_bytes(data[position : position + 4], "big")
            self._ends, self._remaining = bool(data[position + 4] & _FIN), size
            if not size and self._ends:
                pieces.append(Piece(self._stream, b"", True))
            position += _HEAD
        self._buffer = data[position:]
        return pieces

    def _control_frame(self, frame: bytes) -> list[Piece]:
        kind, flags, content = frame[3], frame[4], frame[_HEAD:]
        if kind == _PING:
            self.unsent += frame
        elif kind == _GOAWAY:
            self.is_over = True
        elif kind == _RST_STREAM or flags & _FIN:
            return [Piece(int.from_bytes(content[:4], "big"), b"", True)]
        return []


def _control(kind: int, content: bytes, flags: int = 0) -> bytes:
    head = _VERSION + kind.to_bytes(2, "big") + flags.to_bytes(1, "big")
    return head + len(content).to_bytes(3, "big") + content


def data_frame(stream: int, data: bytes, *, ends: bool = False) -> bytes:
    """Data for a stream, at most 16 MiB; `ends` closes our side of it."""
    assert len(data) <= _MAX_DATA
    head = stream.to_bytes(4, "big") + (_FIN if ends else 0).to_bytes(1, "big")
    return head + len(data).to_bytes(3, "big") + data
