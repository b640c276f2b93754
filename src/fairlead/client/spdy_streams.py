"""Streams to subresources of pods over SPDY, for servers that open no WebSockets."""

from __future__ import annotations

from collections.abc import Sequence

from fairlead.client.errors import ApiError, Unreachable
from fairlead.client.session import Request, Session
from fairlead.client.sockets import (
    SWITCHED,
    Target,
    path_of,
    protocol_names,
)
from fairlead.wire.byte_streams import PIECE, ByteStream
from fairlead.wire.outgoing.response import CallError
from fairlead.wire.outgoing.tunnel import Malformed
from fairlead.wire.outgoing.websocket import Piece
from fairlead.wire.spdy import PROTOCOL, data_frame
from fairlead.wire.spdy import Piece as SpdyPiece
from fairlead.wire.spdy import Session as SpdySession

# What servers answer that take no WebSocket, or for which it is another permission.
_REFUSALS = (400, 403, 405, 406, 426, 501)
_TELLING = (403, 404)  # what servers answer to SPDY that is about the pod
_CLOSE = 255  # the channel on which a WebSocket is told that another one ends
_VERSION = "v5.channel.@"  # what channels over SPDY can do: their input ends


class SpdyConnection:
    """The bytes of a connection that has switched to SPDY, received as from a WebSocket."""

    def __init__(self, stream: ByteStream) -> None:
        self.protocol = PROTOCOL.decode()
        self._stream = stream

    async def send(self, payload: bytes) -> None:
        """Raises CallError."""
        try:
            await self._stream.send(payload)
        except (OSError, RuntimeError) as error:
            raise CallError(f"the connection was lost: {error}") from None

    async def receive(self) -> list[Piece]:
        """What has arrived, nothing at the end; raises CallError."""
        try:
            data = await self._stream.reader.read(PIECE)
        except OSError as error:
            raise CallError(f"the connection was lost: {error}") from None
        return [(data, False)] if data else []

    async def close(self) -> None:
        self._stream.abort()


class SpdyChannels:
    """The streams of a command, sent and received as the channels of a WebSocket. `names` are their
    types by the numbers of the channels."""

    def __init__(self, connection: SpdyConnection, names: dict[int, str]) -> None:
        self.protocol = _VERSION
        self._connection = connection
        self._spdy = SpdySession()
        self._streams: dict[int, int] = {}  # by channel
        self._names = names
        self._open: set[int] = set()  # channels on which more may come

    async def begin(self, receives: Sequence[int]) -> None:
        """Open all streams; raises CallError."""
        frames = b""
        for channel, name in self._names.items():
            self._streams[channel], frame = self._spdy.open({"streamtype": name})
            frames += frame
        self._open = set(receives) & self._streams.keys()
        await self._connection.send(frames)

    async def send(self, payload: bytes) -> None:
        """Raises CallError."""
        channel, data = payload[0], payload[1:]
        if channel == _CLOSE:
            frame = data_frame(self._streams[data[0]], b"", ends=True)
        else:
            frame = data_frame(self._streams[channel], data)
        await self._connection.send(frame)

    async def receive(self) -> list[Piece]:
        """The next pieces, nothing when all streams have ended; raises CallError."""
        channels = {stream: channel for channel, stream in self._streams.items()}
        while self._open and not self._spdy.is_over:
            received = await self._connection.receive()
            if not received:
                break
            pieces: list[Piece] = []
            for data, _ in received:
                for piece in self._parsed(data):
                    channel = channels.get(piece.stream, _CLOSE)
                    pieces.append((bytes((channel,)) + piece.data, True))
                    if piece.ends:
                        self._open.discard(channel)
            if self._spdy.unsent:
                unsent, self._spdy.unsent = self._spdy.unsent, b""
                await self._connection.send(unsent)
            if pieces:
                return pieces
        return []

    def _parsed(self, data: bytes) -> Sequence[SpdyPiece]:
        try:
            return self._spdy.receive(data)
        except Malformed:
            raise CallError("the server sends what is no SPDY") from None

    async def close(self) -> None:
        await self._connection.close()


async def open_spdy(
    session: Session,
    target: Target,
    query: Sequence[tuple[str, str]],
    patterns: Sequence[str],
    refusal: ApiError,
) -> SpdyConnection:
    """Open a connection after a WebSocket was refused. Raises the refusal if it has another reason,
    or if the server does not speak SPDY either."""
    if refusal.code not in _REFUSALS:
        raise refusal
    names = protocol_names(patterns)
    upgrade = ["Connection: Upgrade", f"Upgrade: {PROTOCOL.decode()}"]
    upgrade += [f"X-Stream-Protocol-Version: {name}" for name in names]
    request = Request("POST", path_of(target), query, accept="*/*", upgrade=tuple(upgrade))
    try:
        async with session.open(request) as answer:
            spoken = answer.headers.get("x-stream-protocol-version", "")
            if answer.status == SWITCHED and spoken in names:
                return SpdyConnection(await answer.take_over())
    except (ApiError, Unreachable) as error:
        if isinstance(error, ApiError) and error.code in _TELLING:
            raise
        raise refusal from None
    raise refusal
