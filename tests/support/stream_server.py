"""An API server that does nothing but WebSockets to pods, as a test scripts them: of any release,
and broken in any way."""

from __future__ import annotations

import base64
import hashlib
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from fairlead.client import Access
from fairlead.client.access.loader import load_access
from support.extension import Caller, fields
from support.web_sockets import BINARY, CLOSE

_GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"


class ServerSocket:
    """The server's end of a WebSocket."""

    def __init__(self, caller: Caller, head: bytes) -> None:
        self.caller = caller
        self.path = head.split(b" ")[1].decode()
        self.offers = fields(head, "sec-websocket-protocol")[0].split(", ")
        self._key = fields(head, "sec-websocket-key")[0].encode()

    def accept(self, protocol: str, key: bytes = b"") -> None:
        assert protocol in self.offers
        digest = base64.b64encode(hashlib.sha1((key or self._key) + _GUID).digest()).decode()
        self.caller.say(
            "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
            f"Sec-WebSocket-Accept: {digest}\r\nSec-WebSocket-Protocol: {protocol}\r\n\r\n".encode()
        )

    def frame(self, opcode: int, payload: bytes) -> None:
        size = len(payload)
        length = bytes((size,)) if size < 126 else b"\x7e" + size.to_bytes(2, "big")
        self.caller.say(bytes((0x80 | opcode,)) + length + payload)

    def send(self, channel: int, data: bytes) -> None:
        self.frame(BINARY, bytes((channel,)) + data)

    def next(self) -> tuple[int, bytes]:
        """The opcode and the payload of the client's next frame; it must be masked."""
        first, second = self.caller.take(2)
        assert second & 0x80
        size = second & 0x7F
        if size > 125:
            size = int.from_bytes(self.caller.take(2 if size == 126 else 8), "big")
        mask, payload = self.caller.take(4), self.caller.take(size)
        plain = bytes(byte ^ mask[index % 4] for index, byte in enumerate(payload))
        return first & 0x0F, plain

    def close(self) -> None:
        self.frame(CLOSE, b"\x03\xe8")


Script = Callable[[ServerSocket], None]


class StreamServer:
    """Runs a script for each connection. `paths` are those of the requests."""

    def __init__(self, script: Script) -> None:
        self._script = script
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self.paths: list[str] = []
        self.failures: list[Exception] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                sock, _ = self._listener.accept()
                sock.settimeout(30)
                threading.Thread(target=self._talk, args=(sock,), daemon=True).start()

    def _talk(self, sock: socket.socket) -> None:
        with sock, suppress(OSError):
            caller = Caller(sock)
            if head := caller.head():
                socket_end = ServerSocket(caller, head)
                self.paths.append(socket_end.path)
                try:
                    self._script(socket_end)
                except (AssertionError, LookupError, ValueError) as error:
                    self.failures.append(error)

    def access(self) -> Access:
        return load_access(None, cluster_fields={"server": self.address}, namespace="space")

    def close(self) -> None:
        self._listener.close()


@contextmanager
def stream_server(script: Script) -> Iterator[StreamServer]:
    server = StreamServer(script)
    try:
        yield server
    finally:
        server.close()
    assert server.failures == []
