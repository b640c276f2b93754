"""Connections to the ports of a pod.

Servers from release 1.30 on carry SPDY in a WebSocket: one for all connections, each of which has a
stream for data and one for an error. Others take a WebSocket for each connection, whose messages
begin with the number of their channel, and cannot be told that one direction has ended. With those
that open none, SPDY is spoken without a WebSocket.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import Protocol

from fairlead.client.errors import ApiError, Unreachable
from fairlead.client.session import Session
from fairlead.client.sockets import Socket, open_socket
from fairlead.client.spdy_streams import open_spdy
from fairlead.wire.byte_streams import PIECE, ByteStream
from fairlead.wire.outgoing.response import CallError
from fairlead.wire.outgoing.tunnel import Malformed
from fairlead.wire.outgoing.websocket import Piece, WebSocket
from fairlead.wire.spdy import Piece as SpdyPiece
from fairlead.wire.spdy import Session as SpdySession
from fairlead.wire.spdy import data_frame, reset_frame

_TUNNEL, _CHANNELS = "SPDY/3.1+portforward.@", "v4.channel.@"
_OVER_SPDY = "portforward.@"
_DATA, _ERROR = 0, 1  # channels
_PORT_BYTES = 2  # with which each channel begins
_MAX_UNREAD = 256 * 1024  # bytes of a connection that nobody has read
_MAX_ERROR = 64 * 1024
_SECONDS_OF_SILENCE = 10.0  # after the end of our direction, where it cannot be told
_SECONDS_FOR_ERROR = 1.0
_PIECE = 32 * 1024


class ForwardingError(Exception):
    """The pod does not take a connection, or has broken it off; the text is the server's."""


class PortConnection(Protocol):
    """A connection to a port of a pod."""

    async def read(self) -> bytes:
        """What has arrived, b"" at the end; raises ForwardingError."""

    async def write(self, data: bytes) -> None:
        """Raises ForwardingError."""

    async def end(self) -> None:
        """Send nothing more."""

    async def close(self) -> None: ...


class _Stream:
    """The two streams of a connection in a tunnel."""

    def __init__(self, tunnel: _Tunnel, data: int, error: int) -> None:
        self._tunnel = tunnel
        self.data, self.error = data, error
        self._ended: set[int] = set()
        self._unread = bytearray()
        self._text = b""  # of the error
        self._arrived, self._has_room = asyncio.Event(), asyncio.Event()
        self._is_closed = False

    async def take(self, piece: SpdyPiece) -> None:
        """Waits while too much is unread."""
        if piece.ends:
            self._ended.add(piece.stream)
        if piece.stream == self.error:
            self._text += piece.data[: _MAX_ERROR - len(self._text)]
        elif not self._is_closed:
            self._unread += piece.data
        self._arrived.set()
        while len(self._unread) > _MAX_UNREAD and not self._is_closed:
            self._has_room.clear()
            await self._has_room.wait()

    def lose(self) -> None:
        """The tunnel has ended."""
        if not {self.data, self.error} <= self._ended:
            self._text = self._text or b"the connection to the pod was lost"
            self._ended = {self.data, self.error}
        self._arrived.set()

    async def read(self) -> bytes:
        await self._until(self.data)
        data = bytes(self._unread)
        self._unread.clear()
        self._has_room.set()
        if not data:
            with suppress(TimeoutError):  # the error may come behind the end of the data
                async with asyncio.timeout(_SECONDS_FOR_ERROR):
                    await self._until(self.error)
            if self._text:
                raise ForwardingError(self._text.decode(errors="replace"))
        return data

    async def _until(self, stream: int) -> None:
        """Until there is data, or a stream has ended."""
        while not self._unread and stream not in self._ended:
            if self.error in self._ended and self._text:
                return
            self._arrived.clear()
            await self._arrived.wait()

    async def write(self, data: bytes) -> None:
        for start in range(0, len(data), _PIECE):
            await self._tunnel.send(data_frame(self.data, data[start : start + _PIECE]))

    async def end(self) -> None:
        if self.data not in self._ended:
            await self._tunnel.send(data_frame(self.data, b"", ends=True))

    async def close(self) -> None:
        """Break off what has not ended."""
        self._is_closed = True
        self._unread.clear()
        self._has_room.set()
        self._tunnel.remove(self)
        if self.data not in self._ended:
            with suppress(ForwardingError):
                await self._tunnel.send(reset_frame(self.data) + reset_frame(self.error))


class _Tunnel:
    """All connections in one WebSocket, or in a connection that speaks SPDY."""

    def __init__(self, socket: Socket) -> None:
        self._socket = socket
        self._spdy = SpdySession()
        self._streams: dict[int, _Stream] = {}
        self._requests = 0
        self.reading = asyncio.create_task(self._read())

    async def connect(self, port: int) -> _Stream:
        self._requests += 1
        common = {"port": str(port), "requestid": str(self._requests)}
        error, opening = self._spdy.open({"streamtype": "error", **common})
        data, second = self._spdy.open({"streamtype": "data", **common})
        stream = _Stream(self, data, error)
        self._streams |= {data: stream, error: stream}
        await self.send(opening + data_frame(error, b"", ends=True) + second)
        return stream

    async def send(self, frames: bytes) -> None:
        try:
            if self.reading.done():
                raise CallError("it has ended")
            await self._socket.send(frames)
        except CallError as error:
            raise ForwardingError(f"the connection to the pod was lost: {error}") from None

    def remove(self, stream: _Stream) -> None:
        for number in (stream.data, stream.error):
            self._streams.pop(number, None)

    async def _read(self) -> None:
        try:
            with suppress(CallError, Malformed):
                while not self._spdy.is_over and (pieces := await self._socket.receive()):
                    await self._take(pieces)
        finally:
            for stream in set(self._streams.values()):
                stream.lose()

    async def _take(self, pieces: list[Piece]) -> None:
        for data, _ in pieces:
            for piece in self._spdy.receive(data):
                stream = self._streams.get(piece.stream)
                if stream is not None:
                    await stream.take(piece)
            if self._spdy.unsent:
                unsent, self._spdy.unsent = self._spdy.unsent, b""
                await self._socket.send(unsent)

    async def close(self) -> None:
        self.reading.cancel()
        await asyncio.gather(self.reading, return_exceptions=True)
        await self._socket.close()


class _ChannelConnection:
    """A WebSocket for one connection."""

    def __init__(self, socket: WebSocket) -> None:
        self._socket = socket
        self._pending: list[bytes] = []
        self._skipped = {_DATA: 0, _ERROR: 0}  # bytes of the port numbers
        self._channel = -1
        self._error = b""
        self._patience: float | None = None

    async def read(self) -> bytes:
        try:
            async with asyncio.timeout(self._patience):
                while not self._pending:
                    if not (pieces := await self._socket.receive()):
                        break
                    for data, begins in pieces:
                        self._take(data, begins)
        except TimeoutError:
            return b""
        except CallError as error:
            raise ForwardingError(f"the connection to the pod was lost: {error}") from None
        if not self._pending and self._error:
            raise ForwardingError(self._error.decode(errors="replace"))
        data, self._pending = b"".join(self._pending), []
        return data

    def _take(self, data: bytes, begins: bool) -> None:
        if begins:
            self._channel, data = data[0], data[1:]
        if self._channel not in self._skipped:
            return
        skipped = min(_PORT_BYTES - self._skipped[self._channel], len(data))
        self._skipped[self._channel] += skipped
        if not (data := data[skipped:]):
            return
        if self._channel == _DATA:
            self._pending.append(data)
        else:
            self._error += data[: _MAX_ERROR - len(self._error)]

    async def write(self, data: bytes) -> None:
        for start in range(0, len(data), _PIECE):
            try:
                await self._socket.send(bytes((_DATA,)) + data[start : start + _PIECE])
            except CallError as error:
                raise ForwardingError(f"the connection to the pod was lost: {error}") from None

    async def end(self) -> None:
        self._patience = _SECONDS_OF_SILENCE

    async def close(self) -> None:
        await self._socket.close()


class PortForward:
    """Connects to ports of one pod. `on_connection` is called with the port for each connection to
    a local port, `on_error` also with a text if it fails."""

    def __init__(self, session: Session, namespace: str, pod: str) -> None:
        self.on_connection: Callable[[int], None] = lambda port: None
        self.on_error: Callable[[int, str], Awaitable[None]] = _nothing
        self._session = session
        self._target = (namespace, pod, "portforward")
        self._tunnel: _Tunnel | None = None
        self._listeners: list[asyncio.Server] = []
        self._tasks: set[asyncio.Task[None]] = set()

    async def begin(self, port: int) -> None:
        """Find out what the server speaks; raises ApiError, Unreachable and AccessError."""
        query = [("ports", str(port))]
        try:
            socket: Socket = await self._open(port, _TUNNEL, _CHANNELS)
        except ApiError as refusal:
            socket = await open_spdy(self._session, self._target, query, (_OVER_SPDY,), refusal)
        if socket.protocol.startswith(_TUNNEL.partition("+")[0]):
            self._tunnel = _Tunnel(socket)
        else:
            await socket.close()

    async def _open(self, port: int, *patterns: str) -> WebSocket:
        return await open_socket(self._session, self._target, [("ports", str(port))], patterns)

    async def lost(self) -> None:
        """Wait until the connection to the server is lost. Where each connection has one of its
        own, forever."""
        if self._tunnel is None:
            await asyncio.get_running_loop().create_future()
        else:
            await asyncio.wait([self._tunnel.reading])

    async def connect(self, port: int) -> PortConnection:
        """A connection to a port of the pod; raises ForwardingError. Whether the pod takes it turns
        out when it is read."""
        if self._tunnel is not None:
            return await self._tunnel.connect(port)
        try:
            return _ChannelConnection(await self._open(port, _CHANNELS))
        except (ApiError, Unreachable) as error:
            raise ForwardingError(str(error)) from None

    async def listen(self, port: int, local: int = 0, address: str = "127.0.0.1") -> int:
        """Forward connections to a local port, by default a free one, and return its number. Raises
        OSError if it is in use."""

        async def accepted(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = asyncio.current_task()
            assert task is not None
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
            with suppress(asyncio.CancelledError):  # at the end of the forwarding
                await self._forward(port, ByteStream(reader, writer))

        listener = await asyncio.start_server(accepted, address, local)
        self._listeners.append(listener)
        number: int = listener.sockets[0].getsockname()[1]
        return number

    async def _forward(self, port: int, local: ByteStream) -> None:
        self.on_connection(port)
        try:
            connection = await self.connect(port)
            try:
                await _join(local, connection)
            finally:
                await connection.close()
        except (ForwardingError, ConnectionError) as error:
            if isinstance(error, ForwardingError):
                await self.on_error(port, str(error))
        finally:
            local.abort()

    async def close(self) -> None:
        for listener in self._listeners:
            listener.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._tunnel is not None:
            await self._tunnel.close()


async def _nothing(port: int, text: str) -> None:
    pass


async def _join(local: ByteStream, remote: PortConnection) -> None:
    """Pass on bytes until the pod has ended, or the local side breaks off. Raises ForwardingError
    and ConnectionError."""
    sending = asyncio.create_task(_send(local, remote))
    receiving = asyncio.create_task(_receive(local, remote))
    try:
        await asyncio.wait((sending, receiving), return_when=asyncio.FIRST_EXCEPTION)
        for task in (receiving, sending):
            if task.done():
                task.result()
    finally:
        for task in (sending, receiving):
            task.cancel()
        await asyncio.gather(sending, receiving, return_exceptions=True)


async def _receive(local: ByteStream, remote: PortConnection) -> None:
    while data := await remote.read():
        await local.send(data)
    local.writer.close()
    await local.writer.wait_closed()


async def _send(local: ByteStream, remote: PortConnection) -> None:
    while data := await local.reader.read(PIECE):
        await remote.write(data)
    await remote.end()


@asynccontextmanager
async def open_forward(
    session: Session, namespace: str, pod: str, port: int
) -> AsyncIterator[PortForward]:
    """Connect to a pod, at first for one of its ports. Everything ends with the block."""
    forward = PortForward(session, namespace, pod)
    try:
        await forward.begin(port)
        yield forward
    finally:
        await forward.close()
