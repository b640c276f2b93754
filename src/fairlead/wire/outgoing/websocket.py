"""The client's end of a WebSocket (RFC 6455)."""

from __future__ import annotations

import asyncio
import os
from base64 import b64encode
from contextlib import suppress

from fairlead.wire.byte_streams import PIECE, ByteStream
from fairlead.wire.incoming.websocket import (
    BINARY,
    CLOSE,
    NORMAL,
    PONG,
    VERSION,
    Incoming,
    acceptance,
    masked,
    message,
)
from fairlead.wire.outgoing.response import CallError

_KEY_BYTES = 16
_MASK_BYTES = 4
_MASKED = 0x80
_SECONDS_TO_PART = 1.0  # for the other side to read what is left
# A piece of a message, and whether it begins one.
Piece = tuple[bytes, bool]


def new_key() -> str:
    """A value for Sec-WebSocket-Key."""
    return b64encode(os.urandom(_KEY_BYTES)).decode()


def request_headers(key: str, protocols: tuple[str, ...]) -> list[str]:
    """The header lines with which a request asks for a WebSocket."""
    return [
        "Connection: Upgrade",
        "Upgrade: websocket",
        f"Sec-WebSocket-Version: {VERSION.decode()}",
        f"Sec-WebSocket-Key: {key}",
        f"Sec-WebSocket-Protocol: {', '.join(protocols)}",
    ]


def accepts(key: str, answer: bytes) -> bool:
    """Whether `answer` is the Sec-WebSocket-Accept for a key."""
    return answer == acceptance(key.encode())


def _client_frame(opcode: int, payload: bytes) -> bytes:
    """Encode a message as one masked frame."""
    head = message(opcode, payload)[: -len(payload) or None]
    mask = os.urandom(_MASK_BYTES)
    return b"".join((head[:1], bytes((head[1] | _MASKED,)), head[2:], mask, masked(mask, payload)))


class WebSocket:
    """A connection that has switched to a protocol. Pings are answered while it is read."""

    def __init__(self, stream: ByteStream, protocol: str) -> None:
        self.protocol = protocol
        self._stream = stream
        self._incoming = Incoming(self._on_ping, self._on_close, self._on_data, is_masked=False)
        self._received: list[Piece] = []
        self._pongs = b""
        self.is_closed = False  # the other side has said that it is over

    async def send(self, payload: bytes) -> None:
        """Send a message; waits while the other side does not read. Raises CallError."""
        try:
            await self._stream.send(_client_frame(BINARY, payload))
        except (OSError, RuntimeError) as error:
            raise CallError(f"the connection was lost: {error}") from None

    async def receive(self) -> list[Piece]:
        """The pieces that have arrived, none at the end. Raises CallError if the connection is cut
        off."""
        while not self._received and not self.is_closed:
            try:
                data = await self._stream.reader.read(PIECE)
            except OSError as error:
                raise CallError(f"the connection was lost: {error}") from None
            if not data:
                raise CallError("the connection was cut off")
            self._incoming.receive(data)
            if self._pongs:
                pongs, self._pongs = self._pongs, b""
                with suppress(OSError, RuntimeError):
                    await self._stream.send(pongs)
        received, self._received = self._received, []
        return received

    def _on_ping(self, payload: bytes) -> None:
        self._pongs += _client_frame(PONG, payload)

    def _on_close(self, code: int) -> None:
        self.is_closed = True

    def _on_data(self, piece: bytes, begins: bool) -> None:
        self._received.append((piece, begins))

    async def close(self) -> None:
        """Say that it is over, and end the connection."""
        writer = self._stream.writer
        try:
            with suppress(OSError, RuntimeError):  # includes TimeoutError
                async with asyncio.timeout(_SECONDS_TO_PART):
                    await self._stream.send(_client_frame(CLOSE, NORMAL.to_bytes(2, "big")))
                    writer.close()
                    await writer.wait_closed()
        finally:
            self._stream.abort()
