"""exec and attach on simulated nodes: the streams of a command over a WebSocket or SPDY."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress

import orjson

from fairlead.api.answers import Answer
from fairlead.api.relay.forward import cancel_on_disconnect
from fairlead.api.relay.headers import (
    Field,
    requested_protocol,
    upgrade_headers,
    websocket_headers,
)
from fairlead.api.request import Request
from fairlead.api.subresources.channels import agreed_protocol, channels_of
from fairlead.api.subresources.targets import no_common_protocol
from fairlead.base.errors import StatusError, bad_request
from fairlead.operations.api import CommandStreams, Object
from fairlead.wire.incoming.exchange import SWITCHING_PROTOCOLS, ClientGone, Exchange
from fairlead.wire.incoming.transfer import send_framed
from fairlead.wire.incoming.websocket import NORMAL, PONG, Incoming, closing, message
from fairlead.wire.outgoing.tunnel import Malformed
from fairlead.wire.spdy import PROTOCOL as SPDY
from fairlead.wire.spdy import ServerSession, data_frame

Run = Callable[[CommandStreams], Awaitable[int]]

_STDIN, _ERROR, _CLOSE = 0, 3, 255
_NUMBERS = {"stdin": _STDIN, "stdout": 1, "stderr": 2}
_MAX_UNREAD = 4 * 1024 * 1024  # bytes of input that the command has not read
_STREAM_SECONDS = 30  # until the client has opened its SPDY streams
# The versions of the protocol, the best first.
_SPDY_VERSIONS = ("v4.channel", "v3.channel", "v2.channel", "channel")
_SOCKET_VERSIONS = ("v5.channel", "v4.channel", "v4.base64.channel", "channel", "base64.channel")
_SPDY_VERSION = b"x-stream-protocol-version"


def command_answer(
    request: Request, run: Run, names: frozenset[str], domain: str, *, is_attached: bool
) -> Answer:
    """The answer that runs a command with the streams of the client. `names` are the streams that
    the client asked for, `domain` is part of the names of protocols. A command of its own reads
    nothing if the client passes on no input. Raises StatusError."""
    protocol = requested_protocol(request).lower()
    if protocol == b"websocket":
        session: _Session = _SocketSession(request, domain, names)
    elif protocol == b"spdy/3.1":
        session = _SpdySession(request, domain, names)
    else:
        raise unexpected_protocol(protocol)
    if "stdin" not in names and not is_attached:
        session.end_input()
    return _CommandAnswer(session, run)


def unexpected_protocol(protocol: bytes) -> StatusError:
    shown = protocol.decode("latin-1")
    return bad_request(f'unable to upgrade: unexpected protocol "{shown}"')


def demand_websocket_key(request: Request) -> None:
    if not request.header(b"sec-websocket-key"):
        raise bad_request("unable to upgrade: websocket: bad handshake")


def spdy_protocol(request: Request, names: Iterable[str]) -> str:
    """The first of the names that a client offers over SPDY, "" if it offers nothing. Raises
    StatusError."""
    offers = {
        offer.strip()
        for name, value in request.raw_headers
        if name == _SPDY_VERSION
        for offer in value.decode("latin-1").split(",")
    }
    protocol = next((name for name in names if name in offers), "")
    if offers and not protocol:
        raise no_common_protocol()
    return protocol


def spdy_headers(protocol: str) -> list[Field]:
    """The headers of the answer that switches to SPDY."""
    version = [(_SPDY_VERSION, protocol.encode())] if protocol else []
    return upgrade_headers(SPDY) + version


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

    def end_input(self) -> None:
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
    """A WebSocket with a channel for each stream."""

    def __init__(self, request: Request, domain: str, names: frozenset[str]) -> None:
        super().__init__(request)
        demand_websocket_key(request)
        self.protocol = agreed_protocol(request, [f"{each}.{domain}" for each in _SOCKET_VERSIONS])
        self._channels = channels_of(self.protocol)
        protocols = [self.protocol] if self.protocol else []
        self._headers = websocket_headers(request, protocols)
        self._wanted = [_NUMBERS[name] for name in _NUMBERS if name in names] + [_ERROR]

    async def begin(self) -> None:
        incoming = Incoming(self._on_ping, self._on_close, self._on_data)
        self.exchange.switch(self._headers, incoming.receive)
        first = next(stream for stream in self._wanted if stream != _STDIN)
        await self.write(first, b"")  # tells the client that it is connected

    def _on_ping(self, payload: bytes) -> None:
        self.exchange.send_now(message(PONG, payload))

    def _on_close(self, code: int) -> None:
        self.exchange.abort()

    def _on_data(self, piece: bytes, begins: bool) -> None:
        channel, piece = self._channels.take(piece, begins)
        if channel == _STDIN and piece and _STDIN in self._wanted:
            self._take(piece)
        elif channel == _CLOSE and piece == bytes((_STDIN,)):
            self.end_input()

    async def write(self, stream: int, data: bytes) -> None:
        if stream in self._wanted:
            await send_framed(self.exchange, self._channels.message(stream, data))

    async def finish(self, code: int) -> None:
        if result := self.result(code):
            await self.write(_ERROR, result)
        await send_framed(self.exchange, closing(NORMAL))


class _SpdySession(_Session):
    """SPDY: the client opens a stream for each of the standard streams, and one for errors."""

    def __init__(self, request: Request, domain: str, names: frozenset[str]) -> None:
        super().__init__(request)
        protocols = [f"{version}.{domain}" for version in _SPDY_VERSIONS]
        self.protocol = spdy_protocol(request, protocols)
        self._expected = names | {"error"}
        self._session = ServerSession()
        self._numbers: dict[str, int] = {}  # of the streams
        self._opened = asyncio.Event()

    async def begin(self) -> None:
        self.exchange.switch(spdy_headers(self.protocol), self._receive)
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
                    self.end_input()

    async def write(self, stream: int, data: bytes) -> None:
        number = self._numbers.get("stdout" if stream == 1 else "stderr")
        if number is not None and data:
            await send_framed(self.exchange, data_frame(number, data))

    async def finish(self, code: int) -> None:
        frames = [data_frame(self._numbers["error"], self.result(code))]
        frames += [data_frame(number, b"", ends=True) for number in self._numbers.values()]
        await send_framed(self.exchange, b"".join(frames))
