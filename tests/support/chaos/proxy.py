"""A TCP proxy in front of a server's backends that can cut, stall and refuse connections."""

from __future__ import annotations

import asyncio
from enum import Enum

_PIECE = 1 << 16


class Mode(Enum):
    PASS = "pass"
    STALL = "stall"  # connections stay open but carry nothing
    REFUSE = "refuse"  # no connections


class Proxy:
    """Listens on its own port and forwards to another port of this machine."""

    def __init__(self, port: int) -> None:
        self._target = port
        self._passing = asyncio.Event()
        self._passing.set()
        self._mode = Mode.PASS
        self._open: set[asyncio.StreamWriter] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None
        self.port = 0

    async def start(self) -> Proxy:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = int(self._server.sockets[0].getsockname()[1])
        return self

    def be(self, mode: Mode) -> None:
        self._mode = mode
        if mode is Mode.STALL:
            self._passing.clear()
            return
        self._passing.set()
        if mode is Mode.REFUSE:
            self.cut()

    def cut(self) -> None:
        """Reset every connection; new ones are accepted at once."""
        for writer in self._open:
            writer.transport.abort()

    async def close(self) -> None:
        if self._server is not None:
            self._server.close()
        self.be(Mode.REFUSE)
        if self._tasks:
            await asyncio.wait(self._tasks)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self._open.add(writer)
        try:
            if self._mode is Mode.REFUSE:
                return
            await self._passing.wait()
            there, onward = await asyncio.open_connection("127.0.0.1", self._target)
            self._open.add(onward)
            try:
                async with asyncio.TaskGroup() as group:
                    group.create_task(self._carry(reader, onward))
                    group.create_task(self._carry(there, writer))
            finally:
                self._open.discard(onward)
                onward.transport.abort()
        except* (OSError, EOFError):
            pass
        finally:
            self._open.discard(writer)
            self._tasks.discard(task)
            writer.transport.abort()

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while piece := await reader.read(_PIECE):
            await self._passing.wait()
            writer.write(piece)
            await writer.drain()
        raise EOFError  # the end of one direction ends both
