"""Encodes and decodes values that are not structs.

Values are JSON values, as in the rest of the server: bytes are base64 text, times and quantities
are text.
"""

from __future__ import annotations

import base64
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any, Final, NamedTuple

import orjson

from fairlead.base.caches import memoized
from fairlead.codec.protobuf_wire import (
    BYTES,
    FIXED64,
    VARINT,
    WireError,
    delimited,
    double,
    double_bytes,
    fields,
    key,
    long_varint,
    signed,
    varint,
)
from fairlead.codec.types.durations import parse_duration
from fairlead.codec.types.times import format_micro_time, format_time, parse_time

_EPOCH, _SECOND = datetime.fromtimestamp(0, UTC), timedelta(seconds=1)

_ONLY: Final = [
    b"\x0a" + varint(size) for size in range(0x80)
]  # the head of a message's only field

Write = Callable[[Any], bytes]
Read = Callable[[Any], Any]


def text_bytes(value: str) -> bytes:
    try:
        return value.encode()
    except UnicodeEncodeError:
        return value.encode("utf-8", "replace")


def _write_time(value: str | None) -> bytes:
    return _seconds(value) if value else b""


def _write_micro_time(value: str | None) -> bytes:
    return _micros(value) if value else b""


@memoized(4096, longest=32)
def _seconds(value: str) -> bytes:
    """Cached: objects repeat the same few times."""
    return _timestamp(parse_time(value), 0)


@memoized(4096, longest=40)
def _micros(value: str) -> bytes:
    moment = parse_time(value)
    return _timestamp(moment, moment.microsecond * 1000)


def _timestamp(moment: datetime, nanos: int) -> bytes:
    seconds = varint((moment - _EPOCH) // _SECOND)
    return key(1, VARINT) + seconds + key(2, VARINT) + varint(nanos)


def _moment(raw: bytes) -> datetime | None:
    values = {number: value for number, _, value in fields(raw)}
    if not values:
        return None
    seconds, nanos = values.get(1, 0), values.get(2, 0)
    if isinstance(seconds, bytes) or isinstance(nanos, bytes):
        raise WireError("wrong wireType for a timestamp")
    try:
        return _EPOCH + timedelta(seconds=signed(seconds), microseconds=signed(nanos) // 1000)
    except OverflowError:
        raise WireError(f"timestamp: {signed(seconds)} seconds are out of range") from None


@memoized(4096, longest=24)
def _read_time(raw: bytes) -> str | None:
    """Cached: objects repeat the same few times."""
    moment = _moment(raw)
    return format_time(moment) if moment is not None else None


def _read_micro_time(raw: bytes) -> str | None:
    moment = _moment(raw)
    return format_micro_time(moment) if moment is not None else None


def _write_int_or_string(value: int | str) -> bytes:
    if isinstance(value, str):
        return b"\x08\x01\x10\x00" + delimited(b"\x1a", text_bytes(value))
    return b"\x08\x00\x10" + varint(value) + b"\x1a\x00"


def _read_int_or_string(raw: bytes) -> int | str:
    if raw[:3] == b"\x08\x00\x10" and raw[-2:] == b"\x1a\x00":  # the usual encoding of a number
        number, end = long_varint(raw, 3)
        if end == len(raw) - 2:
            return signed(number)
    values = {number: value for number, _, value in fields(raw)}
    if values.get(1):
        text = values.get(3, b"")
        return _read_text(text) if isinstance(text, bytes) else ""
    value = values.get(2, 0)
    return signed(value) if isinstance(value, int) else 0


def _only_bytes(raw: bytes) -> bytes:
    """The only field of a message that wraps a string or bytes."""
    if raw[:1] == b"\x0a" and len(raw) > 1 and raw[1] == len(raw) - 2 < 0x80:
        return raw[2:]
    for number, wire_type, value in fields(raw):
        if number == 1 and wire_type == BYTES and isinstance(value, bytes):
            return value
    return b""


def _write_duration(value: str) -> bytes:
    return b"\x08" + varint(round(parse_duration(value) * 1e9))


def _read_duration(raw: bytes) -> str:
    for number, wire_type, value in fields(raw):
        if number == 1 and wire_type == VARINT and isinstance(value, int):
            return f"{signed(value) / 1e9:g}s"
    return "0s"


def _write_raw(value: Any) -> bytes:
    return delimited(b"\x0a", orjson.dumps(value)) if value is not None else b""


def _read_raw(raw: bytes) -> Any:
    inner = _only_bytes(raw)
    return orjson.loads(inner) if inner else None


def _write_quantity(value: str) -> bytes:
    body = value.encode()
    return _ONLY[n] + body if (n := len(body)) < 0x80 else delimited(b"\x0a", body)


def _read_quantity(raw: bytes) -> str:
    return _read_text(_only_bytes(raw))


def _read_text(raw: bytes) -> str:
    return raw.decode("utf-8", "replace")


def _encode_base64(raw: bytes) -> str:
    return base64.b64encode(raw).decode()


class Form(NamedTuple):
    """The encoding of a scalar: its wire type, the functions that write and read its content, and
    the content if the value is absent but must be written; None if it is omitted."""

    wire_type: int
    write: Write
    read: Read
    zero: bytes | None


SCALARS: Final[dict[str, Form]] = {
    "string": Form(BYTES, text_bytes, _read_text, b""),
    "bytes": Form(BYTES, base64.b64decode, _encode_base64, None),
    "bool": Form(VARINT, lambda value: varint(int(value)), bool, b"\x00"),
    "int32": Form(VARINT, varint, signed, b"\x00"),
    "int64": Form(VARINT, varint, signed, b"\x00"),
    "double": Form(FIXED64, double_bytes, double, double_bytes(0.0)),
    "Time": Form(BYTES, _write_time, _read_time, b""),
    "MicroTime": Form(BYTES, _write_micro_time, _read_micro_time, b""),
    "Duration": Form(BYTES, _write_duration, _read_duration, b""),
    "Quantity": Form(BYTES, _write_quantity, _read_quantity, _write_quantity("0")),
    "IntOrString": Form(BYTES, _write_int_or_string, _read_int_or_string, _write_int_or_string(0)),
    "raw": Form(BYTES, _write_raw, _read_raw, b""),
    "any": Form(BYTES, _write_raw, _read_raw, b""),
}
