"""HTTP/1.1 with local clients: reads requests, writes answers."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Iterable
from http import HTTPStatus
from typing import NamedTuple

from fairlead.wire.byte_streams import PIECE, ByteStream

_TOKEN = re.compile(rb"[-!#$%&'*+.^_`|~0-9A-Za-z]+")
_TARGET = re.compile(rb"/[!-~]*")
_VALUE = re.compile(rb"[\t -~\x80-\xff]*")
_SIZE = re.compile(rb"[0-9a-fA-F]{1,8}")
_CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
# Headers about one connection only.
HOP_BY_HOP = {
    *("connection", "keep-alive", "proxy-authenticate", "proxy-authorization"),
    *("proxy-connection", "te", "trailer", "transfer-encoding", "upgrade"),
}


class BadMessage(Exception):
    """A client sent something that is not HTTP; the text says what."""


class Head(NamedTuple):
    """The head of a request, with names of headers in lower case."""

    method: str
    target: str
    headers: tuple[tuple[str, str], ...]
    is_old: bool  # HTTP/1.0

    def header(self, name: str) -> str:
        return next((value for key, value in self.headers if key == name), "")

    def _words(self, name: str) -> list[str]:
        values = (value for key, value in self.headers if key == name)
        return [word.strip().lower() for value in values for word in value.split(",")]

    @property
    def upgrades(self) -> bool:
        return "upgrade" in self._words("connection") and bool(self.header("upgrade"))

    @property
    def keeps_alive(self) -> bool:
        """Whether another request may follow once the whole of this one is read."""
        words = self._words("connection")
        return "keep-alive" in words if self.is_old else "close" not in words

    @property
    def is_chunked(self) -> bool:
        return bool(self.header("transfer-encoding"))

    @property
    def length(self) -> int:
        return int(self.header("content-length") or 0)

    @property
    def has_body(self) -> bool:
        return self.is_chunked or self.length > 0

    def passed_on(self, without: Iterable[str] = ()) -> list[str]:
        """The header lines for the other side."""
        left_out = HOP_BY_HOP | {*self._words("connection"), *without}
        return [f"{key}: {value}" for key, value in self.headers if key not in left_out]


def parse_head(data: bytes) -> Head:
    """Raises BadMessage."""
    first, *lines = data.removesuffix(b"\r\n\r\n").split(b"\r\n")
    parts = first.split(b" ")
    if len(parts) != 3 or parts[2] not in (b"HTTP/1.1", b"HTTP/1.0"):
        raise BadMessage("malformed request line")
    if not _TOKEN.fullmatch(parts[0]) or not _TARGET.fullmatch(parts[1]):
        raise BadMessage("malformed request line")
    headers = tuple(_header(line) for line in lines)
    head = Head(parts[0].decode(), parts[1].decode(), headers, parts[2] == b"HTTP/1.0")
    lengths = {value for key, value in headers if key == "content-length"}
    codings = [value.lower() for key, value in headers if key == "transfer-encoding"]
    is_number = all(value.isascii() and value.isdigit() and len(value) < 16 for value in lengths)
    if len(lengths) > 1 or not is_number or (codings and (lengths or codings != ["chunked"])):
        raise BadMessage("malformed length of the body")
    return head


def _header(line: bytes) -> tuple[str, str]:
    name, colon, value = line.partition(b":")
    if not colon or not _TOKEN.fullmatch(name) or not _VALUE.fullmatch(value):
        raise BadMessage("malformed header")
    return name.decode().lower(), value.decode("latin-1").strip()


async def body_of(stream: ByteStream, head: Head) -> AsyncIterator[bytes]:
    """Yield the body of a request, in the framing in which it is passed on. Raises BadMessage and
    asyncio.IncompleteReadError."""
    if head.has_body and head.header("expect").lower() == "100-continue":
        await stream.send(_CONTINUE)
    if not head.is_chunked:
        remaining = head.length
        while remaining:
            piece = await stream.reader.readexactly(min(PIECE, remaining))
            remaining -= len(piece)
            yield piece
        return
    while size := await _chunk_size(stream):
        data = await stream.reader.readexactly(size + 2)
        if not data.endswith(b"\r\n"):
            raise BadMessage("malformed chunk")
        yield b"%x\r\n%b" % (size, data)
    while (await stream.reader.readuntil(b"\r\n")) != b"\r\n":
        pass  # trailers are left out
    yield b"0\r\n\r\n"


async def _chunk_size(stream: ByteStream) -> int:
    line = await stream.reader.readuntil(b"\r\n")
    size = line.partition(b";")[0].strip()
    if not _SIZE.fullmatch(size):
        raise BadMessage("malformed chunk")
    return int(size, 16)


def encoded_head(status: int, lines: Iterable[str]) -> bytes:
    try:
        reason = HTTPStatus(status).phrase
    except ValueError:
        reason = "Unknown"
    return "\r\n".join((f"HTTP/1.1 {status} {reason}", *lines, "", "")).encode("latin-1")


async def answer(
    stream: ByteStream, head: Head | None, status: int, content: bytes, *lines: str
) -> None:
    """Answer with a whole body, by default as text. The connection must end if the body of the
    request is left unread."""
    fields = [*lines, f"content-length: {len(content)}"]
    if not any(line.startswith("content-type:") for line in lines):
        fields.append("content-type: text/plain; charset=utf-8")
    if head is None or not head.keeps_alive or head.has_body:
        fields.append("connection: close")
    elif head.is_old:
        fields.append("connection: keep-alive")
    is_head = head is not None and head.method == "HEAD"
    await stream.send(encoded_head(status, fields) + (b"" if is_head else content))
