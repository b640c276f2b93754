"""Port forwarding to pods on simulated nodes.

Over SPDY, also inside of a WebSocket, a client opens two streams for each connection: one for data,
one for an error. Over a WebSocket with channels there is one connection for each port of the
request, and their channels begin with the number of the port.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress

from fairlead.api.answers import Answer
from fairlead.api.relay.forward import cancel_on_disconnect
from fairlead.api.relay.headers import (
    Field,
    offered_protocols,
    requested_protocol,
    websocket_headers,
)
from fairlead.api.request import Request
from fairlead.api.subresources.channels import Channels, agreed_protocol, channels_of
from fairlead.api.subresources.container_streams import (
    demand_websocket_key,
    spdy_headers,
    spdy_protocol,
    unexpected_protocol,
)
from fairlead.api.subresources.targets import PORT
from fairlead.base.errors import bad_request
from fairlead.base.slices import Turns
from fairlead.wire.byte_streams import PIECE, ByteStream, open_stream
from fairlead.wire.incoming.exchange import SWITCHING_PROTOCOLS, ClientGone
from fairlead.wire.incoming.websocket import BINARY, NORMAL, PONG, Incoming, closing, message
from fairlead.wire.outgoing.response import CallError
from fairlead.wire.outgoing.tunnel import Malformed
from fairlead.wire.spdy import ServerSession, data_frame, reset_frame

Connect = Callable[[int], Awaitable[ByteStream]]  # to a port; raises CallError
Send = Callable[[bytes], Awaitable[None]]

_TUNNEL = "SPDY/3.1+"
_SECONDS_TO_PART = 10.0  # for a client that reads nothing of the remaining data
_PARSED = 16 * 1024  # bytes that are parsed at once: they may be thousands of frames
_FEW_FRAMES = 64  # that are handled without a pause for others
_TURNS = Turns(8)  # of all clients that send: a turn may take some milliseconds
_MAX_CHANNEL_PORTS = 100  # a byte is the number of a channel


def forwarding_answer(
    request: Request, connect: Connect, ports: Sequence[int], domain: str
) -> Answer:
    """The answer that forwards connections. `ports` are those of the request, `domain` is part of
    the names of protocols. Raises StatusError."""
    protocol, name = requested_protocol(request).lower(), f"portforward.{domain}"
    if protocol == b"spdy/3.1":
        headers = spdy_headers(spdy_protocol(request, [name]))
        return _Forwarding(headers, _SpdySession(_Plain(), connect))
    if protocol != b"websocket":
        raise unexpected_protocol(protocol)
    demand_websocket_key(request)
    offers = offered_protocols(request)
    if f"{_TUNNEL}{name}" in offers:
        headers = websocket_headers(request, [f"{_TUNNEL}{name}"])
        return _Forwarding(headers, _SpdySession(_Messages(), connect))
    agreed = agreed_protocol(request, [f"v4.channel.{domain}", f"v4.base64.channel.{domain}"])
    if not ports:
        raise bad_request('query parameter "port" is required')
    if not all(ports) or len(ports) > _MAX_CHANNEL_PORTS:
        raise bad_request(f"ports must be > 0, and at most {_MAX_CHANNEL_PORTS}")
    headers = websocket_headers(request, [agreed] if agreed else [])
    channels = channels_of(agreed)
    return _Forwarding(headers, _ChannelSession(_Frames(), connect, ports, channels))


class _Forwarding(Answer):
    """Switches protocols, and forwards until the client disconnects."""

    __slots__ = ("_session",)

    def __init__(self, headers: list[Field], session: _Session) -> None:
        super().__init__(SWITCHING_PROTOCOLS, b"", "", tuple(headers))
        self._session = session

    async def send(self, request: Request) -> None:
        exchange = request.exchange
        exchange.interruptible = True

        async def hand_over(protocol: Callable[[], asyncio.Protocol]) -> None:
            exchange.hand_over(self.headers, protocol())

        with suppress(ClientGone, ConnectionError):
            stream = await open_stream(hand_over)
            try:
                with cancel_on_disconnect(request):
                    await self._session.run(stream)
                exchange.on_disconnect(_nothing)
                stream.writer.close()
                async with asyncio.timeout(_SECONDS_TO_PART):
                    await stream.writer.wait_closed()
            except TimeoutError:
                pass
            finally:
                stream.abort()


def _nothing() -> None:
    pass


class _Plain:
    """Bytes of the client's connection as they are."""

    def begin(self, stream: ByteStream) -> None:
        self._stream = stream

    async def receive(self) -> list[tuple[bytes, bool]]:
        """What has arrived, and whether it begins a message; empty at the end."""
        data = await self._stream.reader.read(_PARSED)
        await _TURNS.take()
        return [(data, True)] if data else []

    async def send(self, data: bytes) -> None:
        await self._stream.send(data)

    async def end(self) -> None: ...


class _Messages(_Plain):
    """The content of the messages of a WebSocket."""

    def begin(self, stream: ByteStream) -> None:
        super().begin(stream)
        self._incoming = Incoming(self._on_ping, self._on_close, self._on_data)
        self._received: list[tuple[bytes, bool]] = []
        self._pongs = b""
        self._is_over = False

    def _on_ping(self, payload: bytes) -> None:
        self._pongs += message(PONG, payload)

    def _on_close(self, code: int) -> None:
        self._is_over = True

    def _on_data(self, piece: bytes, begins: bool) -> None:
        self._received.append((piece, begins))

    async def receive(self) -> list[tuple[bytes, bool]]:
        while not self._received and not self._is_over:
            data = await self._stream.reader.read(_PARSED)
            await _TURNS.take()
            if not data:
                break
            self._incoming.receive(data)
            if self._pongs:
                pongs, self._pongs = self._pongs, b""
                await self._stream.send(pongs)
        received, self._received = self._received, []
        return received

    async def send(self, data: bytes) -> None:
        await self._stream.send(message(BINARY, data))

    async def end(self) -> None:
        await self._stream.send(closing(NORMAL))


class _Frames(_Messages):
    """The same, for what is sent as messages already."""

    async def send(self, data: bytes) -> None:
        await self._stream.send(data)


class _Connection:
    """A connection to a port. `ended` is called when it is over, with an error or an empty text."""

    def __init__(self, port: int, connect: Connect) -> None:
        self.port = port
        self._connect = connect
        self._opened: asyncio.Future[ByteStream | None] = asyncio.get_running_loop().create_future()

    async def run(self, send: Send, ended: Send) -> None:
        try:
            stream = await self._connect(self.port)
        except CallError as error:
            self._opened.set_result(None)
            await ended(str(error).encode())
            return
        self._opened.set_result(stream)
        try:
            with suppress(ConnectionError):
                while data := await stream.reader.read(PIECE):
                    await send(data)
        finally:
            stream.abort()
        await ended(b"")

    async def write(self, data: bytes, *, ends: bool = False) -> None:
        """Send data of the client; waits for the connection, and while the other side does not
        read. What comes after its end is dropped."""
        stream = await self._opened
        if stream is None or stream.writer.is_closing():
            return
        with suppress(ConnectionError):
            if data:
                await stream.send(data)
            if ends:
                stream.end()

    def abort(self) -> None:
        if self._opened.done() and (stream := self._opened.result()) is not None:
            stream.abort()


class _Session:
    """A client's connection and the connections to ports that it carries."""

    def __init__(self, client: _Plain, connect: Connect) -> None:
        self.client = client
        self.connect = connect
        self._tasks: set[asyncio.Task[None]] = set()
        self._handled = 0

    async def pause(self) -> None:
        """Let others work after some frames."""
        self._handled += 1
        if self._handled % _FEW_FRAMES == 0:
            await _TURNS.take()

    async def run(self, stream: ByteStream) -> None:
        """Forward until the client ends. Raises ConnectionError."""
        self.client.begin(stream)
        try:
            await self.serve()
            await self.client.end()
        finally:
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)

    async def serve(self) -> None:
        raise NotImplementedError

    def start(self, connection: _Connection, send: Send, ended: Send) -> None:
        task = asyncio.create_task(self._run(connection, send, ended))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    @staticmethod
    async def _run(connection: _Connection, send: Send, ended: Send) -> None:
        with suppress(ConnectionError):  # the client is gone
            await connection.run(send, ended)


class _SpdySession(_Session):
    def __init__(self, client: _Plain, connect: Connect) -> None:
        super().__init__(client, connect)
        self._spdy = ServerSession()
        self._halves: dict[str, dict[str, int]] = {}  # numbers of streams by type, by request
        self._connections: dict[int, _Connection] = {}  # by the number of the data stream

    async def serve(self) -> None:
        with suppress(Malformed):
            while not self._spdy.is_over and (received := await self.client.receive()):
                for data, _ in received:
                    await self._take(data)
                    await self.pause()

    async def _take(self, data: bytes) -> None:
        pieces = self._spdy.receive(data)
        if self._spdy.unsent:
            unsent, self._spdy.unsent = self._spdy.unsent, b""
            await self.client.send(unsent)
        for stream in self._spdy.take_new():
            await self._open(stream, self._spdy.opened[stream])
            await self.pause()
        for piece in pieces:
            connection = self._connections.get(piece.stream)
            if connection is not None:
                await connection.write(piece.data, ends=piece.ends)
            await self.pause()
        for stream in self._spdy.take_reset():
            if stream in self._connections:
                self._connections[stream].abort()

    async def _open(self, stream: int, headers: Mapping[str, str]) -> None:
        kind, port = headers.get("streamtype", ""), _port(headers.get("port", ""))
        request = headers.get("requestid") or str(stream if kind == "error" else stream - 2)
        half = self._halves.setdefault(request, {})
        if kind not in ("error", "data") or not port or kind in half:
            if not half:
                del self._halves[request]
            del self._spdy.opened[stream]
            await self.client.send(reset_frame(stream))
            return
        half[kind] = stream
        if len(half) == 2:
            del self._halves[request]
            self._forward(half["data"], half["error"], port)

    def _forward(self, data: int, error: int, port: int) -> None:
        async def send(piece: bytes) -> None:
            await self.client.send(data_frame(data, piece))

        async def ended(text: bytes) -> None:
            for stream in (data, error):
                self._spdy.opened.pop(stream, None)
            del self._connections[data]
            frame = data_frame(error, text, ends=True)
            await self.client.send(frame + data_frame(data, b"", ends=True))

        connection = self._connections[data] = _Connection(port, self.connect)
        self.start(connection, send, ended)


def _port(text: str) -> int:
    """The number of a port, 0 if it is none."""
    return int(text) if PORT.match(text) and int(text) < 65536 else 0


class _ChannelSession(_Session):
    """Data of the port with the index i is on channel 2i, its error on channel 2i + 1."""

    def __init__(
        self, client: _Frames, connect: Connect, ports: Sequence[int], channels: Channels
    ) -> None:
        super().__init__(client, connect)
        self._ports = ports
        self._channels = channels
        self._connections: list[_Connection] = []

    async def serve(self) -> None:
        for index, port in enumerate(self._ports):
            number = port.to_bytes(2, "little")
            await self._channel(2 * index)(number)
            await self._channel(2 * index + 1)(number)
            connection = _Connection(port, self.connect)
            self._connections.append(connection)
            self.start(connection, self._channel(2 * index), self._ended(2 * index + 1))
        receiving = asyncio.create_task(self._receive())
        connections = asyncio.gather(*self._tasks)
        try:
            await asyncio.wait((receiving, connections), return_when=asyncio.FIRST_COMPLETED)
        finally:
            receiving.cancel()
            connections.cancel()
            await asyncio.gather(receiving, connections, return_exceptions=True)

    def _channel(self, number: int) -> Send:
        return lambda data: self.client.send(self._channels.message(number, data))

    def _ended(self, channel: int) -> Send:
        async def ended(text: bytes) -> None:
            if text:
                await self._channel(channel)(text)

        return ended

    async def _receive(self) -> None:
        while received := await self.client.receive():
            for piece, begins in received:
                channel, data = self._channels.take(piece, begins)
                is_data = channel >= 0 and channel % 2 == 0
                if data and is_data and channel // 2 < len(self._connections):
                    await self._connections[channel // 2].write(data)
                await self.pause()
