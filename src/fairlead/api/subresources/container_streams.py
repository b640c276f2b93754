"""exec and attach on simulated nodes: the streams of a command over a WebSocket or SPDY."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress

import orjson

from fairlead.api.answers import Answer
from fairlead.api.relay.forward import cancel_on_disconnect
from fairlead.api.relay.headers import (
    offered_protocols,
    requested_protocol,
    upgrade_headers,
    websocket_headers,
)
from fairlead.api.request import Request
from fairlead.base.errors import bad_request
from fairlead.operations.api import CommandStreams, Object
from fairlead.wire.incoming.exchange import SWITCHING_PROTOCOLS, ClientGone, Exchange
from fairlead.wire.incoming.transfer import send_framed
from fairlead.wire.incoming.websocket import BINARY, NORMAL, PONG, Incoming, closing, message
from fairlead.wire.outgoing.tunnel import Malformed
from fairlead.wire.spdy import PROTOCOL as SPDY
from fairlead.wire.spdy import ServerSession, data_frame

Run = Callable[[CommandStreams], Awaitable[int]]

_STDIN, _ERROR, _CLOSE = 0, 3, 255
_MAX_UNREAD = 4 * 1024 * 1024  # bytes of input that the command has not read
_STREAM_SECONDS = 30  # until the client has opened its SPDY streams
# The versions of the protocol, the best first; SPDY has all but the first.
_VERSIONS = ("v5.channel", "v4.channel", "v3.channel", "v2.channel", "channel")
_SPDY_VERSION = b"x-stream-protocol-version"


def command_answer(request: Request, run: Run, names: frozenset[str], domain: str) -> Answer:
    """The answer that runs a command with the streams of the client. `names` are the streams that
    the client asked for, `domain` is part of the names of protocols. Raises StatusError."""
    protocol = requested_protocol(request).lower()
    if protocol == b"websocket":
        return _CommandAnswer(_SocketSession(request, domain), run)
    if protocol == b"spdy/3.1":
        return _CommandAnswer(_SpdySession(request, domain, names), run)
    shown = protocol.decode("latin-1")
    raise bad_request(f'unable to upgrade: unexpected protocol "{shown}"')


class _CommandAnswer(Answer):
    """Switches protocols, and runs a command."""

    __slots__ = ("_run", "_session")

    def __init__(self, session: _Session, run: Run) -> None:
        super().__init__(SWITCHING_PROTOCOLS, b"", "")
        self._session = session
        self._run = run

    async def send(self, request: Request) -> None:
        exchange, session = request.exchange, self._session
        exchange.interruptible = True
        exchange.no_deadline()
        with suppress(ClientGone), cancel_on_disconnect(request):
            await session.begin()
            code = await self._run(session)
            await session.finish(code)
        if not exchange.disconnected:
            exchange.end()


class _Session:
    """A connection with a client. Input waits here until the command reads it."""

    def __init__(self, request: Request) -> None:
        self.exchange: Exchange = request.exchange
        self.protocol = ""  # the one that was agreed on
        self._unread = bytearray()
        self._is_at_end = False
        self._changed = asyncio.Event()

    async def begin(self) -> None: ...

    async def finish(self, code: int) -> None: ...

    async def write(self, stream: int, data: bytes) -> None: ...

    async def read(self) -> bytes:
        while not self._unread and not self._is_at_end:
            self._changed.clear()
            await self._changed.wait()
        data = bytes(self._unread)
        self._unread.clear()
        return data

    def _take(self, data: bytes) -> None:
        self._unread += data
        self._changed.set()
        if len(self._unread) > _MAX_UNREAD:
            self.exchange.abort()

    def _end_input(self) -> None:
        self._is_at_end = True
        self._changed.set()

    def result(self, code: int) -> bytes:
        """What goes to the error stream at the end: a Status from the fourth version on, before
        that a text about a failure."""
        if self.protocol.startswith(("v4.", "v5.")):
            return orjson.dumps(_status(code))
        return f"command terminated with non-zero exit code: {code}".encode() if code else b""


def _status(code: int) -> Object:
    if not code:
        return {"metadata": {}, "status": "Success"}
    return {
        "metadata": {},
        "status": "Failure",
        "message": f"command terminated with non-zero exit code: exit status {code}",
        "reason": "NonZeroExitCode",
        "details": {"causes": [{"reason": "ExitCode", "message": str(code)}]},
    }


class _SocketSession(_Session):
    """A WebSocket: the first byte of a message is the number of its stream."""

    def __init__(self, request: Request, domain: str) -> None:
        super().__init__(request)
        if not request.header(b"sec-websocket-key"):
            raise bad_request("unable to upgrade: websocket: bad handshake")
        offers = offered_protocols(request)
        names = [f"{version}.{domain}" for version in _VERSIONS]
        self.protocol = next((name for name in names if name in offers), "")
        protocols = [self.protocol] if self.protocol else []
        self._headers = websocket_headers(request, protocols)
        self._channel = -1

    async def begin(self) -> None:
        incoming = Incoming(self._on_ping, self._on_close, self._on_data)
        self.exchange.switch(self._headers, incoming.receive)

    def _on_ping(self, payload: bytes) -> None:
        self.exchange.send_now(message(PONG, payload))

    def _on_close(self, code: int) -> None:
        self.exchange.abort()

    def _on_data(self, piece: bytes, begins: bool) -> None:
        if begins:
            self._channel, piece = piece[0], piece[1:]
        if self._channel == _STDIN and piece:
            self._take(piece)
        elif self._channel == _CLOSE and piece == bytes((_STDIN,)):
            self._end_input()

    async def write(self, stream: int, data: bytes) -> None:
        await send_framed(self.exchange, message(BINARY, bytes((stream,)) + data))

    async def finish(self, code: int) -> None:
        if result := self.result(code):
            await self.write(_ERROR, result)
        await send_framed(self.exchange, closing(NORMAL))


class _SpdySession(_Session):
    """SPDY: the client opens a stream for each of the standard streams, and one for errors."""

    def __init__(self, request: Request, domain: str, names: frozenset[str]) -> None:
        super().__init__(request)
        offers = {
            offer.strip()
            for name, value in request.raw_headers
            if name == _SPDY_VERSION
            for offer in value.decode("latin-1").split(",")
        }
        protocols = [f"{version}.{domain}" for version in _VERSIONS[1:]]
        self.protocol = next((name for name in protocols if name in offers), "")
        if offers and not self.protocol:
            raise bad_request("unable to upgrade: unable to negotiate protocol")
        self._expected = names | {"error"}
        self._session = ServerSession()
        self._numbers: dict[str, int] = {}  # of the streams
        self._opened = asyncio.Event()

    async def begin(self) -> None:
        headers = list(upgrade_headers(SPDY))
        if self.protocol:
            headers.append((_SPDY_VERSION, self.protocol.encode()))
        self.exchange.switch(headers, self._receive)
        try:
            async with asyncio.timeout(_STREAM_SECONDS):
                await self._opened.wait()
        except TimeoutError:
            self.exchange.abort()
            raise ClientGone from None

    def _receive(self, data: bytes) -> None:
        session = self._session
        try:
            pieces = session.receive(data)
        except Malformed:
            self.exchange.abort()
            return
        if session.unsent:
            unsent, session.unsent = session.unsent, b""
            if session.is_over or not self.exchange.send_now(unsent):
                self.exchange.abort()
                return
        self._numbers = {
            headers.get("streamtype", ""): stream for stream, headers in session.opened.items()
        }
        if self._expected <= self._numbers.keys():
            self._opened.set()
        for stream, content, ends in pieces:
            if stream == self._numbers.get("stdin"):
                self._take(content)
                if ends:
                    self._end_input()

    async def write(self, stream: int, data: bytes) -> None:
        number = self._numbers.get("stdout" if stream == 1 else "stderr")
        if number is not None and data:
            await send_framed(self.exchange, data_frame(number, data))

    async def finish(self, code: int) -> None:
        frames = [data_frame(self._numbers["error"], self.result(code))]
        frames += [data_frame(number, b"", ends=True) for number in self._numbers.values()]
        await send_framed(self.exchange, b"".join(frames))
