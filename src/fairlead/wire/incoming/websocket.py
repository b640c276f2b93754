"""WebSocket framing (RFC 6455): the frames that a server sends, and the parser of either side."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable
from hashlib import sha1

VERSION = b"13"
TEXT, BINARY, CLOSE, PING, PONG = 1, 2, 8, 9, 10
NORMAL, PROTOCOL_ERROR = 1000, 1002

_GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
_LAST = 0x80  # final frame of a message
_MASKED = 0x80
_OPCODE, _CONTROL = 0x0F, 0x08
_MAX_CONTROL = 125
_SHORT, _LONG = 126, 127  # markers for a length in the following 2 or 8 bytes
_LENGTH_BYTES = {_SHORT: 2, _LONG: 8}
_MASK_BYTES = 4


def acceptance(key: bytes) -> bytes:
    """Return the value of Sec-WebSocket-Accept for a key."""
    return b64encode(sha1(key + _GUID, usedforsecurity=False).digest())


def message(opcode: int, payload: bytes) -> bytes:
    """Encode a message as one frame."""
    size = len(payload)
    if size < _SHORT:
        return bytes((_LAST | opcode, size)) + payload
    form = _SHORT if size < 1 << 16 else _LONG
    length = size.to_bytes(_LENGTH_BYTES[form], "big")
    return b"".join((bytes((_LAST | opcode, form)), length, payload))


def closing(code: int) -> bytes:
    return message(CLOSE, code.to_bytes(2, "big"))


class _Malformed(Exception):
    """The other side sent an invalid frame."""


class Incoming:
    """Parses frames from a client, or those of a server, which are not masked. `on_ping` gets the
    payload for the pong, and `on_close` is called once, with the close code to send. `on_data` gets
    the pieces of data messages as they arrive, and whether a piece begins a message; without it
    they are skipped."""

    __slots__ = (
        "_begins", "_buffer", "_is_over", "_mask", "_mask_bytes", "_on_close", "_on_data",
        "_on_ping", "_remaining",
    )  # fmt: skip

    def __init__(
        self,
        on_ping: Callable[[bytes], None],
        on_close: Callable[[int], None],
        on_data: Callable[[bytes, bool], None] | None = None,
        *,
        is_masked: bool = True,
    ) -> None:
        self._mask_bytes = _MASK_BYTES if is_masked else 0
        self._on_ping = on_ping
        self._on_close = on_close
        self._on_data = on_data
        self._buffer = b""
        self._remaining = 0  # bytes of a data frame
        self._mask = b""  # for them
        self._begins = False  # a message
        self._is_over = False

    def receive(self, data: bytes) -> None:
        if self._buffer:
            data = self._buffer + data
        position = 0
        try:
            while not self._is_over:
                taken = min(self._remaining, len(data) - position)
                if taken and self._on_data is not None:
                    self._deliver(data[position : position + taken])
                self._remaining -= taken
                position += taken
                consumed = self._receive_frame(data, position)
                if not consumed:
                    break
                position += consumed
        except _Malformed:
            self._end(PROTOCOL_ERROR)
        self._buffer = b"" if self._is_over else data[position:]

    def _receive_frame(self, data: bytes, start: int) -> int:
        """Parse a frame, without its payload if that is skipped; returns the number of bytes
        consumed, 0 if more are needed."""
        if len(data) < start + 2:
            return 0
        first, second = data[start], data[start + 1]
        if bool(second & _MASKED) is not bool(self._mask_bytes):
            raise _Malformed
        length = second & ~_MASKED
        mask = start + 2 + _LENGTH_BYTES.get(length, 0)
        payload = mask + self._mask_bytes
        if len(data) < payload:
            return 0
        if not first & _CONTROL:
            extended_length = data[start + 2 : mask]
            self._remaining = int.from_bytes(extended_length, "big") if extended_length else length
            self._mask = data[mask:payload]
            self._begins = self._begins or bool(first & _OPCODE)
            return payload - start
        end = payload + length
        if length > _MAX_CONTROL or not first & _LAST:
            raise _Malformed
        if len(data) < end:
            return 0
        self._control(first & _OPCODE, masked(data[mask:payload], data[payload:end]))
        return end - start

    def _deliver(self, piece: bytes) -> None:
        assert self._on_data is not None
        begins, self._begins = self._begins, False
        mask, shift = self._mask, len(piece) % _MASK_BYTES
        self._mask = mask[shift:] + mask[:shift]
        self._on_data(masked(mask, piece), begins)

    def _control(self, opcode: int, payload: bytes) -> None:
        if opcode == PING:
            self._on_ping(payload)
        elif opcode == CLOSE:
            self._end(NORMAL)

    def _end(self, code: int) -> None:
        self._is_over = True
        self._on_close(code)


def masked(mask: bytes, payload: bytes) -> bytes:
    """Mask a payload, or unmask it; without a mask it stays as it is."""
    if not mask:
        return payload
    size = len(payload)
    repeated = (mask * (size // _MASK_BYTES + 1))[:size]
    return (int.from_bytes(payload, "big") ^ int.from_bytes(repeated, "big")).to_bytes(size, "big")
