"""One keep-alive connection: sends requests and reads complete answers, one at a time."""

from __future__ import annotations

import asyncio
import os
import select
from collections.abc import Callable
from typing import cast

import httptools

from fairlead.wire.outgoing.client import MAX_ANSWER_BYTES, CallError, Reply

_MAX_BESIDE = 64 * 1024  # bytes outside of bodies: heads, chunk sizes, trailers
_CHUNK_OVERHEAD = 16  # bytes per part of a body that are not counted


class Lost(Exception):
    """The connection ended before an answer began."""


class Connection(asyncio.Protocol):
    """One request at a time. `on_end` is called when the connection has ended. `idle_since` is set
    by its pool."""

    def __init__(self, on_end: Callable[[Connection], None]) -> None:
        self._on_end = on_end
        self._transport: asyncio.Transport | None = None
        self._answer: asyncio.Future[Reply] | None = None
        self.is_open = True
        self.idle_since = 0.0
        self._parser = httptools.HttpResponseParser(self)
        self._reset()

    def _reset(self) -> None:
        self._content: list[bytes] = []
        self._size = 0
        self._beside = 0
        self._type = self._retry_after = ""
        self._has_begun = False
        self._ends_with_connection = True

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def is_quiet(self) -> bool:
        """Whether an idle connection is usable: open, and without unread input such as an EOF."""
        if not self.is_open or self._transport is None or self._transport.is_closing():
            return False
        socket = self._transport.get_extra_info("socket")
        if socket is None or socket.fileno() < 0:
            return False
        poll = select.poll()
        poll.register(socket.fileno(), select.POLLIN)
        return not poll.poll(0)

    async def exchange(self, request: bytes) -> Reply:
        """Send a request and return its answer. Raises CallError, or Lost if no answer has
        begun."""
        assert self._transport is not None
        self._answer = asyncio.get_running_loop().create_future()
        self._transport.write(request)
        try:
            return await self._answer
        except asyncio.CancelledError:
            self._abort()  # a late answer must not reach the next request
            raise
        finally:
            self._answer = None

    def data_received(self, data: bytes) -> None:
        answer = self._answer
        if answer is None or answer.done():
            self._abort()  # unsolicited data
            return
        self._beside += len(data)
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserError as error:
            self._fail(f"malformed HTTP response: {error}")
        if answer.done():
            return
        if self._beside > _MAX_BESIDE:
            # Fail early: the parser copies an incomplete line again with every read.
            self._fail("the answer has too much beside its content")
        self._beside = max(self._beside, 0)

    def on_message_begin(self) -> None:
        if self._answer is None or self._answer.done():
            self._abort()  # a second answer to one request
        self._has_begun = True

    def on_header(self, name: bytes, value: bytes) -> None:
        name = name.lower()
        if name in (b"content-length", b"transfer-encoding"):
            self._ends_with_connection = False
        elif name == b"content-type":
            self._type = value.decode("latin-1")
        elif name == b"retry-after":
            self._retry_after = value.decode("latin-1")

    def on_body(self, body: bytes) -> None:
        self._beside -= len(body) + _CHUNK_OVERHEAD
        self._size += len(body)
        if self._size > MAX_ANSWER_BYTES:
            self._fail(f"the answer is longer than {MAX_ANSWER_BYTES} bytes")
            return
        self._content.append(body)

    def on_message_complete(self) -> None:
        if self._answer is None or self._answer.done():
            return
        status = self._parser.get_status_code()
        if 100 <= status < 200:
            return  # an interim response; the final one follows
        reply = Reply(status, b"".join(self._content), self._type, self._retry_after)
        if not self._parser.should_keep_alive():
            self.close()
        self._reset()
        self._answer.set_result(reply)

    def connection_lost(self, error: Exception | None) -> None:
        self.is_open = False
        if self._answer is not None and not self._answer.done():
            if not self._has_begun:
                self._answer.set_exception(Lost(why_lost(error)))
            elif self._ends_with_connection and self._parser.get_status_code() >= 200:
                self.on_message_complete()
            else:
                self._answer.set_exception(CallError("unexpected EOF", retryable=True))
        self._on_end(self)

    def _fail(self, why: str) -> None:
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(CallError(why))
        self._abort()

    def close(self) -> None:
        self.is_open = False
        if self._transport is not None:
            self._transport.close()

    def _abort(self) -> None:
        """Close without a TLS shutdown, in which the peer could keep us waiting while it sends."""
        self.is_open = False
        if self._transport is not None:
            self._transport.abort()


def why_lost(error: Exception | None) -> str:
    if isinstance(error, OSError) and error.errno:
        return os.strerror(error.errno).lower()
    return "EOF"
