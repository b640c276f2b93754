"""A server that sends exactly the bytes that a test specifies."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, NamedTuple, Self

import orjson

from fairlead.client import Access, Client
from fairlead.client.access.loader import FixedCredentials
from fairlead.wire.outgoing.client_config import ClientConfig

Writes = Callable[[asyncio.StreamWriter], Awaitable[None]]


class Cut(NamedTuple):
    """Send these bytes and close the connection."""

    data: bytes = b""


ScriptedReply = bytes | Cut | Writes


class SeenRequest(NamedTuple):
    """A request: its first line, its headers and its body."""

    line: str
    headers: dict[str, str]
    body: bytes
    connection: int


def answer(
    body: Any = None, status: int = 200, headers: str = "", type: str = "application/json"
) -> bytes:
    """Return a complete answer; values are encoded as JSON."""
    content = body if isinstance(body, bytes) else orjson.dumps(body)
    return (
        f"HTTP/1.1 {status} Words\r\nContent-Type: {type}\r\n"
        f"Content-Length: {len(content)}\r\n{headers}\r\n"
    ).encode() + content


def chunks(*parts: bytes) -> bytes:
    """Encode parts of a chunked answer, without its end."""
    return b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in parts)


STREAM = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
END = b"0\r\n\r\n"


def events(*reported: tuple[str, Any]) -> bytes:
    """Return the beginning of a watch stream."""
    lines = [orjson.dumps({"type": type, "object": value}) + b"\n" for type, value in reported]
    return STREAM + chunks(*lines)


class ScriptedServer:
    """Answers each request with the next item of `script`, repeating the last one; or with the
    result of `reply`."""

    def __init__(
        self,
        *script: ScriptedReply,
        reply: Callable[[SeenRequest], ScriptedReply] | None = None,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self._tls = tls
        self.script = list(script)
        self._reply = reply or self._next
        self.seen: list[SeenRequest] = []
        self.connections = 0
        self._tasks: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        self.requested = asyncio.Event()  # set by every request
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0, ssl=self._tls)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await asyncio.sleep(0)  # aborted transports end in the next iteration of the loop

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def client(self, **place: Any) -> Client:
        config = ClientConfig(**{"server": self.url, **place})
        return Client(Access(config, FixedCredentials(config)))

    def _next(self, seen: SeenRequest) -> ScriptedReply:
        return self.script.pop(0) if len(self.script) > 1 else self.script[0]

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self.connections += 1
        try:
            with suppress(OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
                await self._converse(reader, writer, self.connections)
        finally:
            writer.transport.abort()
            self._tasks.discard(task)

    async def _converse(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, number: int
    ) -> None:
        while True:
            head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
            pairs = (line.split(": ", 1) for line in head[1:] if line)
            headers = {name.lower(): value for name, value in pairs}
            body = await reader.readexactly(int(headers.get("content-length", 0)))
            self.seen.append(SeenRequest(head[0], headers, body, number))
            self.requested.set()
            message = self._reply(self.seen[-1])
            if isinstance(message, Cut):
                writer.write(message.data)
                await writer.drain()
                writer.close()
                return
            if isinstance(message, bytes):
                writer.write(message)
            else:
                await message(writer)
            await writer.drain()
