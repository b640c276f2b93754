"""Answers that are made while they are sent."""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing

from fairlead.endpoints.answers import COMPRESSED, Answer, accepts_gzip
from fairlead.endpoints.request import Request

_GZIP = 31  # zlib's way to say: the largest window, and the format of gzip


class LongAnswer(Answer):
    """An answer that is made as it is read: a client that does not read it holds a piece, not all
    of it. Its `size` may be unknown."""

    __slots__ = ("pieces", "size")

    def __init__(
        self,
        pieces: AsyncGenerator[bytes],
        size: int | None = None,
        media_type: str = "application/json",
    ) -> None:
        super().__init__(200, b"", media_type)
        self.pieces = pieces
        self.size = size

    async def send(self, request: Request) -> None:
        exchange = request.exchange
        headers, pieces, size = self.fields(request), self.pieces, self.size
        if accepts_gzip(request):
            headers += COMPRESSED
            pieces, size = _compressed(pieces), None
        async with aclosing(self.pieces), aclosing(pieces):
            exchange.start(self.code, headers, size)
            async for piece in pieces:
                await exchange.send(piece)
            exchange.end()


async def _compressed(pieces: AsyncIterator[bytes]) -> AsyncGenerator[bytes]:
    compressor = zlib.compressobj(1, wbits=_GZIP)
    async for piece in pieces:
        yield await asyncio.to_thread(compressor.compress, piece)
    yield compressor.flush()
