"""Connections as pairs of an asyncio reader and writer."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import NamedTuple

_BUFFERED = 32 * 1024  # bytes of a reader beyond which the transport pauses
PIECE = 64 * 1024  # bytes that are read at once


class ByteStream(NamedTuple):
    """One end of a connection."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    async def send(self, data: bytes) -> None:
        """Waits while the peer does not read. Raises ConnectionError."""
        if self.writer.is_closing():
            raise ConnectionResetError("the connection is closed")
        self.writer.write(data)
        await self.writer.drain()

    def end(self) -> None:
        """Send nothing more; the peer may go on."""
        with suppress(OSError):  # it is gone
            if self.writer.can_write_eof():
                self.writer.write_eof()

    def abort(self) -> None:
        self.writer.transport.abort()


ProtocolFactory = Callable[[], asyncio.StreamReaderProtocol]


async def open_stream(connect: Callable[[ProtocolFactory], Awaitable[object]]) -> ByteStream:
    """The stream of a connection that `connect` makes with a protocol. Raises as that does."""
    opened: list[ByteStream] = []

    def protocol() -> asyncio.StreamReaderProtocol:
        reader = asyncio.StreamReader(limit=_BUFFERED)
        return asyncio.StreamReaderProtocol(
            reader, lambda reader, writer: opened.append(ByteStream(reader, writer))
        )

    await connect(protocol)
    return opened[-1]


async def join(one: ByteStream, other: ByteStream) -> None:
    """Pass on bytes in both directions until both have ended; the end of one direction leaves the
    other open. Raises ConnectionError in an ExceptionGroup if a connection breaks."""
    async with asyncio.TaskGroup() as directions:
        directions.create_task(copy(one, other))
        directions.create_task(copy(other, one))


async def copy(source: ByteStream, target: ByteStream) -> None:
    while data := await source.reader.read(PIECE):
        await target.send(data)
    target.end()
