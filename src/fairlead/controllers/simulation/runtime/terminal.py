"""The streams of a command that a client talks to, and its terminal (`kubectl exec -it`), which
echoes and edits what is typed, line by line."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from fairlead.base import clock
from fairlead.controllers.simulation.runtime.process import STDOUT, Interrupted
from fairlead.operations.api import CommandStreams

_INTERRUPT, _END, _BACKSPACES = 0x03, 0x04, (0x08, 0x7F)
_MAX_LINE, _MAX_LINES = 4096, 1000

Record = Callable[[int, bytes], None]


class Pipes:
    """Stands between a program and the streams of a client. `record` is told what it writes."""

    is_terminal = False

    def __init__(self, streams: CommandStreams, record: Record | None = None) -> None:
        self._streams = streams
        self._record = record

    async def read(self) -> bytes:
        return await self._streams.read()

    async def write(self, stream: int, data: bytes) -> None:
        if self._record is not None:
            self._record(stream, data)
        await self._streams.write(stream, data)

    async def pause(self, seconds: float) -> None:
        """Let time pass, by the server's clock."""
        await clock.sleep(seconds)

    def close(self) -> None: ...


class Terminal(Pipes):
    """Raises Interrupted where Ctrl-C is typed, while the program waits or reads."""

    is_terminal = True

    def __init__(self, streams: CommandStreams, record: Record | None = None) -> None:
        super().__init__(streams, record)
        self._line = bytearray()
        self._lines: list[bytes] = []
        self._reading: asyncio.Task[bytes] | None = None
        self._is_at_end = False
        self._typed_ahead = b""  # what was not looked at yet

    async def write(self, stream: int, data: bytes) -> None:
        await super().write(STDOUT, data.replace(b"\n", b"\r\n"))

    async def read(self) -> bytes:
        while not self._lines:
            if self._is_at_end:
                return b""
            await self._take()
        return self._lines.pop(0)

    async def pause(self, seconds: float) -> None:
        elapsed = asyncio.ensure_future(clock.sleep(seconds))
        try:
            while not (elapsed.done() or self._is_at_end or len(self._lines) >= _MAX_LINES):
                await self._take(elapsed)
            await elapsed
        finally:
            elapsed.cancel()

    def close(self) -> None:
        if self._reading is not None:
            self._reading.cancel()

    async def _take(self, *ends: asyncio.Future[None]) -> None:
        """Take what is typed before one of these is done."""
        if self._typed_ahead:
            await self._type_some()
            return
        if self._reading is None:
            self._reading = asyncio.ensure_future(self._streams.read())
        awaited: list[asyncio.Future[Any]] = [self._reading, *ends]
        await asyncio.wait(awaited, return_when=asyncio.FIRST_COMPLETED)
        if not self._reading.done():
            return
        self._typed_ahead = self._reading.result()
        self._reading = None
        self._is_at_end = not self._typed_ahead
        await self._type_some()

    async def _type_some(self) -> None:
        await asyncio.sleep(0)  # others work between two pieces
        data, self._typed_ahead = self._typed_ahead[:_MAX_LINE], self._typed_ahead[_MAX_LINE:]
        await self._type(data)

    async def _type(self, data: bytes) -> None:
        echo = bytearray()
        for at, code in enumerate(data, 1):
            if code in (0x0A, 0x0D):
                self._lines.append(bytes(self._line) + b"\n")
                self._line.clear()
                echo += b"\r\n"
            elif code in _BACKSPACES:
                if self._line:
                    self._line.pop()
                    echo += b"\b \b"
            elif code == _INTERRUPT:
                self._line.clear()
                self._lines.clear()
                self._typed_ahead = data[at:] + self._typed_ahead
                await self._streams.write(STDOUT, bytes(echo) + b"^C\r\n")
                raise Interrupted
            elif code == _END:
                if not self._line:
                    self._lines.append(b"")
            elif len(self._line) < _MAX_LINE:
                self._line.append(code)
                echo.append(code)
        if echo:
            await self._streams.write(STDOUT, bytes(echo))
