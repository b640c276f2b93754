"""Connections that control exactly which bytes are sent."""

from __future__ import annotations

import re
import socket
import ssl
from types import TracebackType
from urllib.parse import urlsplit

from support.client import ADMIN_TOKEN, PATIENCE
from support.process import ServerProcess

ADMIN = f"Host: x\r\nAuthorization: Bearer {ADMIN_TOKEN}\r\n".encode()
_LENGTH = re.compile(rb"\r\ncontent-length: (\d+)\r\n", re.IGNORECASE)


def fewer(**limits: float) -> str:
    """Return a prelude that starts a server with other limits."""
    text = ", ".join(f"{name}={value}" for name, value in limits.items())
    return (
        "import functools, fairlead.wire.incoming.limits as m;"
        f" m.Limits = functools.partial(m.Limits, {text})"
    )


def plain_socket(server: ServerProcess) -> socket.socket:
    parts = urlsplit(server.address)
    return socket.create_connection((parts.hostname, parts.port), PATIENCE)


class Wire:
    """One connection. `head` adds a final empty line and the administrator's credentials."""

    def __init__(self, server: ServerProcess, *, tls: bool = True, buffer: int = 0) -> None:
        parts = urlsplit(server.address)
        raw = socket.socket()
        if buffer:
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
        raw.settimeout(PATIENCE)
        raw.connect((parts.hostname, parts.port))
        self.sock: socket.socket = raw
        if tls:
            context = ssl.create_default_context(cafile=str(server.ca))
            self.sock = context.wrap_socket(raw, server_hostname=parts.hostname)
        self._rest = b""

    def send(self, data: bytes) -> Wire:
        self.sock.sendall(data)
        return self

    def ask(self, line: str, *headers: str, body: bytes = b"") -> Wire:
        """Send a request with credentials."""
        lines = "".join(f"{header}\r\n" for header in headers).encode()
        return self.send(f"{line} HTTP/1.1\r\n".encode() + ADMIN + lines + b"\r\n" + body)

    def answer(self) -> tuple[int, bytes]:
        """Return the next answer, read to its declared length."""
        data = self._rest
        while b"\r\n\r\n" not in data:
            data += self._more()
        head, _, body = data.partition(b"\r\n\r\n")
        match = _LENGTH.search(head + b"\r\n")
        length = int(match[1]) if match else 0
        while len(body) < length:
            body += self._more()
        self._rest = body[length:]
        self.head = head
        return int(head[9:12]), body[:length]

    def _more(self) -> bytes:
        data = self.sock.recv(65536)
        assert data, "the server closed the connection"
        return data

    def status(self) -> int:
        return self.answer()[0]

    def rest(self) -> bytes:
        """Return everything until the server closes."""
        data = self._rest
        while True:
            try:
                part = self.sock.recv(65536)
            except ConnectionError:
                return data
            if not part:
                return data
            data += part

    @property
    def is_closed(self) -> bool:
        """Return whether the server closes without sending more, within the timeout of a test."""
        return self.rest() == b""

    def close(self) -> None:
        self.sock.close()

    def __enter__(self) -> Wire:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
