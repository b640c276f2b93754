"""The terminal of a command (`kubectl exec -it`): echoes and edits what is typed, line by line."""

from __future__ import annotations

import asyncio

from fairlead.controllers.simulation.runtime.process import STDOUT
from fairlead.operations.api import CommandStreams

_INTERRUPT, _END, _BACKSPACES = 0x03, 0x04, (0x08, 0x7F)
_MAX_LINE = 4096
INTERRUPTED = 130  # the exit code of a program that Ctrl-C ended


class Interrupted(Exception):
    """Ctrl-C was typed."""


class Terminal:
    """Stands between a program and the streams of a client. Raises Interrupted where the program
    waits for input."""

    def __init__(self, streams: CommandStreams) -> None:
        self._streams = streams
        self._line = bytearray()
        self._lines: list[bytes] = []

    async def write(self, stream: int, data: bytes) -> None:
        await self._streams.write(STDOUT, data.replace(b"\n", b"\r\n"))

    async def read(self) -> bytes:
        while not self._lines:
            data = await self._streams.read()
            if not data:
                return b""
            await self._type(data)
        return self._lines.pop(0)

    async def _type(self, data: bytes) -> None:
        echo = bytearray()
        for code in data:
            if code in (0x0A, 0x0D):
                self._lines.append(bytes(self._line) + b"\n")
                self._line.clear()
                echo += b"\r\n"
            elif code in _BACKSPACES:
                if self._line:
                    self._line.pop()
                    echo += b"\b \b"
            elif code == _INTERRUPT:
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
        await asyncio.sleep(0)
