"""Answers with the log of a simulated container: followed until it ends, or over a WebSocket."""

from __future__ import annotations

import asyncio
from base64 import b64encode
from collections.abc import AsyncIterator

from fairlead.api.answers import Answer
from fairlead.api.relay.headers import offered_protocols, websocket_headers
from fairlead.api.request import Request
from fairlead.wire.incoming.connections import first_of
from fairlead.wire.incoming.exchange import SWITCHING_PROTOCOLS, Exchange, Header
from fairlead.wire.incoming.transfer import send
from fairlead.wire.incoming.websocket import BINARY, NORMAL, TEXT, Incoming, closing, message

_IN_BASE64 = "base64.binary.k8s.io"


class FollowedLog(Answer):
    """A log that stays open until its container ends or the client disconnects."""

    __slots__ = ("_later", "_text")

    def __init__(
        self, text: bytes, later: AsyncIterator[bytes], headers: tuple[Header, ...]
    ) -> None:
        super().__init__(200, b"", "", headers)
        self._text = text
        self._later = later

    async def send(self, request: Request) -> None:
        exchange, disconnected = request.exchange, asyncio.Event()
        exchange.no_deadline()
        exchange.on_disconnect(disconnected.set)
        exchange.start(self.code, self.headers)
        await send(exchange, self._text)
        await first_of(disconnected, self._send_later(exchange))
        if not disconnected.is_set():
            exchange.end()

    async def _send_later(self, exchange: Exchange) -> None:
        async for text in self._later:
            await send(exchange, text)


class LogMessages(Answer):
    """A log over a WebSocket, and what comes later if it is followed."""

    __slots__ = ("_later", "_text")

    def __init__(self, text: bytes, later: AsyncIterator[bytes] | None) -> None:
        super().__init__(SWITCHING_PROTOCOLS, b"")
        self._text = text
        self._later = later

    async def send(self, request: Request) -> None:
        exchange, left = request.exchange, asyncio.Event()
        protocols = offered_protocols(request)
        exchange.no_deadline()
        exchange.on_disconnect(left.set)
        incoming = Incoming(lambda payload: None, lambda code: left.set())
        exchange.switch(websocket_headers(request, protocols), incoming.receive)
        in_texts = protocols[:1] == [_IN_BASE64]
        await first_of(left, self._send_all(exchange, in_texts=in_texts))
        if not exchange.disconnected:
            await send(exchange, closing(NORMAL))
            exchange.end()

    async def _send_all(self, exchange: Exchange, *, in_texts: bool) -> None:
        await send(exchange, _framed(self._text, in_texts=in_texts))
        if self._later is not None:
            async for text in self._later:
                await send(exchange, _framed(text, in_texts=in_texts))


def _framed(data: bytes, *, in_texts: bool) -> bytes:
    return message(TEXT, b64encode(data)) if in_texts else message(BINARY, data)
