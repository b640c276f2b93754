"""Objects as protobuf messages, by the numbers in the type model.

`to_message` and `from_message` compile a struct once. Values are the JSON values that the rest of
the server works with: bytes are base64 text, times are text, quantities are text.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any

import orjson

from fairlead.bounded import remembered
from fairlead.schema.model import Field, ListOf, MapOf, Scalar, Struct, Type
from fairlead.schema.times import format_micro_time, format_time, parse_time
from fairlead.serialization.limits import TooDeep, bounded_json
from fairlead.serialization.wire import (
    BYTES,
    FIXED64,
    VARINT,
    WireError,
    delimited,
    double,
    double_bytes,
    field_at,
    fields,
    key,
    packed,
    signed,
    varint,
)

MAGIC = b"k8s\x00"
_EPOCH, _SECOND = datetime.fromtimestamp(0, UTC), timedelta(seconds=1)
_NAME, _ITEM = 1 << 3 | BYTES, 2 << 3 | BYTES  # what the parts of a map's entry begin with

Write = Callable[[Any], bytes]
Read = Callable[[Any], Any]


class ProtobufError(ValueError):
    """Bytes that are not an object of the type they claim to be."""


def _text(value: str) -> bytes:
    try:
        return value.encode()
    except UnicodeEncodeError:
        return value.encode("utf-8", "surrogatepass")


def _write_time(value: str | None) -> bytes:
    return _time(value) if value else b""


@remembered(4096, longest=32)
def _time(value: str) -> bytes:
    """Objects are full of the same few times."""
    moment = parse_time(value)
    out = key(1, VARINT) + varint((moment - _EPOCH) // _SECOND)
    nanos = moment.microsecond * 1000
    return out + key(2, VARINT) + varint(nanos)


def _moment(raw: bytes) -> datetime | None:
    found = {number: value for number, _, value in fields(raw)}
    if not found:
        return None
    seconds, nanos = found.get(1, 0), found.get(2, 0)
    if isinstance(seconds, bytes) or isinstance(nanos, bytes):
        raise WireError("wrong wireType for a timestamp")
    try:
        return _EPOCH + timedelta(seconds=signed(seconds), microseconds=signed(nanos) // 1000)
    except OverflowError:
        raise WireError(f"timestamp: {signed(seconds)} seconds are out of range") from None


@remembered(4096, longest=24)
def _read_time(raw: bytes) -> str | None:
    """Objects are full of the same few times."""
    moment = _moment(raw)
    return format_time(moment) if moment is not None else None


def _read_micro_time(raw: bytes) -> str | None:
    moment = _moment(raw)
    return format_micro_time(moment) if moment is not None else None


def _write_int_or_string(value: int | str) -> bytes:
    is_text = isinstance(value, str)
    number = value if isinstance(value, int) else 0
    text = value if isinstance(value, str) else ""
    return (
        key(1, VARINT)
        + varint(int(is_text))
        + key(2, VARINT)
        + varint(number)
        + delimited(key(3, BYTES), _text(text))
    )


def _read_int_or_string(raw: bytes) -> int | str:
    found = {number: value for number, _, value in fields(raw)}
    if found.get(1):
        text = found.get(3, b"")
        return text.decode() if isinstance(text, bytes) else ""
    number = found.get(2, 0)
    return signed(number) if isinstance(number, int) else 0


def _only_bytes(raw: bytes) -> bytes:
    """The one field of a message that wraps a text or bytes."""
    for number, wire_type, value in fields(raw):
        if number == 1 and wire_type == BYTES and isinstance(value, bytes):
            return value
    return b""


def _write_raw(value: Any) -> bytes:
    return delimited(key(1, BYTES), orjson.dumps(value))


def _read_raw(raw: bytes) -> Any:
    inner = _only_bytes(raw)
    return orjson.loads(inner) if inner else None


def _write_quantity(value: str) -> bytes:
    return delimited(key(1, BYTES), _text(value))


def _read_quantity(raw: bytes) -> str:
    return _only_bytes(raw).decode()


def _decode_base64(value: str) -> bytes:
    return base64.b64decode(value)


def _encode_base64(raw: bytes) -> str:
    return base64.b64encode(raw).decode()


# For each scalar: its wire type, how its content is written and how it is read.
_SCALARS: dict[str, tuple[int, Write, Read]] = {
    "string": (BYTES, _text, lambda raw: raw.decode("utf-8", "replace")),
    "bytes": (BYTES, _decode_base64, _encode_base64),
    "bool": (VARINT, lambda value: varint(int(value)), bool),
    "int32": (VARINT, varint, signed),
    "int64": (VARINT, varint, signed),
    "double": (FIXED64, double_bytes, double),
    "Time": (BYTES, _write_time, _read_time),
    "MicroTime": (BYTES, _write_time, _read_micro_time),
    "Quantity": (BYTES, _write_quantity, _read_quantity),
    "IntOrString": (BYTES, _write_int_or_string, _read_int_or_string),
    "raw": (BYTES, _write_raw, _read_raw),
    "any": (BYTES, _write_raw, _read_raw),
}


def _item_codec(node: Type) -> tuple[int, Write, Read]:
    """How one value of a type is written: as itself, or as a message of its own."""
    match node:
        case Scalar(name=name):
            return _SCALARS[name]
        case Struct():
            return BYTES, writer(node), reader(node)
        case ListOf():  # a list inside a list or map is a message with its items
            wrapped = _Member(Field("items", node, number=1))
            return (
                BYTES,
                lambda value: wrapped.write(value or ()),
                lambda raw: _read_one(wrapped, raw),
            )
        case MapOf():
            raise ProtobufError("a map inside a list or map has no protobuf form")


def _read_one(member: _Member, raw: bytes) -> Any:
    out: dict[str, Any] = {}
    for number, wire_type, value in fields(raw):
        if number == 1:
            member.read(out, wire_type, value)
    return out.get("items")


def _one(field_key: bytes, wire_type: int, write: Write) -> Write:
    """How one value is written as a field."""
    if wire_type != BYTES:
        return lambda value: field_key + write(value)
    heads = _heads(field_key)

    def one(value: Any) -> bytes:
        body = write(value)
        size = len(body)
        return heads[size] + body if size < 0x80 else field_key + varint(size) + body

    def text(value: str) -> bytes:
        try:
            body = value.encode()
        except UnicodeEncodeError:
            body = _text(value)
        size = len(body)
        return heads[size] + body if size < 0x80 else field_key + varint(size) + body

    return text if write is _text else one


@cache
def _heads(field_key: bytes) -> list[bytes]:
    """What stands before the content of a field, by the size of that."""
    return [field_key + varint(size) for size in range(0x80)]


class _Member:
    """How one field of a message is written and read."""

    def __init__(self, field: Field) -> None:
        self.name = field.name
        node = field.type
        self.repeated = isinstance(node, ListOf)
        self.mapped = isinstance(node, MapOf)
        element = node.element if isinstance(node, (ListOf, MapOf)) else node
        self.wire_type, write, self.read_one = _item_codec(element)
        field_key = key(field.number, BYTES if self.mapped else self.wire_type)
        self.write = self._writer(field_key, write)

    def _writer(self, field_key: bytes, write: Write) -> Write:
        if self.mapped:
            named = _one(b"\x0a", BYTES, _text)
            item = _one(key(2, self.wire_type), self.wire_type, write)

            def entries(value: dict[str, Any]) -> bytes:
                out: list[bytes] = []
                for name in sorted(value):
                    entry = named(name) + item(value[name])
                    out += (field_key, varint(len(entry)), entry)
                return b"".join(out)

            return entries
        one = _one(field_key, self.wire_type, write)
        if self.repeated:
            return lambda value: b"".join([one(item) for item in value])
        return one

    def read(self, out: dict[str, Any], wire_type: int, value: int | bytes) -> None:
        if wire_type != (BYTES if self.mapped else self.wire_type):
            if not self.repeated or wire_type != BYTES or self.wire_type != VARINT:
                raise WireError(f"proto: wrong wireType = {wire_type} for field {self.name}")
            assert isinstance(value, bytes)
            out.setdefault(self.name, []).extend(map(self.read_one, packed(value)))
        elif self.mapped:
            assert isinstance(value, bytes)
            name, item = self._read_entry(value)
            out.setdefault(self.name, {})[name] = item
        elif self.repeated:
            out.setdefault(self.name, []).append(self.read_one(value))
        else:
            out[self.name] = self.read_one(value)

    def _read_entry(self, raw: bytes) -> tuple[str, Any]:
        # As all write it: the name, then the value, both short enough for sizes of a byte or two.
        size = len(raw)
        if self.wire_type == BYTES and size > 3 and raw[0] == _NAME and raw[1] < 0x80:
            at = raw[1] + 2
            if at < size - 1 and raw[at] == _ITEM:
                length, start = raw[at + 1], at + 2
                if length > 0x7F and start < size and raw[start] < 0x80:
                    length, start = length & 0x7F | raw[start] << 7, start + 1
                if start + length == size:
                    return raw[2:at].decode(), self.read_one(raw[start:])
        name: int | bytes = b""
        item: int | bytes = b"" if self.wire_type == BYTES else 0
        for number, wire_type, value in fields(raw):
            if number in (1, 2) and wire_type != (BYTES if number == 1 else self.wire_type):
                raise WireError(f"proto: wrong wireType = {wire_type} for an entry of {self.name}")
            if number == 1:
                name = value
            elif number == 2:
                item = value
        assert isinstance(name, bytes)
        return name.decode(), self.read_one(item)


class _Codec:
    """A struct's members by name and number, and the structs that lie flat in it."""

    def __init__(self, struct: Struct) -> None:
        flat = {name for part in struct.embedded.values() for name in part.struct.fields}
        own = [f for f in struct.fields.values() if f.number and f.name not in flat]
        self.members = {field.name: _Member(field) for field in own}
        self.writes = {name: member.write for name, member in self.members.items()}
        self.by_number = {field.number: self.members[field.name] for field in own}
        # What is read most: fields of one value, by the byte that they begin with if it is one and
        # a size follows, else by number and wire type.
        self.single: dict[tuple[int, int], tuple[str, Read]] = {}
        self.sized: dict[int, tuple[str, Read]] = {}
        for number, member in self.by_number.items():
            if not member.repeated and not member.mapped:
                self.single[number, member.wire_type] = member.name, member.read_one
                if number < 16 and member.wire_type == BYTES:
                    self.sized[number << 3 | BYTES] = member.name, member.read_one
        self.parts = {part.number: reader(part.struct) for part in struct.embedded.values()}
        self.part_writers = [
            (key(part.number, BYTES), writer(part.struct)) for part in struct.embedded.values()
        ]


def _codec(struct: Struct) -> _Codec:
    found: _Codec | None = struct.walkers.get("protobuf")
    if found is None:
        found = struct.walkers["protobuf"] = _Codec(struct)
    return found


def writer(struct: Struct) -> Write:
    """How objects of a struct become messages; the codec is made on first use, since types may
    refer to themselves."""

    codec: _Codec | None = None

    def write(value: Any) -> bytes:
        nonlocal codec
        if codec is None:
            codec = _codec(struct)
        writes = codec.writes
        parts = []
        for name, item in value.items():
            if item is not None and name in writes:
                parts.append(writes[name](item))
        for field_key, write_part in codec.part_writers:
            parts.append(delimited(field_key, write_part(value)))
        return b"".join(parts)

    return write


def reader(struct: Struct) -> Read:
    codec: _Codec | None = None

    def read(raw: Any) -> dict[str, Any]:
        nonlocal codec
        if codec is None:
            codec = _codec(struct)
        out: dict[str, Any] = {}
        single, sized = codec.single, codec.sized
        at, end = 0, len(raw)
        while at < end:
            one = sized.get(raw[at])
            if one is not None and at + 1 < end and (size := raw[at + 1]) < 0x80:
                start = at + 2
                at = start + size
                if at > end:
                    raise WireError("unexpected EOF")
                name, read_one = one
                out[name] = read_one(raw[start:at])
                continue
            number, wire_type, value, at = field_at(raw, at)
            one = single.get((number, wire_type))
            if one is not None:
                name, read_one = one
                out[name] = read_one(value)
            elif (member := codec.by_number.get(number)) is not None:
                member.read(out, wire_type, value)
            elif number in codec.parts and isinstance(value, bytes):
                out.update(codec.parts[number](value))
        return out

    return read


_TYPE_META_KEY, _RAW_KEY = key(1, BYTES), key(2, BYTES)
EMPTY_TAIL = delimited(key(3, BYTES), b"") + delimited(key(4, BYTES), b"")


def to_message(struct: Struct, value: dict[str, Any]) -> bytes:
    """An object with kind and apiVersion in its envelope."""
    body = writer(struct)(value)
    opening, closing = envelope_around(value, len(body))
    return opening + body + closing


def envelope_around(value: dict[str, Any], size: int) -> tuple[bytes, bytes]:
    """What stands before and behind a message of some bytes in the envelope of a value's kind and
    apiVersion."""
    return envelope_head(value) + varint(size), EMPTY_TAIL


def envelope_head(value: dict[str, Any]) -> bytes:
    """What stands before the size of a message there."""
    meta = delimited(_TYPE_META_KEY, _text(value["apiVersion"])) + delimited(
        _RAW_KEY, _text(value["kind"])
    )
    return MAGIC + delimited(_TYPE_META_KEY, meta) + _RAW_KEY


def envelope(raw: bytes) -> tuple[str, str, bytes]:
    """The apiVersion, kind and content of an envelope."""
    if not raw.startswith(MAGIC):
        raise ProtobufError(
            "provided data does not appear to be a protobuf message, expected prefix 6b387300"
        )
    if raw.endswith(EMPTY_TAIL) and (usual := _usual_envelope(raw)):
        return usual
    api_version = kind = ""
    content = b""
    try:
        for number, _, value in fields(raw[len(MAGIC) :]):
            if number == 1 and isinstance(value, bytes):
                api_version, kind = _type_meta(value)
            elif number == 2 and isinstance(value, bytes):
                content = value
    except WireError as error:
        raise ProtobufError(_told(error)) from None
    return api_version, kind, content


def _usual_envelope(raw: bytes) -> tuple[str, str, bytes] | None:
    """The same of one that has nothing but its type and content, as most writers make it."""
    if raw[4] != _TYPE_META_KEY[0] or raw[5] > 0x7F:
        return None
    at = raw[5] + 6
    end = len(raw) - len(EMPTY_TAIL)
    if at + 1 >= end or raw[at] != _RAW_KEY[0]:
        return None
    size, start = raw[at + 1], at + 2
    if size > 0x7F and raw[start] < 0x80:
        size, start = size & 0x7F | raw[start] << 7, start + 1
    return (*_type_meta(raw[6:at]), raw[start:end]) if start + size == end else None


@remembered(512)
def _type_meta(raw: bytes) -> tuple[str, str]:
    """The apiVersion and kind that stand before a message."""
    try:
        meta = {n: v for n, _, v in fields(raw) if isinstance(v, bytes)}
        return meta.get(1, b"").decode(), meta.get(2, b"").decode()
    except (WireError, UnicodeDecodeError) as error:
        raise ProtobufError(_told(error)) from None


def from_message(struct: Struct, content: bytes) -> dict[str, Any]:
    """The object in an envelope, as JSON values that are still to be decoded."""
    try:
        value: dict[str, Any] = reader(struct)(content)
        bounded_json(value)
    except (WireError, UnicodeDecodeError, orjson.JSONDecodeError, binascii.Error) as error:
        raise ProtobufError(_told(error)) from None
    except (TooDeep, RecursionError):
        raise ProtobufError("proto: exceeded max depth") from None
    return value


def _told(error: ValueError) -> str:
    """What is wrong, without the bytes that are."""
    is_text = not isinstance(error, UnicodeDecodeError)
    return str(error) if is_text else "proto: a text contains invalid UTF-8"


def watch_frame(kind: str, message: bytes) -> bytes:
    """One event of a watch stream: a length, then the event with its object."""
    raw = delimited(key(1, BYTES), message)
    event = delimited(key(1, BYTES), _text(kind)) + delimited(key(2, BYTES), raw)
    return len(event).to_bytes(4, "big") + event
