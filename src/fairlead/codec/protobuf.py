"""Encodes and decodes objects in the API's protobuf envelope.

Values are JSON values, as in the rest of the server: bytes are base64 text, times and quantities
are text.
"""

from __future__ import annotations

import binascii
from functools import cache
from typing import Any

import orjson

from fairlead.base.caches import memoized
from fairlead.codec.bodies import TooDeep, bounded_json
from fairlead.codec.messages.reader import decoding_reader, reader
from fairlead.codec.messages.scalars import text_bytes
from fairlead.codec.messages.writer import writer as writer
from fairlead.codec.protobuf_wire import (
    BYTES,
    WireError,
    delimited,
    fields,
    key,
    long_varint,
    varint,
)
from fairlead.codec.types.model import Struct, recurs

MAGIC = b"k8s\x00"


class ProtobufError(ValueError):
    """Bytes that are not an object of the declared type."""


_FIRST, _SECOND = key(1, BYTES), key(2, BYTES)
CONTENT = _SECOND  # the key of the envelope field that holds the message
_MIN_ENVELOPE_BYTES = 12  # bytes of an envelope
EMPTY_TAIL = delimited(key(3, BYTES), b"") + delimited(key(4, BYTES), b"")


def to_message(struct: Struct, value: dict[str, Any]) -> bytes:
    """Encode an object that has kind and apiVersion, in its envelope."""
    return enveloped(value["apiVersion"], value["kind"], writer(struct)(value))


def enveloped(api_version: str, kind: str, message: bytes) -> bytes:
    """Wrap a message in the envelope of its type."""
    opening, closing = envelope_around(api_version, kind, len(message))
    return b"".join((opening, message, closing))


def enveloped_field(api_version: str, kind: str, field: bytes) -> bytes:
    """Wrap a message that already is encoded as the envelope's field, see `CONTENT`."""
    return b"".join((_type_field(api_version, kind), field, EMPTY_TAIL))


def envelope_around(api_version: str, kind: str, size: int) -> tuple[bytes, bytes]:
    """The bytes before and after a message of `size` bytes in the envelope of its type."""
    return envelope_head(api_version, kind) + varint(size), EMPTY_TAIL


def envelope_head(api_version: str, kind: str) -> bytes:
    """The bytes of an envelope before the size of the message."""
    return _type_field(api_version, kind) + CONTENT


@cache
def _type_field(api_version: str, kind: str) -> bytes:
    """The bytes of an envelope before the field of the message. Cached without a limit: the types
    are those of this server, not of clients."""
    meta = delimited(_FIRST, text_bytes(api_version)) + delimited(_SECOND, text_bytes(kind))
    return MAGIC + delimited(_FIRST, meta)


def envelope(raw: bytes) -> tuple[str, str, bytes]:
    """The apiVersion, kind and content of an envelope."""
    if not raw.startswith(MAGIC):
        raise ProtobufError(
            "provided data does not appear to be a protobuf message, expected prefix 6b387300"
        )
    if len(raw) == len(MAGIC):
        raise ProtobufError("empty body")
    if envelope := fast_envelope(raw):
        return envelope
    api_version = kind = ""
    content = b""
    try:
        for number, _, value in fields(raw[len(MAGIC) :]):
            if number == 1 and isinstance(value, bytes):
                api_version, kind = _type_meta(value)
            elif number == 2 and isinstance(value, bytes):
                content = value
    except WireError as error:
        raise ProtobufError(_error_text(error)) from None
    return api_version, kind, content


def fast_envelope(raw: bytes) -> tuple[str, str, bytes] | None:
    """Fast path of `envelope` for the usual layout: only a type and content. None for others."""
    if (
        len(raw) < _MIN_ENVELOPE_BYTES
        or not (raw.startswith(MAGIC) and raw.endswith(EMPTY_TAIL))
        or raw[4] != _FIRST[0]
        or raw[5] > 0x7F
    ):
        return None
    offset = raw[5] + 6
    end = len(raw) - len(EMPTY_TAIL)
    if offset + 1 >= end or raw[offset] != _SECOND[0]:
        return None
    size, start = long_varint(raw, offset + 1)
    return (*_type_meta(raw[6:offset]), raw[start:end]) if start + size == end else None


@memoized(512)
def _type_meta(raw: bytes) -> tuple[str, str]:
    """The apiVersion and kind in the type field of an envelope."""
    try:
        meta = {n: v for n, _, v in fields(raw) if isinstance(v, bytes)}
        return meta.get(1, b"").decode(), meta.get(2, b"").decode()
    except (WireError, UnicodeDecodeError) as error:
        raise ProtobufError(_error_text(error)) from None


def from_message(struct: Struct, content: bytes) -> dict[str, Any]:
    """Decode the message of an envelope to JSON values, which the struct's decoder still has to
    decode."""
    try:
        value: dict[str, Any] = reader(struct)(content)
        if _may_be_deep(struct, content):
            bounded_json(value)
    except (WireError, UnicodeDecodeError, orjson.JSONDecodeError, binascii.Error) as error:
        raise ProtobufError(_error_text(error)) from None
    except (TooDeep, RecursionError):
        raise ProtobufError("proto: exceeded max depth") from None
    return value


def decoded_message(struct: Struct, content: bytes) -> dict[str, Any] | None:
    """Decode a message and apply the struct's decoder in one pass. None if something is wrong or
    unusual; the caller then uses the two separate steps to find the error."""
    if recurs(struct):
        return None
    try:
        value: dict[str, Any] = decoding_reader(struct)(content)
    except ValueError:
        return None
    return value


_FEW_BRACKETS = 100  # with these and the levels of a type, a document is far from too deep


def _may_be_deep(struct: Struct, content: bytes) -> bool:
    """Whether to check the depth: only types that contain themselves, and JSON inside of messages,
    can be deep."""
    return recurs(struct) or content.count(b"{") + content.count(b"[") > _FEW_BRACKETS


def _error_text(error: ValueError) -> str:
    """The error message without the invalid bytes."""
    is_text = not isinstance(error, UnicodeDecodeError)
    return str(error) if is_text else "proto: a text contains invalid UTF-8"


def watch_frame(kind: str, message: bytes) -> bytes:
    """One event of a watch stream: its length, then the event with its object."""
    raw = delimited(_FIRST, message)
    event = delimited(_FIRST, text_bytes(kind)) + delimited(_SECOND, raw)
    return len(event).to_bytes(4, "big") + event


# Content type and content encoding of an envelope.

_ENCODING, _TYPE = 3, 4


def content_type(raw: bytes) -> str:
    """The media type of an envelope's content; empty for a protobuf message. Raises ProtobufError
    if the content has an encoding."""
    if fast_envelope(raw):
        return ""
    values: dict[int, bytes] = {}
    try:
        for number, _, value in fields(raw[len(MAGIC) :]):
            if number in (_ENCODING, _TYPE) and isinstance(value, bytes):
                values[number] = value
    except WireError as error:
        raise ProtobufError(str(error)) from None
    encoding = values.get(_ENCODING, b"").decode(errors="replace")
    if encoding:
        raise ProtobufError(f'the content encoding "{encoding}" is not known')
    return values.get(_TYPE, b"").decode(errors="replace")
