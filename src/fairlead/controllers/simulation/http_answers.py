"""HTTP servers of simulated containers and node agents: requests are read and answered on a
connection, one after the other."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from time import thread_time
from typing import NamedTuple

from fairlead.codec.types.durations import parse_duration
from fairlead.codec.types.model import Object
from fairlead.controllers.simulation.globs import matches
from fairlead.controllers.simulation.runtime.computing import Pace
from fairlead.wire.byte_streams import PIECE, ByteStream
from fairlead.wire.incoming.exchange import (
    CLOSE,
    CONTINUE,
    Header,
    date_line,
    head_bytes,
    refusal,
)
from fairlead.wire.incoming.limits import Limits
from fairlead.wire.incoming.parser import Head, Reader, Refused

_MAX_BODY = 64 * 1024 * 1024  # of a request; nobody reads it
_SECONDS_OF_REQUEST = 0.0002  # of computing to read it and to write the answer
_MAX_DELAY = 300.0  # seconds: a client that left is noticed after it
_WITHOUT_BODY = (204, 304)
_TEXT = "text/plain; charset=utf-8"
# Headers that follow from the answer itself.
_OWN = frozenset((b"content-length", b"transfer-encoding", b"connection", b"date", b"upgrade"))


class Reply(NamedTuple):
    """The answer to a request. `delay` is in seconds."""

    status: int = 200
    headers: tuple[Header, ...] = ()
    body: bytes = b""
    delay: float = 0.0


Respond = Callable[[Head], Awaitable[Reply]]  # Only the path and the method of the head count.


def text_reply(text: str, status: int = 200, content_type: str = _TEXT) -> Reply:
    return Reply(status, ((b"content-type", content_type.encode()),), text.encode())


NOT_FOUND = text_reply("404 page not found\n", 404)


def scripted_reply(rules: Sequence[Object], method: str, path: str) -> Reply:
    """The first of the `http` entries of a script that matches. A query does not count."""
    path = path.partition("?")[0]
    for rule in rules:
        if rule.get("method", method) == method and matches(rule.get("path", "*"), path):
            return _reply_of(rule)
    return NOT_FOUND


def _reply_of(rule: Object) -> Reply:
    status = rule.get("status", 200)
    headers = [_header(name, value) for name, value in (rule.get("headers") or {}).items()]
    named = {name for name, _ in headers}
    if b"content-type" not in named:
        headers.append((b"content-type", _TEXT.encode()))
    return Reply(
        status if 200 <= status < 600 else 500,
        tuple(header for header in headers if header[0] and header[0] not in _OWN),
        rule.get("body", "").encode(),
        min(parse_duration(rule.get("delay") or "0"), _MAX_DELAY),
    )


def _header(name: str, value: str) -> Header:
    """A header without the characters that would end it."""
    shown = "".join(character for character in value if character.isprintable())
    kept = "".join(character for character in name if character.isalnum() or character in "-_")
    return kept.lower().encode("ascii", "replace"), shown.encode("latin-1", "replace")


async def serve_http(stream: ByteStream, respond: Respond, pace: Pace) -> None:
    """Answer requests until the client or an answer ends the connection. Raises ConnectionError."""
    server = _Server(stream, respond, pace)
    try:
        with suppress(EOFError):
            while await server.answer_next():
                pass
    except Refused as refused:
        await stream.send(refusal(refused.code, refused.message, date_line()))


class _Server:
    def __init__(self, stream: ByteStream, respond: Respond, pace: Pace) -> None:
        self._pace = pace
        self._stream = stream
        self._respond = respond
        self._reader = Reader(Limits(), self._skip)
        self._data = b""  # received and not parsed
        self._size = 0  # of the body

    async def answer_next(self) -> bool:
        """Answer a request; whether another may follow. Raises Refused or EOFError."""
        await asyncio.sleep(0)  # others work between two requests
        head = await self._head()
        if head.expects_continue and head.has_body:
            await self._stream.send(CONTINUE)
        await self._skip_body()
        began = thread_time()
        reply = await self._respond(head)
        await self._pace.after(thread_time() - began + _SECONDS_OF_REQUEST)
        if reply.delay:
            await asyncio.sleep(reply.delay)
        keep_alive = head.keep_alive and not self._reader.overrun
        await self._stream.send(_encode(reply, head, keep_alive))
        self._reader.next()
        return keep_alive

    async def _head(self) -> Head:
        while True:
            if self._data:
                head, self._data = self._reader.read_head(self._data)
                if head is not None:
                    return head
            self._data += await self._more()

    async def _skip_body(self) -> None:
        self._size = 0
        while not self._reader.complete:
            self._data = self._reader.read_body(self._data or await self._more())
            if self._size > _MAX_BODY:
                raise Refused(413, "the body of the request is too large")

    def _skip(self, part: bytes) -> None:
        self._size += len(part)

    async def _more(self) -> bytes:
        data = await self._stream.reader.read(PIECE)
        if not data:
            raise EOFError
        return data


def _encode(reply: Reply, head: Head, keep_alive: bool) -> bytes:
    has_body = reply.status not in _WITHOUT_BODY
    last = b"content-length: %d\r\n" % len(reply.body) if has_body else b""
    if not keep_alive:
        last += CLOSE
    encoded = head_bytes(reply.status, date_line(), reply.headers, last)
    return encoded + reply.body if has_body and head.method != "HEAD" else encoded
