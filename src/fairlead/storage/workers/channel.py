"""Messages between the processes of one server, over a unix socket.

A message is a tuple of types supported by `marshal`. All processes are forked from one parent, so
they run the same interpreter; processes of other users are rejected.
"""

from __future__ import annotations

import asyncio
import marshal
import os
import socket
import struct
from collections.abc import Callable
from typing import Any, cast

Message = tuple[Any, ...]

MAX_FRAME = 256 << 20  # a longer frame is a protocol error
MAX_UNREAD = 64 << 20  # unsent bytes before the connection is aborted
_HIGH_WATER = 1 << 20
_LENGTH = struct.Struct("=I")
_CREDENTIALS = struct.Struct("=iII")


def framed(message: Message) -> bytes:
    content = marshal.dumps(message)
    return _LENGTH.pack(len(content)) + content


class Channel(asyncio.Protocol):
    """One connection. Messages sent in one iteration of the event loop are written together.
    `on_message` is called with every message, `on_lost` when the connection ends."""

    def __init__(
        self,
        on_message: Callable[[Channel, Message], None],
        on_lost: Callable[[Channel], None],
        on_accepted: Callable[[Channel], None] | None = None,
    ) -> None:
        self._on_message = on_message
        self._on_lost = on_lost
        self._on_accepted = on_accepted
        self._buffer = bytearray()
        self._outgoing: list[bytes] = []
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._writable = asyncio.Event()
        self._writable.set()

    @property
    def is_open(self) -> bool:
        return self._transport is not None and not self._transport.is_closing()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        if not is_own(transport.get_extra_info("socket")):
            self._transport.abort()
            return
        self._transport.set_write_buffer_limits(high=_HIGH_WATER)
        if self._on_accepted is not None:
            self._on_accepted(self)

    def data_received(self, data: bytes) -> None:
        buffer = self._buffer
        buffer += data
        position, size, head = 0, len(buffer), _LENGTH.size
        messages: list[Message] = []
        while size - position >= head:
            length = _LENGTH.unpack_from(buffer, position)[0]
            if length > MAX_FRAME:
                self.close()
                return
            if size - position - head < length:
                break
            position += head + length
            with memoryview(buffer) as view, view[position - length : position] as frame:
                messages.append(marshal.loads(frame))
        if position:
            del buffer[:position]
        for message in messages:
            self._on_message(self, message)

    def send(self, message: Message) -> None:
        self.send_frame(framed(message))

    def send_frame(self, frame: bytes) -> None:
        """Send a frame that was encoded once for several channels."""
        if not self._outgoing:
            self._loop.call_soon(self._flush)
        self._outgoing.append(frame)

    def _flush(self) -> None:
        frames, self._outgoing = self._outgoing, []
        transport = self._transport
        if transport is None or transport.is_closing():
            return
        transport.write(b"".join(frames) if len(frames) > 1 else frames[0])
        if transport.get_write_buffer_size() > MAX_UNREAD:
            transport.abort()

    def pause_writing(self) -> None:
        self._writable.clear()

    def resume_writing(self) -> None:
        self._writable.set()

    async def drain(self) -> None:
        """Wait until the write buffer is below its high-water mark."""
        await asyncio.sleep(0)
        await self._writable.wait()

    def pause_reading(self) -> None:
        if self.is_open:
            cast(asyncio.Transport, self._transport).pause_reading()

    def resume_reading(self) -> None:
        if self.is_open:
            cast(asyncio.Transport, self._transport).resume_reading()

    def connection_lost(self, error: Exception | None) -> None:
        self._writable.set()
        self._on_lost(self)

    def close(self) -> None:
        if self._transport is not None:
            self._transport.abort()


def is_own(peer: socket.socket) -> bool:
    """Whether the peer of a unix socket is a process of the same user."""
    raw = peer.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    uid: int = _CREDENTIALS.unpack(raw)[1]
    return uid == os.geteuid()
