"""HTTP over TLS on an event loop. Never resends a request implicitly: whether a write was sent at
all decides its possible outcomes."""

from __future__ import annotations

import asyncio
import contextlib
import json
import ssl
from collections.abc import AsyncGenerator, AsyncIterator
from types import TracebackType
from typing import Any
from urllib.parse import urlsplit

from support.client import ADMIN_TOKEN, JSON, Object

LONGEST_LINE = 1 << 20
# Servers of one store have separate CAs; their identity is not under test here.
TLS = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
TLS.check_hostname = False
TLS.verify_mode = ssl.CERT_NONE

BROKEN = (OSError, EOFError, TimeoutError, ValueError, asyncio.LimitOverrunError)


class Exchange:
    """One connection, with at most one request in flight."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._headers: dict[str, str] = {}

    @classmethod
    async def open(cls, address: str) -> Exchange:
        parts = urlsplit(address)
        created = await asyncio.open_connection(
            parts.hostname, parts.port, ssl=TLS, limit=LONGEST_LINE, ssl_handshake_timeout=5
        )
        return cls(*created)

    def close(self) -> None:
        self._writer.transport.abort()

    async def __aenter__(self) -> Exchange:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def send(self, method: str, path: str, body: Any = None, kind: str = JSON) -> None:
        content = json.dumps(body).encode() if body is not None else b""
        head = [
            f"{method} {path} HTTP/1.1",
            "Host: chaos",
            f"Authorization: Bearer {ADMIN_TOKEN}",
            f"Accept: {JSON}",
        ]
        if content:
            head += [f"Content-Type: {kind}", f"Content-Length: {len(content)}"]
        self._writer.write("\r\n".join([*head, "", ""]).encode() + content)

    async def status(self) -> int:
        """Read the header of the answer and return the status."""
        lines = (await self._reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        fields = (line.partition(":") for line in lines[1:] if line)
        self._headers = {name.lower(): value.strip() for name, _, value in fields}
        return int(lines[0].split()[1])

    async def _pieces(self) -> AsyncGenerator[bytes, None]:
        if "chunked" not in self._headers.get("transfer-encoding", ""):
            yield await self._reader.readexactly(int(self._headers.get("content-length", "0")))
            return
        while size := int((await self._reader.readuntil(b"\r\n")).strip(), 16):
            yield (await self._reader.readexactly(size + 2))[:-2]
        await self._reader.readuntil(b"\r\n")

    async def text(self) -> str:
        return b"".join([piece async for piece in self._pieces()]).decode()

    async def body(self) -> Object:
        parsed: Object = json.loads(await self.text())
        return parsed

    async def lines(self) -> AsyncIterator[Object]:
        """Yield the objects of a stream, one per line, until the server ends it properly."""
        rest = b""
        async with contextlib.aclosing(self._pieces()) as pieces:
            async for piece in pieces:
                *whole, rest = (rest + piece).split(b"\n")
                for line in whole:
                    yield json.loads(line)


async def ask(
    address: str, method: str, path: str, body: Any = None, patience: float = 10.0
) -> tuple[int, Object]:
    """Send one request on a new connection."""
    async with asyncio.timeout(patience), await Exchange.open(address) as exchange:
        exchange.send(method, path, body)
        return await exchange.status(), await exchange.body()
