"""Commands in containers: exec and attach, over a WebSocket whose messages begin with the number of
their stream, or over SPDY where a server opens none."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

import orjson

from fairlead.client import spdy_streams
from fairlead.client.errors import ApiError, Unreachable, error_of_status
from fairlead.client.session import Session
from fairlead.client.sockets import Socket, Target, open_socket
from fairlead.wire.outgoing.response import CallError

STDOUT, STDERR = 1, 2
_STDIN, _ERROR, _RESIZE, _CLOSE = 0, 3, 4, 255
_CLOSING = "v5."  # versions from this one on can close the input
_VERSIONS = ("v5.channel.@", "v4.channel.@")
_OVER_SPDY = ("v4.channel.@",)
_MAX_MESSAGE = 32 * 1024  # bytes of input
_MAX_RESULT = 1024 * 1024


class Outcome(NamedTuple):
    """What a command has written, and its exit code."""

    code: int
    stdout: bytes
    stderr: bytes


class Streams(NamedTuple):
    """The streams of a command. A terminal has no stream of errors of its own."""

    stdin: bool = False
    stdout: bool = True
    stderr: bool = True
    tty: bool = False

    def query(self) -> list[tuple[str, str]]:
        return [(name, "true") for name, is_wanted in self._asdict().items() if is_wanted]

    def names(self) -> dict[int, str]:
        """The names of the streams by the numbers of their channels, in the order of SPDY."""
        wanted = {
            _ERROR: ("error", True),
            _STDIN: ("stdin", self.stdin),
            STDOUT: ("stdout", self.stdout),
            STDERR: ("stderr", self.stderr),
            _RESIZE: ("resize", self.tty),
        }
        return {channel: name for channel, (name, is_wanted) in wanted.items() if is_wanted}


class RemoteProcess:
    """A running command. Its output must be read: otherwise the server waits."""

    def __init__(self, socket: Socket) -> None:
        self._socket = socket
        self._channel = -1
        self._pending: list[tuple[int, bytes]] = []
        self._result = b""

    async def write(self, data: bytes) -> None:
        """Send input; waits while the server does not read. Raises Unreachable."""
        for start in range(0, len(data), _MAX_MESSAGE):
            await self._send(_STDIN, data[start : start + _MAX_MESSAGE])

    async def end_input(self) -> None:
        """End the input. Servers before release 1.30 cannot be told, and their commands wait for
        more."""
        if self._socket.protocol.startswith(_CLOSING):
            await self._send(_CLOSE, bytes((_STDIN,)))

    async def resize(self, columns: int, rows: int) -> None:
        """Tell the size of the terminal."""
        await self._send(_RESIZE, orjson.dumps({"Width": columns, "Height": rows}))

    async def _send(self, channel: int, data: bytes) -> None:
        try:
            await self._socket.send(bytes((channel,)) + data)
        except CallError as error:
            raise Unreachable(str(error), sent=True) from None

    async def read(self) -> tuple[int, bytes] | None:
        """The next output, STDOUT or STDERR and its bytes; None when the command has ended. Raises
        Unreachable if the connection is cut off before that."""
        while not self._pending:
            try:
                pieces = await self._socket.receive()
            except CallError as error:
                if self._result:
                    return None
                raise Unreachable(str(error), sent=True) from None
            if not pieces:
                return None
            for data, begins in pieces:
                self._take(data, begins)
        return self._pending.pop(0)

    def _take(self, data: bytes, begins: bool) -> None:
        if begins:
            self._channel, data = data[0], data[1:]
        if self._channel in (STDOUT, STDERR) and data:
            self._pending.append((self._channel, data))
        elif self._channel == _ERROR and len(self._result) < _MAX_RESULT:
            self._result += data

    async def wait(self) -> int:
        """The exit code, when the command has ended; output that is not read yet is dropped. Raises
        ApiError if it could not be run, and Unreachable if the connection ended before."""
        while await self.read() is not None:
            pass
        try:
            status = orjson.loads(self._result)
        except orjson.JSONDecodeError:
            status = None
        if not isinstance(status, dict):
            raise Unreachable("the connection ended before the command", sent=True)
        if status.get("status") == "Success":
            return 0
        code = _exit_code(status)
        if code is None:
            raise error_of_status(status)
        return code

    async def communicate(self, stdin: bytes | None = None) -> Outcome:
        """Send all the input, and return the output and the exit code."""
        feeding = asyncio.create_task(self._feed(stdin)) if stdin is not None else None
        written: dict[int, list[bytes]] = {STDOUT: [], STDERR: []}
        try:
            while (piece := await self.read()) is not None:
                written[piece[0]].append(piece[1])
        finally:
            if feeding is not None:
                feeding.cancel()
                await asyncio.gather(feeding, return_exceptions=True)
        return Outcome(await self.wait(), b"".join(written[STDOUT]), b"".join(written[STDERR]))

    async def _feed(self, stdin: bytes) -> None:
        await self.write(stdin)
        await self.end_input()

    async def close(self) -> None:
        await self._socket.close()


def _exit_code(status: dict[str, Any]) -> int | None:
    if status.get("reason") != "NonZeroExitCode":
        return None
    details = status.get("details")
    causes = details.get("causes") if isinstance(details, dict) else None
    for cause in causes if isinstance(causes, list) else ():
        if isinstance(cause, dict) and cause.get("reason") == "ExitCode":
            text = str(cause.get("message"))
            return int(text) if text.isascii() and text.isdigit() else None
    return None


async def _opened(
    session: Session, target: Target, query: list[tuple[str, str]], streams: Streams
) -> Socket:
    try:
        return await open_socket(session, target, query, _VERSIONS)
    except ApiError as refusal:
        connection = await spdy_streams.open_spdy(session, target, query, _OVER_SPDY, refusal)
        channels = spdy_streams.SpdyChannels(connection, streams.names())
        await channels.begin((STDOUT, STDERR, _ERROR))
        return channels


@asynccontextmanager
async def open_process(
    session: Session,
    target: Target,
    query: list[tuple[str, str]],
    streams: Streams,
) -> AsyncIterator[RemoteProcess]:
    """Start a command, or attach to one; see `open_socket`. The connection ends with the block."""
    process = RemoteProcess(await _opened(session, target, [*query, *streams.query()], streams))
    try:
        yield process
    finally:
        await process.close()
