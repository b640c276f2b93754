"""Responses that are encoded while they are sent."""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing
from weakref import WeakKeyDictionary

from fairlead.api.answers import COMPRESSED, Answer, accepts_gzip
from fairlead.api.request import Request
from fairlead.base import budget, meter
from fairlead.wire.incoming.exchange import Turn
from fairlead.wire.incoming.transfer import send

_COMPRESSOR_BYTES = 300 * 1024  # memory of a zlib compressor
_GZIP = 31  # zlib's wbits for the largest window in gzip format


class StreamedAnswer(Answer):
    """A response that is produced as the client reads, so that a slow client holds one piece in
    memory rather than all. `size` is None if unknown."""

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
            exchange.retained_bytes = _COMPRESSOR_BYTES
        async with aclosing(self.pieces), aclosing(pieces):
            exchange.start(self.code, headers, size)
            async for piece in pieces:
                if exchange.turn is None:  # without turns, yet a piece may be large
                    async with step_lock():
                        await pause(None)
                await send(exchange, piece)
            exchange.end()


async def _compressed(pieces: AsyncIterator[bytes]) -> AsyncGenerator[bytes]:
    compressor = zlib.compressobj(1, wbits=_GZIP)
    async for piece in pieces:
        yield await budget.run(meter.MAX_BYTES_ON_LOOP + 1, compressor.compress, piece)
    yield compressor.flush()


# Long answers are encoded in steps of about a millisecond, with a yield to the event loop in
# between.

STEP_SECONDS = 0.001
PIECE_BYTES = 256 * 1024
_STEP_PIECES = 10  # small pieces that could be sent in the time of a step

_step_locks: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Lock] = WeakKeyDictionary()


class Encoded:
    """The pieces of an answer. `size` is the total, if it is known once the first piece is
    available."""

    def __init__(self, generate: Callable[[Encoded], AsyncGenerator[bytes]]) -> None:
        self.size: int | None = None
        self.pieces = generate(self)

    def __aiter__(self) -> AsyncGenerator[bytes]:
        return self.pieces


async def pause(turn: Turn | None) -> None:
    """Yield to the event loop between two steps, in turn with other flows if flow control is on."""
    await (turn(_STEP_PIECES) if turn is not None else asyncio.sleep(0))


def step_lock() -> asyncio.Lock:
    """The lock for a step, one per event loop. It serializes the steps of concurrent lists, so that
    other requests wait for a single step."""
    return _step_locks.setdefault(asyncio.get_running_loop(), asyncio.Lock())


async def after_step(answer: Answer) -> Answer:
    """Return a large answer when it is the turn of another step."""
    async with step_lock():
        await pause(None)
    return answer
