"""Answers that are made while they are sent."""

from __future__ import annotations

import zlib
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing

from fairlead.api.answers import COMPRESSED, Answer, accepts_gzip
from fairlead.api.request import Request
from fairlead.api.steps import one_step, rest
from fairlead.base import budget

_COMPRESSOR_BYTES = 300 * 1024  # what zlib needs to remember what it has compressed
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
            exchange.keeps = _COMPRESSOR_BYTES
        async with aclosing(self.pieces), aclosing(pieces):
            exchange.start(self.code, headers, size)
            async for piece in pieces:
                if exchange.turn is None:  # few objects, which may be large all the same
                    async with one_step():
                        await rest(None)
                await exchange.send(piece)
            exchange.end()


async def _compressed(pieces: AsyncIterator[bytes]) -> AsyncGenerator[bytes]:
    compressor = zlib.compressobj(1, wbits=_GZIP)
    async for piece in pieces:
        yield await budget.run(budget.LIGHT + 1, compressor.compress, piece)
    yield compressor.flush()
