"""WebSockets of clients whose node speaks SPDY only.

`Tunnelled` carries SPDY itself in messages (port forwarding). `Streams` translates the channels of
`v5.channel` to streams of SPDY (exec and attach): the first byte of a message is its channel, and
the channel 255 closes another one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import orjson

from fairlead.wire.incoming.websocket import (
    BINARY,
    NORMAL,
    PONG,
    Incoming,
    closing,
    message,
)
from fairlead.wire.outgoing.tunnel import Write
from fairlead.wire.spdy import Session, data_frame

STREAMS = ("stdin", "stdout", "stderr", "error", "resize")  # by channel
_ERROR = 3
_CLOSE = 255
_FROM_NODE = ("stdout", "stderr", "error")
_LOST = {
    "kind": "Status",
    "apiVersion": "v1",
    "metadata": {},
    "status": "Failure",
    "message": "Internal error occurred: the connection to the node ended",
    "reason": "InternalError",
    "details": {"causes": [{"message": "the connection to the node ended"}]},
    "code": 500,
}
_SUCCESS = {"metadata": {}, "status": "Success"}


class _Socket:
    """The client's side: messages of a WebSocket."""

    def __init__(self) -> None:
        self._incoming = Incoming(self._pong, self._closed, self._on_data)
        self._is_over = False

    def begin(self, to_near: Write, to_far: Write, close: Callable[[], None]) -> None:
        self._to_client, self._to_node, self._close = to_near, to_far, close

    def from_near(self, data: bytes) -> None:
        self._incoming.receive(data)

    def _on_data(self, piece: bytes, begins: bool) -> None:
        raise NotImplementedError

    def _pong(self, payload: bytes) -> None:
        self._to_client(message(PONG, payload))

    def _closed(self, code: int) -> None:
        self._finish(code)

    def _finish(self, code: int = NORMAL) -> None:
        if not self._is_over:
            self._is_over = True
            self._to_client(closing(code))
            self._close()

    def end(self) -> None:
        if not self._is_over:
            self._is_over = True
            self._to_client(closing(NORMAL))


class Tunnelled(_Socket):
    """The content of messages is what the node gets and sends."""

    def _on_data(self, piece: bytes, begins: bool) -> None:
        self._to_node(piece)

    def from_far(self, data: bytes) -> None:
        self._to_client(message(BINARY, data))


class Streams(_Socket):
    """The streams with these names, of `STREAMS`."""

    def __init__(self, names: Sequence[str]) -> None:
        super().__init__()
        self._session = Session()
        self._names = names
        self._streams: dict[int, int] = {}  # by channel
        self._channels: Mapping[int, int] = {}
        self._open: set[int] = set()  # channels on which the node may still send
        self._channel = _CLOSE  # of the current message
        self._has_status = False

    def begin(self, to_near: Write, to_far: Write, close: Callable[[], None]) -> None:
        super().begin(to_near, to_far, close)
        for name in self._names:
            stream, frame = self._session.open({"streamtype": name})
            self._streams[STREAMS.index(name)] = stream
            to_far(frame)
        self._channels = {stream: channel for channel, stream in self._streams.items()}
        self._open = {STREAMS.index(name) for name in self._names if name in _FROM_NODE}

    def _on_data(self, piece: bytes, begins: bool) -> None:
        if begins:
            self._channel, piece = piece[0], piece[1:]
        if self._channel == _CLOSE:
            for channel in piece:
                self._send(channel, b"", ends=True)
        elif piece:
            self._send(self._channel, piece)

    def _send(self, channel: int, data: bytes, *, ends: bool = False) -> None:
        stream = self._streams.get(channel)
        if stream is not None and STREAMS[channel] not in _FROM_NODE:
            self._to_node(data_frame(stream, data, ends=ends))
            if ends:
                del self._streams[channel]

    def from_far(self, data: bytes) -> None:
        for stream, piece, ends in self._session.receive(data):
            channel = self._channels.get(stream, _CLOSE)
            if channel not in self._open:
                continue
            if piece:
                self._has_status = self._has_status or channel == _ERROR
                self._to_client(message(BINARY, bytes((channel,)) + piece))
            if ends:
                self._open.discard(channel)
        if self._session.unsent:
            self._to_node(self._session.unsent)
            self._session.unsent = b""
        if not self._open:
            self._tell_status(_SUCCESS)
            self._finish()

    def _tell_status(self, status: Mapping[str, object]) -> None:
        """Send a status if the node has sent none: a client waits for one."""
        if not self._has_status and not self._is_over:
            self._has_status = True
            self._to_client(message(BINARY, bytes((_ERROR,)) + orjson.dumps(status)))

    def end(self) -> None:
        self._tell_status(_LOST)
        super().end()
