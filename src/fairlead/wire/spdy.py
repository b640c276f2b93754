"""SPDY/3.1 as kubelets and their clients use it: streams without flow control.

Headers are sent in a compressed form without the dictionary of SPDY, which zlib allows.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from typing import NamedTuple

from fairlead.wire.outgoing.tunnel import Malformed

PROTOCOL = b"SPDY/3.1"
_CONTROL = 0x80
_VERSION = b"\x80\x03"
_SYN_STREAM, _SYN_REPLY, _RST_STREAM, _PING, _GOAWAY = 1, 2, 3, 6, 7
_FIN = 0x01
_REFUSED = 3  # the status of a stream that is not accepted
_HEAD = 8  # bytes of a frame's head
_MAX_CONTROL = 64 * 1024  # bytes of a control frame
_MAX_DATA = (1 << 24) - 1
_MAX_HEADERS = 64 * 1024  # bytes of a header block
_MAX_STREAMS = 1000
_FIXED = 10  # bytes before the header block of a frame that opens a stream

# The dictionary of the header compression, from the protocol's definition.
_WORDS = (
    "options head post put delete trace accept accept-charset accept-encoding accept-language"
    " accept-ranges age allow authorization cache-control connection content-base"
    " content-encoding content-language content-length content-location content-md5"
    " content-range content-type date etag expect expires from host if-match"
    " if-modified-since if-none-match if-range if-unmodified-since last-modified location"
    " max-forwards pragma proxy-authenticate proxy-authorization range referer retry-after"
    " server te trailer transfer-encoding upgrade user-agent vary via warning"
    " www-authenticate method get status 200_OK version HTTP/1.1 url public set-cookie"
    " keep-alive origin"
)
_TEXT = (
    b"100101201202205206300302303304305306307402405406407408409410411412413414415416417502504505203"
    b" Non-Authoritative Information204 No Content301 Moved Permanently400 Bad Request401"
    b" Unauthorized403 Forbidden404 Not Found500 Internal Server Error501 Not Implemented503"
    b" Service UnavailableJan Feb Mar Apr May Jun Jul Aug Sept Oct Nov Dec 00:00:00 Mon, Tue, Wed,"
    b" Thu, Fri, Sat, Sun, GMTchunked,text/html,image/png,image/jpg,image/gif,application/xml,"
    b"application/xhtml+xml,text/plain,text/javascript,publicprivatemax-age=gzip,deflate,"
    b"sdchcharset=utf-8charset=iso-8859-1,utf-,*,enq=0."
)
_DICTIONARY = (
    b"".join(
        len(word).to_bytes(4, "big") + word.replace("_", " ").encode() for word in _WORDS.split()
    )
    + _TEXT
)


class Piece(NamedTuple):
    """Data of a stream; `ends` if no more follows."""

    stream: int
    data: bytes
    ends: bool


class Session:
    """The client's side: encodes and parses frames. Streams are numbered 1, 3, 5 … as they are
    opened. Headers of the other side are not read."""

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


class ServerSession(Session):
    """The server's side: the client opens the streams. Their headers are in `opened` until the
    owner removes them."""

    def __init__(self) -> None:
        super().__init__()
        self.opened: dict[int, Mapping[str, str]] = {}
        self._last_stream = 0
        self._new: list[int] = []
        self._reset: list[int] = []
        self._decompressor = zlib.decompressobj(zdict=_DICTIONARY)

    def _control_frame(self, frame: bytes) -> list[Piece]:
        if frame[3] == _SYN_STREAM:
            stream = int.from_bytes(frame[_HEAD : _HEAD + 4], "big")
            if len(self.opened) >= _MAX_STREAMS or stream <= self._last_stream:
                raise Malformed
            self._last_stream = stream
            self._new.append(stream)
            self.opened[stream] = self._headers(frame[_HEAD + _FIXED :])
            none = self._compressor.compress(bytes(4)) + self._compressor.flush(zlib.Z_SYNC_FLUSH)
            self.unsent += _control(_SYN_REPLY, frame[_HEAD : _HEAD + 4] + none)
        elif frame[3] == _RST_STREAM:
            self._reset.append(int.from_bytes(frame[_HEAD : _HEAD + 4], "big"))
        return super()._control_frame(frame)

    def take_new(self) -> list[int]:
        """The streams that were opened since the last call."""
        new, self._new = self._new, []
        return new

    def take_reset(self) -> list[int]:
        """The streams that the client broke off since the last call."""
        reset, self._reset = self._reset, []
        return reset

    def _headers(self, block: bytes) -> dict[str, str]:
        """The headers of a stream, with names in lower case; raises Malformed."""
        try:
            plain = self._decompressor.decompress(block, _MAX_HEADERS)
            if self._decompressor.unconsumed_tail:
                raise Malformed
            texts: list[str] = []
            at = 4
            for _ in range(2 * int.from_bytes(plain[:4], "big")):
                end = at + 4 + int.from_bytes(plain[at : at + 4], "big")
                if end > len(plain) or end < at + 4:
                    raise Malformed
                texts.append(plain[at + 4 : end].decode())
                at = end
        except (zlib.error, UnicodeDecodeError):
            raise Malformed from None
        return {name.lower(): value for name, value in zip(texts[::2], texts[1::2], strict=True)}


def _control(kind: int, content: bytes, flags: int = 0) -> bytes:
    head = _VERSION + kind.to_bytes(2, "big") + flags.to_bytes(1, "big")
    return head + len(content).to_bytes(3, "big") + content


def data_frame(stream: int, data: bytes, *, ends: bool = False) -> bytes:
    """Data for a stream, at most 16 MiB; `ends` closes our side of it."""
    assert len(data) <= _MAX_DATA
    head = stream.to_bytes(4, "big") + (_FIN if ends else 0).to_bytes(1, "big")
    return head + len(data).to_bytes(3, "big") + data


def reset_frame(stream: int) -> bytes:
    """Refuses a stream."""
    return _control(_RST_STREAM, stream.to_bytes(4, "big") + _REFUSED.to_bytes(4, "big"))
