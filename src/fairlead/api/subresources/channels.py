"""Numbered streams in the messages of a WebSocket: the first byte of a message is the number of its
stream. In the protocols with `base64` messages are text: the number is a digit, the rest is
encoded.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Sequence

from fairlead.api.relay.headers import offered_protocols
from fairlead.api.request import Request
from fairlead.api.subresources.targets import no_common_protocol
from fairlead.wire.incoming.websocket import BINARY, TEXT, message

_ZERO = ord("0")
_GROUP = 4  # characters that encode three bytes


def agreed_protocol(request: Request, names: Sequence[str]) -> str:
    """The first protocol that a client offers and that is among the names, "" if it offers none.
    Raises StatusError."""
    offers = offered_protocols(request)
    protocol = next((offer for offer in offers if offer in names), "")
    if offers and not protocol:
        raise no_common_protocol()
    return protocol


class Channels:
    """Messages of bytes."""

    def __init__(self) -> None:
        self._channel = -1

    def take(self, piece: bytes, begins: bool) -> tuple[int, bytes]:
        """The stream and the content of a piece of a message."""
        if begins:
            self._channel, piece = piece[0], piece[1:]
        return self._channel, piece

    def message(self, channel: int, data: bytes) -> bytes:
        return message(BINARY, bytes((channel,)) + data)


class TextChannels(Channels):
    """Messages of text. One that is not encoded properly is dropped from there on."""

    def __init__(self) -> None:
        super().__init__()
        self._rest = b""  # characters of a group that is incomplete

    def take(self, piece: bytes, begins: bool) -> tuple[int, bytes]:
        if begins:
            self._channel, piece, self._rest = piece[0] - _ZERO, piece[1:], b""
        text = self._rest + piece
        end = len(text) - len(text) % _GROUP
        self._rest = text[end:]
        try:
            return self._channel, b64decode(text[:end], validate=True)
        except ValueError:
            self._channel = -1
            return self._channel, b""

    def message(self, channel: int, data: bytes) -> bytes:
        return message(TEXT, chr(_ZERO + channel).encode() + b64encode(data))


def channels_of(protocol: str) -> Channels:
    return TextChannels() if "base64." in protocol else Channels()
