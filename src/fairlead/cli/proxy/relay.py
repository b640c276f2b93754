"""Passes the requests of local clients on to the API server, with the credentials of the user."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Collection, Iterable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

from fairlead.cli.error_messages import error_text
from fairlead.cli.proxy.files import serve_file
from fairlead.cli.proxy.filters import Filter, plain_path
from fairlead.cli.proxy.messages import (
    HOP_BY_HOP,
    BadMessage,
    Head,
    answer,
    body_of,
    encoded_head,
    parse_head,
)
from fairlead.client import AccessError, Unreachable
from fairlead.client.session import Forwarded, Session
from fairlead.wire.byte_streams import ByteStream, ProtocolFactory, join, open_stream
from fairlead.wire.outgoing.connection import SWITCHING_PROTOCOLS, Connection
from fairlead.wire.outgoing.response import CallError

MAX_HEAD = 64 * 1024
_OURS = ("host", "expect", "content-length")
_BODILESS = (204, 304)


class Places(NamedTuple):
    """What is served where. `directory` is served below `www_prefix` if it is given;
    `server_path` is put in front of paths."""

    api_prefix: str = "/"
    directory: Path | None = None
    www_prefix: str = "/static/"
    server_path: str = ""


class LocalServer:
    """Serves local clients. Subclasses say what they get."""

    async def answer(self, stream: ByteStream, head: Head) -> bool:
        """Answer a request; whether another may follow on the connection. Raises BadMessage,
        AccessError and Unreachable before anything was sent."""
        raise NotImplementedError

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer the requests of a connection until it ends."""
        stream = ByteStream(reader, writer)
        lost = (OSError, asyncio.IncompleteReadError, CallError, ExceptionGroup)
        with suppress(*lost, asyncio.CancelledError):
            try:
                while await self._serve_one(stream):
                    pass
                writer.close()
                await writer.wait_closed()
            finally:
                stream.abort()

    async def _serve_one(self, stream: ByteStream) -> bool:
        """Answer a request; whether another may follow."""
        head = None
        try:
            data = await stream.reader.readuntil(b"\r\n\r\n")
            head = parse_head(data)
            return await self.answer(stream, head)
        except asyncio.LimitOverrunError:
            await answer(stream, None, 431, b"the head of the request is too long\n")
        except BadMessage as error:
            await answer(stream, None, 400, f"{error}\n".encode())
        except (AccessError, Unreachable) as error:
            await answer(stream, None, 502, f"{error_text(error)}\n".encode())
        return False


class Relay(LocalServer):
    """Passes requests on. Without a filter all of them."""

    def __init__(self, session: Session, places: Places, filter: Filter | None) -> None:
        self._session = session
        self._places = places
        self._filter = filter

    async def answer(self, stream: ByteStream, head: Head) -> bool:
        places, path = self._places, head.target.partition("?")[0]
        below = path.removeprefix(places.www_prefix)
        is_file = places.directory is not None and below != path
        api_path = _below(path, places.api_prefix)
        refusal = ""
        if self._filter is not None:
            asked = api_path if api_path is not None and not is_file else "/"
            refusal = self._filter.refusal(head.method, asked, head.header("host"))
        if refusal:
            await answer(stream, head, 403, f"Forbidden: {refusal}\n".encode())
        elif is_file and places.directory is not None:
            await serve_file(stream, head, places.directory, below)
        elif places.directory is not None and f"{path}/" == places.www_prefix:
            await answer(stream, head, 301, b"", f"location: {places.www_prefix}")
        elif api_path is None or plain_path(api_path).startswith("//"):
            await answer(stream, head, 404, f"the API is below {places.api_prefix}\n".encode())
        else:
            return await self.pass_on(stream, head, api_path)
        return head.keeps_alive and not head.has_body

    async def pass_on(self, stream: ByteStream, head: Head, path: str) -> bool:
        """Pass on a request to a path of the API, and its answer."""
        query = head.target[len(head.target.partition("?")[0]) :]
        lines = head.passed_on(_OURS)
        if head.upgrades:
            lines += ["connection: upgrade", f"upgrade: {head.header('upgrade')}"]
        if head.is_chunked:
            lines.append("transfer-encoding: chunked")
        elif head.header("content-length"):
            lines.append(f"content-length: {head.length}")
        target = f"{self._places.server_path}{path}{query}"
        forwarded = Forwarded(head.method, target, tuple(lines), head.has_body, head.upgrades)
        async with self._session.relay(forwarded) as connection:
            return await self._exchange(stream, head, connection)

    async def _exchange(self, stream: ByteStream, head: Head, connection: Connection) -> bool:
        """Pass on the body and the answer."""
        sending = asyncio.create_task(_send_body(stream, head, connection))
        try:
            if not head.has_body:
                await sending
            try:
                await connection.read_head()
            except CallError as error:
                raise Unreachable(str(error), sent=True) from None
            if connection.status != SWITCHING_PROTOCOLS:
                return await self.hand_back(stream, head, connection, may_stay=sending.done())
            await _switch(stream, connection)
            return False
        finally:
            sending.cancel()
            await asyncio.gather(sending, return_exceptions=True)

    async def hand_back(
        self, stream: ByteStream, head: Head, connection: Connection, *, may_stay: bool
    ) -> bool:
        """Pass on the answer whose head has come."""
        return await send_answer(stream, head, connection, may_stay=may_stay)


def _below(path: str, prefix: str) -> str | None:
    """The path below a prefix, with its first slash; None if it is elsewhere."""
    if prefix == "/":
        return path
    return path[len(prefix) - 1 :] if path.startswith(prefix) else None


def server_path(server: str) -> str:
    """The path in the URL of a server."""
    return urlsplit(server).path.rstrip("/")


async def _send_body(stream: ByteStream, head: Head, connection: Connection) -> None:
    if head.has_body:
        async for piece in body_of(stream, head):
            await connection.send(piece)


async def send_answer(
    stream: ByteStream,
    head: Head,
    connection: Connection,
    *,
    may_stay: bool,
    left_out: Collection[str] = (),
    added: Iterable[str] = (),
) -> bool:
    """Pass on the answer, without some headers and with others; whether the client can send
    another request. Not if the body of this one has not been read."""
    lines = [
        f"{name.decode('latin-1')}: {value.decode('latin-1')}"
        for name, value in connection.headers
        if name.decode("latin-1") not in HOP_BY_HOP and name.decode("latin-1") not in left_out
    ]
    lines += added
    is_bodiless = head.method == "HEAD" or connection.status in _BODILESS
    has_length = is_bodiless or connection.content_length is not None
    is_chunked = not has_length and not head.is_old
    keeps_alive = may_stay and head.keeps_alive and (has_length or is_chunked)
    if is_chunked:
        lines.append("transfer-encoding: chunked")
    if not keeps_alive:
        lines.append("connection: close")
    elif head.is_old:
        lines.append("connection: keep-alive")
    await stream.send(encoded_head(connection.status, lines))
    async for piece in _pieces(connection):
        await stream.send(b"%x\r\n%b\r\n" % (len(piece), piece) if is_chunked else piece)
    if is_chunked:
        await stream.send(b"0\r\n\r\n")
    return keeps_alive


async def _pieces(connection: Connection) -> AsyncIterator[bytes]:
    """The body as the server has encoded it."""
    while piece := await connection.read():
        yield piece


async def _switch(stream: ByteStream, connection: Connection) -> None:
    """Pass on bytes in both directions, once the server has switched protocols."""
    lines = [
        f"{name.decode('latin-1')}: {value.decode('latin-1')}" for name, value in connection.headers
    ]
    await stream.send(encoded_head(connection.status, lines))

    async def hand_over(protocol: ProtocolFactory) -> None:
        connection.hand_over(protocol())

    remote = await open_stream(hand_over)
    try:
        await join(stream, remote)
    finally:
        remote.abort()
