"""The protobuf wire format: keys, varints and length-delimited fields."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Final

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5


class WireError(ValueError):
    """Bytes that are not a protobuf message."""


_ONE_BYTE: Final = [bytes([value]) for value in range(0x80)]
_FIRST_OF_MORE: Final = [bytes([value | 0x80]) for value in range(0x80)]


def varint(value: int) -> bytes:
    """An unsigned varint; negative numbers as 64-bit two's complement. Optimized for short lengths,
    the usual case."""
    if 0 <= value < 0x80:
        return _ONE_BYTE[value]
    if 0 < value < 0x4000:
        return _FIRST_OF_MORE[value & 0x7F] + _ONE_BYTE[value >> 7]
    if value < 0:
        value += 1 << 64
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def signed(value: int) -> int:
    return value - (1 << 64) if value >= 1 << 63 else value


def key(number: int, wire_type: int) -> bytes:
    return varint(number << 3 | wire_type)


def delimited(field_key: bytes, body: bytes) -> bytes:
    size = len(body)
    return field_key + (_ONE_BYTE[size] if size < 0x80 else varint(size)) + body


def fields(raw: bytes) -> Iterator[tuple[int, int, int | bytes]]:
    """Yields the fields of a message: number, wire type, and value as an integer or bytes."""
    offset, end = 0, len(raw)
    while offset < end:
        number, wire_type, value, offset = field_at(raw, offset)
        yield number, wire_type, value


def field_at(raw: bytes, offset: int) -> tuple[int, int, int | bytes, int]:
    """The field at an offset, and the offset after it."""
    number, wire_type, start, offset = field_bounds(raw, offset, len(raw))
    if wire_type == VARINT:
        return number, wire_type, long_varint(raw, start)[0], offset
    return number, wire_type, raw[start:offset], offset


def field_bounds(raw: bytes, offset: int, end: int) -> tuple[int, int, int, int]:
    """The number and wire type of the field at an offset, the offset of its content, and the offset
    after it, at most `end`. Keys and sizes of one byte, the usual case, are read in place."""
    head = raw[offset]
    offset += 1
    if head > 0x7F:
        head, offset = long_varint(raw, offset - 1)
    wire_type = head & 7
    if wire_type == VARINT:
        start = offset
        offset = long_varint(raw, offset)[1]
    else:
        if wire_type == BYTES:
            size = raw[offset] if offset < end else 0x80
            offset += 1
            if size > 0x7F:
                size, offset = long_varint(raw, offset - 1)
        elif wire_type in (FIXED64, FIXED32):
            size = 8 if wire_type == FIXED64 else 4
        else:
            raise WireError(f"proto: illegal wireType {wire_type}")
        start, offset = offset, offset + size
    if offset > end:
        raise WireError("unexpected EOF")
    if head < 8:
        raise WireError("proto: illegal tag 0")
    return head >> 3, wire_type, start, offset


def packed(raw: bytes) -> Iterator[int]:
    """The numbers of a packed repeated field."""
    offset = 0
    while offset < len(raw):
        value, offset = long_varint(raw, offset)
        yield value


def long_varint(raw: bytes, offset: int) -> tuple[int, int]:
    """The varint at an offset, and the offset after it."""
    if offset < len(raw) and raw[offset] < 0x80:
        return raw[offset], offset + 1
    result = shift = 0
    while True:
        if offset >= len(raw) or shift > 63:
            raise WireError("unexpected EOF" if offset >= len(raw) else "proto: integer overflow")
        byte = raw[offset]
        offset += 1
        result |= (byte & 0x7F) << shift
        if byte < 0x80:
            return result & (1 << 64) - 1, offset
        shift += 7


def sized_end(raw: bytes, offset: int) -> int:
    """The offset after a length-delimited value whose size is at `offset`."""
    size, start = long_varint(raw, offset)
    return start + size


def double(raw: bytes) -> float:
    if not raw:  # a map entry without a value
        return 0.0
    value: float = struct.unpack("<d", raw)[0]
    return value


def double_bytes(value: float) -> bytes:
    return struct.pack("<d", value)
