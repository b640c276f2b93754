"""Watches over WebSockets: as other watches, with each event a WebSocket message."""

from __future__ import annotations

import re
from typing import Final

from fairlead.api.answers import Answer
from fairlead.api.negotiation import JSON
from fairlead.api.relay.headers import offered_protocols, websocket_headers
from fairlead.api.request import Request
from fairlead.api.watch_frames import Frames, Wire
from fairlead.api.watch_stream import (
    ErrorStream,
    SendInitial,
    SendPending,
    WatchSource,
    WatchStream,
)
from fairlead.base.errors import StatusError
from fairlead.operations.api import Api
from fairlead.operations.options import ListOptions
from fairlead.wire.incoming.exchange import SWITCHING_PROTOCOLS
from fairlead.wire.incoming.websocket import (
    BINARY,
    NORMAL,
    PONG,
    TEXT,
    VERSION,
    Incoming,
    closing,
    message,
)

_KEY: Final = b"sec-websocket-key"
_LENGTH: Final = (
    4  # bytes of the length prefix of protobuf frames, which WebSocket messages do not need
)
# Valid targets of a request line: URIs and absolute paths.
_ORIGIN: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*:|/)[!-~]*")


def _text(event: bytes) -> bytes:
    return message(TEXT, event)


def _binary(event: bytes) -> bytes:
    return message(BINARY, event[_LENGTH:])


_END: Final = closing(NORMAL)
_TEXTS: Final = Wire("in texts", _text, _END)
_BINARIES: Final = Wire("in messages", _binary, _END)


def refusal(request: Request) -> Answer | None:
    """The error for an invalid WebSocket handshake, None if valid. Refuses a request without a
    valid Origin, and one that offers several protocols, because the server supports none to choose.
    """
    if not request.header(_KEY):
        return Answer(400, b"mismatch challenge/response", "text/plain")
    if request.header(b"sec-websocket-version") != VERSION.decode():
        version_header = (b"sec-websocket-version", VERSION)
        return Answer(400, b"missing or bad WebSocket Version", "text/plain", (version_header,))
    if not _ORIGIN.fullmatch(request.header(b"origin")):
        return Answer(403, b"", "text/plain")
    return Answer(400, b"", "text/plain") if len(offered_protocols(request)) > 1 else None


def _switch(request: Request, incoming: Incoming, framing: Frames) -> None:
    headers = websocket_headers(request, offered_protocols(request))
    request.exchange.switch(headers, incoming.receive)
    framing.begin(_TEXTS if framing.representation.media_type == JSON else _BINARIES)


class SocketStream(WatchStream):
    """A watch over a WebSocket. Incoming data is ignored except for pings, which are answered
    between two messages, and close frames."""

    __slots__ = ("_control_frame",)

    def __init__(
        self,
        api: Api,
        source: WatchSource,
        framing: Frames,
        options: ListOptions,
        bookmark_every: float,
        send_initial: SendInitial,
        send_pending: SendPending,
    ) -> None:
        super().__init__(api, source, framing, options, bookmark_every, send_initial, send_pending)
        self.code = SWITCHING_PROTOCOLS
        self._control_frame = b""  # a pending pong or close frame

    def start(self, request: Request) -> None:
        _switch(request, Incoming(self._on_ping, self._on_close_frame), self.framing)

    def _on_ping(self, payload: bytes) -> None:
        self._control_frame = message(PONG, payload)
        self.wake()

    def _on_close_frame(self, code: int) -> None:
        if code != NORMAL:
            self._control_frame = closing(code)
        if not self.watcher.closed:
            self.watcher.close()

    def take_control_frame(self) -> bytes:
        frame, self._control_frame = self._control_frame, b""
        return frame

    def try_send_due(self) -> bool:
        if self._control_frame and self.exchange.send_now(self._control_frame):
            self._control_frame = b""
        return super().try_send_due()


class SocketError(ErrorStream):
    """A failed watch over a WebSocket."""

    __slots__ = ()

    def __init__(self, error: StatusError, framing: Frames) -> None:
        super().__init__(error, framing)
        self.code = SWITCHING_PROTOCOLS

    def start(self, request: Request) -> None:
        _switch(request, Incoming(_ignore, _ignore), self.framing)


def _ignore(_event: object) -> None:
    pass
