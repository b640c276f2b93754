"""One connection over which requests are sent and answers are read, one at a time."""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field

import httptools

from fairlead.client.transport.errors import Unreachable

_PIECE = 256 * 1024
_MOST_HEAD_BYTES = 64 * 1024
_CUT_OFF = "unexpected EOF"


@dataclass(slots=True)
class Head:
    """The first part of an answer. Names of headers are lower case."""

    status: int
    headers: Mapping[str, str] = field(default_factory=dict)


class Connection:
    """Send a request, await its `head`, read its `pieces` to the end, and it is free again."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._parser = httptools.HttpResponseParser(self)
        self._headers: dict[str, str] = {}
        self._body: list[bytes] = []
        self._has_head = False
        self._is_complete = True
        self._keeps = True

    @property
    def is_free(self) -> bool:
        """Whether another request can be sent."""
        return (
            self._is_complete
            and self._keeps
            and not self._reader.at_eof()
            and not self._writer.is_closing()
        )

    async def send(self, request: bytes) -> Head:
        """The head of the answer to a request; raises Unreachable."""
        self._headers, self._body = {}, []
        self._has_head = self._is_complete = False
        try:
            self._writer.write(request)
            await self._writer.drain()
            read = 0
            while not self._has_head:
                piece = await self._reader.read(_PIECE)
                if not piece:
                    raise Unreachable("EOF" if not read else _CUT_OFF, sent=True)
                read += len(piece)
                self._feed(piece)
                if read > _MOST_HEAD_BYTES + _PIECE:
                    raise Unreachable("the head of the answer is too long", sent=True)
        except OSError as error:
            raise Unreachable(error.strerror or str(error), sent=True) from None
        return Head(self._parser.get_status_code(), self._headers)

    async def pieces(self) -> AsyncIterator[bytes]:
        """The body as it comes, unpacked; raises Unreachable if it ends before its end."""
        packed = self._headers.get("content-encoding") == "gzip"
        unpack = zlib.decompressobj(16 + zlib.MAX_WBITS) if packed else None
        while True:
            body, self._body = self._body, []
            for piece in body:
                yield unpack.decompress(piece) if unpack is not None else piece
            if self._is_complete:
                return
            await self._read_on()

    async def _read_on(self) -> None:
        try:
            piece = await self._reader.read(_PIECE)
        except OSError as error:
            raise Unreachable(error.strerror or str(error), sent=True) from None
        if piece:
            self._feed(piece)
        elif "content-length" in self._headers or "transfer-encoding" in self._headers:
            raise Unreachable(_CUT_OFF, sent=True)
        else:
            self._is_complete, self._keeps = True, False

    def _feed(self, piece: bytes) -> None:
        try:
            self._parser.feed_data(piece)
        except httptools.HttpParserError as error:
            self._keeps = False
            raise Unreachable(f"malformed HTTP response: {error}", sent=True) from None

    def on_header(self, name: bytes, value: bytes) -> None:
        key, text = name.decode("latin-1").lower(), value.decode("latin-1")
        self._headers[key] = f"{self._headers[key]}, {text}" if key in self._headers else text

    def on_headers_complete(self) -> None:
        if self._parser.get_status_code() >= 200:
            self._has_head = True
            self._keeps = self._parser.should_keep_alive()
        else:
            self._headers = {}

    def on_body(self, body: bytes) -> None:
        self._body.append(body)

    def on_message_complete(self) -> None:
        if self._has_head:
            self._is_complete = True

    def close(self) -> None:
        """End without waiting for the other side's last word."""
        self._keeps = False
        self._writer.transport.abort()
