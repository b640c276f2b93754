"""Answers whose body is read as it comes, or as a whole."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator

from fairlead.client.transport.connection import Connection, Head
from fairlead.client.transport.errors import Unreachable

_MOST_BYTES = 512 * 1024 * 1024  # of a body that is read as a whole, or of a line
_TOO_LATE = "the answer did not come to its end in time"
_TOO_LONG = "the answer is too long"


class Answer:
    """An answer whose head has come and is a success."""

    def __init__(
        self,
        head: Head,
        connection: Connection,
        ends: float | None = None,
        stays: float | None = None,
    ) -> None:
        self.status = head.status
        self.headers = head.headers
        self._connection = connection
        self._ends = ends  # for all of it at once
        self._stays = stays  # piece by piece

    async def pieces(self) -> AsyncGenerator[bytes, None]:
        pieces = self._connection.pieces()
        if self._stays is None:
            async for piece in pieces:
                yield piece
            return
        try:
            while True:
                async with asyncio.timeout_at(self._stays):
                    later = await anext(pieces, None)
                if later is None:
                    return
                yield later
        except TimeoutError:
            raise Unreachable(_TOO_LATE, sent=True) from None

    async def content(self) -> bytes:
        """All of it; raises Unreachable, also when the time of the request is over."""
        try:
            async with asyncio.timeout_at(self._ends):
                return await whole(self._connection)
        except TimeoutError:
            raise Unreachable(_TOO_LATE, sent=True) from None

    async def lines(self) -> AsyncGenerator[bytes, None]:
        """The lines of a body as they become whole; the last one needs no end."""
        begun: list[bytes] = []
        size = 0
        async for piece in self.pieces():
            *whole, rest = piece.split(b"\n")
            for line in whole:
                yield b"".join((*begun, line)) if begun else line
                begun, size = [], 0
            if rest:
                begun.append(rest)
                size += len(rest)
                if size > _MOST_BYTES:
                    raise Unreachable(_TOO_LONG, sent=True)
        if begun:
            yield b"".join(begun)


async def whole(connection: Connection) -> bytes:
    """All of a body; raises Unreachable, also when there is no end of it."""
    parts: list[bytes] = []
    size = 0
    async for piece in connection.pieces():
        size += len(piece)
        if size > _MOST_BYTES:
            raise Unreachable(_TOO_LONG, sent=True)
        parts.append(piece)
    return b"".join(parts)
