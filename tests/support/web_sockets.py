"""WebSocket clients that control exactly which frames are sent."""

from __future__ import annotations

import json
from types import TracebackType
from typing import Any

from support.client import ADMIN_TOKEN
from support.process import ServerProcess
from support.upgrading import changed
from support.wire import Wire

TEXT, BINARY, CLOSE, PING, PONG = 1, 2, 8, 9, 10
_MASK = b"\x11\x22\x33\x44"
ORIGIN, KEY = "Origin: https://x", "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=="
HELLO = ("Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13")
TOKEN = f"Authorization: Bearer {ADMIN_TOKEN}"
Frame = tuple[int, bytes]


def frame(opcode: int, payload: bytes = b"") -> bytes:
    """Encode a frame as clients send it."""
    size = len(payload)
    length = bytes((0x80 | size,)) if size < 126 else b"\xfe" + size.to_bytes(2, "big")
    masked = bytes(byte ^ _MASK[index % 4] for index, byte in enumerate(payload))
    return bytes((0x80 | opcode,)) + length + _MASK + masked


class WebSocket:
    """The client's end. `early` is sent right after the header."""

    def __init__(
        self,
        server: ServerProcess,
        path: str,
        *headers: str,
        hello: tuple[str, ...] = (*HELLO, ORIGIN, KEY, TOKEN),
        early: bytes = b"",
    ) -> None:
        self.wire = Wire(server)
        lines = "".join(f"{line}\r\n" for line in ("Host: x", *hello, *headers))
        self.wire.send(f"GET {path} HTTP/1.1\r\n{lines}\r\n".encode() + early)
        self._data = changed(self.wire)

    @property
    def head(self) -> str:
        return self.wire.head.decode().lower() + "\r\n"

    def send(self, opcode: int, payload: bytes = b"") -> None:
        self.wire.send(frame(opcode, payload))

    def next(self) -> Frame:
        """Return the opcode and payload of the next frame. Servers neither mask nor split."""
        first, size = self._take(2)
        assert first & 0x80
        if size > 125:
            size = int.from_bytes(self._take(2 if size == 126 else 8), "big")
        return first & 0x0F, self._take(size)

    def event(self) -> Any:
        opcode, payload = self.next()
        assert opcode == TEXT, (opcode, payload)
        return json.loads(payload)

    def names(self, count: int) -> list[tuple[str, str]]:
        results = [self.event() for _ in range(count)]
        return [(event["type"], event["object"]["metadata"]["name"]) for event in results]

    @property
    def is_closed(self) -> bool:
        """Return whether the connection ends without further data."""
        return not self._data and self.wire.is_closed

    def _take(self, size: int) -> bytes:
        while len(self._data) < size:
            more = self.wire.sock.recv(65536)
            assert more, "the server closed the connection"
            self._data += more
        taken, self._data = self._data[:size], self._data[size:]
        return taken

    def __enter__(self) -> WebSocket:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.wire.close()
