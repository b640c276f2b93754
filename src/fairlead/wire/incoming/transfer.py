"""Transfers that may wait: receiving the body of a request, sending a large answer.

All functions raise ClientGone when the connection is lost.
"""

from __future__ import annotations

import asyncio
import gzip
import sys
from collections.abc import Iterable, Iterator, Sequence
from functools import partial

from fairlead.base import budget, meter
from fairlead.wire.incoming.exchange import (
    BodyTooLarge,
    ClientGone,
    Exchange,
    Header,
    Turn,
    chunk,
)

_PIECE = 256 * 1024
_SMALL_PIECE = 64 * 1024 - 8  # as a chunk it fills whole TLS records


async def read_body(exchange: Exchange) -> bytes:
    """Return the whole body. Raises BodyTooLarge, and TooManyBodies if there is no memory for
    it."""
    await _reserve_memory(exchange)
    while not exchange.body_complete and not exchange.too_large:
        if not exchange.body_requested:
            exchange.body_requested = True
            exchange.request_body()
        await _wait_for_data(exchange)
    if exchange.too_large:
        raise BodyTooLarge
    return exchange.take_received()


async def read_part(exchange: Exchange) -> bytes:
    """Return the part of the body that has arrived, empty at its end. Applies backpressure: more is
    received only as this is called. The size is unlimited."""
    if not exchange.in_parts:
        exchange.in_parts = True
        exchange.body_limit, exchange.too_large = sys.maxsize, False
        if exchange.connection is not None and not exchange.body_complete:
            exchange.request_body()
    while not exchange.parts and not exchange.body_complete:
        if exchange.connection is None:
            raise ClientGone
        exchange.connection.resume_reading()
        await _wait_for_data(exchange)
    return exchange.take_received()


async def _reserve_memory(exchange: Exchange) -> None:
    """Reserve memory for the body, charged to the connection's owner; waits if none is free."""
    connection, head = exchange.connection, exchange.head
    size = exchange.body_limit if head.chunked else head.length
    if connection is None or exchange.reserved is not None or exchange.too_large:
        return
    if size <= connection.limits.small_body_bytes:
        return
    memory, owner = connection.body_memory, connection.owner
    if not memory.try_to_reserve(owner, size):
        connection.pause_reading()
        granted = asyncio.get_running_loop().create_future()
        exchange.on_disconnect(partial(_fail_reservation, granted))
        try:
            await memory.reserve(owner, size, exchange.received_bytes, granted)
        finally:
            exchange.disconnect_callback = None
    exchange.reserved = memory, owner, size


def _fail_reservation(granted: asyncio.Future[None]) -> None:
    if not granted.done():
        granted.set_exception(ClientGone())


async def _wait_for_data(exchange: Exchange) -> None:
    if exchange.connection is None:
        raise ClientGone
    exchange.waiter = asyncio.get_running_loop().create_future()
    try:
        await exchange.waiter
    finally:
        exchange.waiter = None


async def respond_in_pieces(
    exchange: Exchange, code: int, headers: Iterable[Header], body: bytes | Sequence[bytes]
) -> None:
    """Send a complete answer of any size; waits while the client does not read."""
    if isinstance(body, bytes):
        pieces: Iterable[bytes] = (body[i : i + _PIECE] for i in range(0, len(body), _PIECE))
        size = len(body)
    else:
        pieces, size = _join_pieces(body), sum(map(len, body))
    exchange.start(code, headers, size)
    exchange.retained_bytes = size
    for piece in pieces:
        await send(exchange, piece)
    exchange.end()


async def respond_compressed(
    exchange: Exchange, code: int, headers: Iterable[Header], body: bytes | Sequence[bytes]
) -> None:
    """As `respond_in_pieces`, compressed by gzip in a thread."""
    data = body if isinstance(body, bytes) else b"".join(body)
    compressed = await budget.run(meter.MAX_BYTES_ON_LOOP + 1, gzip.compress, data, 1)
    await respond_in_pieces(exchange, code, headers, compressed)


def _join_pieces(pieces: Sequence[bytes]) -> Iterator[bytes]:
    """Join small pieces, so that each result has at least 256 KiB."""
    start = size = 0
    for index, piece in enumerate(pieces):
        size += len(piece)
        if size >= _PIECE:
            yield b"".join(pieces[start : index + 1])
            start, size = index + 1, 0
    if start < len(pieces):
        yield b"".join(pieces[start:])


async def send(exchange: Exchange, piece: bytes) -> None:
    """Send a piece of an answer; waits while the client does not read."""
    exchange.hold(piece)
    if exchange.turn is not None:
        await _send_in_turns(exchange, piece, exchange.turn, exchange.in_chunks)
        return
    if len(piece) <= _PIECE:
        await _send(exchange, piece, exchange.in_chunks)
        return
    view = memoryview(piece)  # encrypts little ahead of a client that does not read
    for start in range(0, len(piece), _SMALL_PIECE):
        await _send(exchange, view[start : start + _SMALL_PIECE], exchange.in_chunks)


async def send_framed(exchange: Exchange, data: bytes) -> None:
    """As `send`, for data that is already chunked."""
    exchange.hold(data)
    if exchange.turn is not None:
        await _send_in_turns(exchange, data, exchange.turn, False)
        return
    await _send(exchange, data, False)


async def _send_in_turns(exchange: Exchange, piece: bytes, turn: Turn, as_chunks: bool) -> None:
    """Send a piece in small parts, waiting for a turn before each."""
    view = memoryview(piece)
    for start in range(0, len(piece), _SMALL_PIECE):
        await turn(1)
        await _send(exchange, view[start : start + _SMALL_PIECE], as_chunks)


async def _send(exchange: Exchange, piece: bytes | memoryview, as_chunk: bool) -> None:
    connection = exchange.connection
    if connection is None:
        raise ClientGone
    if piece and exchange.head.method != "HEAD":
        connection.write(chunk(piece) if as_chunk else piece)
        if connection.drain_waiter is not None:
            await connection.drain_waiter
            if exchange.disconnected:
                raise ClientGone
