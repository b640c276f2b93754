"""Encodes objects as protobuf messages, byte for byte as the reference does.

Fields are in the order of their numbers, map entries in the order of their names. A field that is
not a pointer in the reference is always written, even if zero; pointers, lists, maps and bytes are
written only if present.

The layout of a struct is built on first use as a list of its fields. Traversing it dominates the
time of a list request, which is why this module is compiled.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Final

from fairlead.codec.messages.scalars import SCALARS, Write, text_bytes
from fairlead.codec.protobuf_wire import BYTES, delimited, key, varint
from fairlead.codec.types.decode import alternatives_of
from fairlead.codec.types.model import (
    Embedded,
    Field,
    ListOf,
    MapOf,
    Presence,
    Scalar,
    Struct,
    Type,
)

_NAME: Final = key(1, BYTES)
_ITEM: Final = key(2, BYTES)
_EMPTY: Final[dict[str, Any]] = {}
_NUMBERS: Final = ("int32", "int64")
_ALWAYS_THERE = (Presence.OMITTED, Presence.ALWAYS)  # except lists, maps and bytes

# How the value of a field is written.
_TEXT: Final = 0
_STRUCT: Final = 1
_EMBEDDED: Final = 2
_BOOL: Final = 3
_NUMBER: Final = 4
_SIZED: Final = 5  # by a function that returns its content
_STRUCTS: Final = 6
_TEXTS: Final = 7
_TEXT_MAP: Final = 8
_MANY: Final = 9  # lists and maps by a function that returns all fields
_WHOLE: Final = 10  # by a function that returns the field
_QUANTITY_MAP: Final = 11
_FEW: Final = 3  # below 1/3 of the fields of a message, present fields are looked up one by one


_MAPS: Final = {"string": _TEXT_MAP, "Quantity": _QUANTITY_MAP}


class NoMessage(ValueError):
    """A type without a protobuf encoding."""


def writer(struct: Struct) -> Write:
    """The function that encodes objects of a struct."""
    message = _message_of(struct)

    def write(value: Any) -> bytes:
        try:
            return _encode(message, value)
        except UnicodeEncodeError:
            return _encode(message, _with_good_texts(value))

    return write


def _with_good_texts(value: Any) -> Any:
    """Replace lone surrogates in all strings; no other part of the server lets them in."""
    if isinstance(value, str):
        return text_bytes(value).decode()
    if isinstance(value, dict):
        return {_with_good_texts(name): _with_good_texts(item) for name, item in value.items()}
    return [_with_good_texts(item) for item in value] if isinstance(value, list) else value


def by_number(struct: Struct) -> list[Field | Embedded]:
    """The fields and embedded structs of a message, in the order of their numbers."""
    flat = {name for part in struct.embedded.values() for name in part.struct.fields}
    own = [field for field in struct.fields.values() if field.number and field.name not in flat]
    return sorted([*own, *struct.embedded.values()], key=lambda part: part.number)


@cache
def _heads(field_key: bytes) -> list[bytes]:
    """The head (key and size) of a field for each content size below 128; also the whole field of a
    number below 128."""
    return [field_key + varint(size) for size in range(0x80)]


_NAMES: Final = _heads(_NAME)
_ITEMS: Final = _heads(_ITEM)


class _Message:
    """How objects of a struct are written. Its parts are built when the first object is written:
    types refer to themselves, and most are never used."""

    def __init__(self, struct: Struct) -> None:
        self.struct = struct
        self.is_known = False
        self.parts: list[_Part] = []
        self.places: dict[str, int] = {}  # index of parts by name, if all of them are optional


class _Part:
    """How a field is written."""

    def __init__(self, name: str, form: int, field_key: bytes) -> None:
        self.name = name
        self.form = form
        self.key = field_key
        self.heads: list[bytes] = _heads(field_key)
        self.absent = b""  # the bytes written if the field is absent
        self.message: _Message | None = None
        self.write: Write | None = None


def _message_of(struct: Struct) -> _Message:
    message: _Message | None = struct.walkers.get("protobuf writer")
    if message is None:
        message = struct.walkers["protobuf writer"] = _Message(struct)
    return message


def _part(part: Field | Embedded) -> _Part:
    if isinstance(part, Embedded):
        result = _Part(part.name, _EMBEDDED, key(part.number, BYTES))
        result.message = _message_of(part.struct)
        return result
    node = part.type
    if isinstance(node, ListOf):
        return _list_part(part, node.element)
    wire_type, write = _content_of(part)
    if isinstance(node, MapOf):
        form = _MANY
        if isinstance(node.element, Scalar) and part.message is None:
            form = _MAPS.get(node.element.name, _MANY)
        result = _Part(part.name, form, key(part.number, BYTES))
        result.write = _map_field(part.number, wire_type, write)
        return result
    if part.message is not None:
        result = _Part(part.name, _SIZED, key(part.number, BYTES))
        result.write = write
        return result
    if isinstance(node, Struct):
        result = _Part(part.name, _STRUCT, key(part.number, BYTES))
        result.message = _message_of(node)
        if part.presence in _ALWAYS_THERE:
            result.absent = delimited(result.key, _encode(result.message, _EMPTY))
        return result
    return _scalar_part(part, node)


def _is_text(node: Type) -> bool:
    return isinstance(node, Scalar) and node.name == "string"


def _list_part(field: Field, element: Type) -> _Part:
    form = _MANY
    if isinstance(element, Struct):
        form = _STRUCTS
    elif _is_text(element):
        form = _TEXTS
    result = _Part(field.name, form, key(field.number, BYTES))
    if isinstance(element, Struct):
        result.message = _message_of(element)
    elif form == _MANY:
        result.write = _list_field(field.number, element)
    return result


def _scalar_part(field: Field, node: Scalar) -> _Part:
    scalar = SCALARS[node.name]
    form = _SIZED if scalar.wire_type == BYTES else _WHOLE
    if node.name == "string":
        form = _TEXT
    elif node.name == "bool":
        form = _BOOL
    elif node.name in _NUMBERS:
        form = _NUMBER
    result = _Part(field.name, form, key(field.number, scalar.wire_type))
    result.write = scalar.write if form == _SIZED else _one_field(field.number, node)
    if scalar.zero is not None and field.presence in _ALWAYS_THERE:
        is_sized = scalar.wire_type == BYTES
        result.absent = delimited(result.key, scalar.zero) if is_sized else result.key + scalar.zero
    return result


def _encode(message: _Message, value: dict[str, Any]) -> bytes:
    out: list[bytes] = []
    _write(message, value, out)
    return b"".join(out)


def _build_parts(message: _Message) -> None:
    parts = [_part(part) for part in by_number(message.struct)]
    if not any(part.absent or part.form == _EMBEDDED for part in parts):
        message.places = {part.name: index for index, part in enumerate(parts)}
    message.parts = parts
    message.is_known = True


def _write(message: _Message, value: dict[str, Any], out: list[bytes]) -> int:
    """Append the content of a message. Returns its size in bytes. Everything goes into one list; a
    nested message reserves a slot for its head until its size is known."""
    if not message.is_known:
        _build_parts(message)
    parts = message.parts
    if message.places and len(value) * _FEW < len(parts):
        parts = _present_parts(message, value)
    size = 0
    for part in parts:
        form = part.form
        if form == _EMBEDDED:
            assert part.message is not None
            size += _write_message(part, part.message, value, out)
            continue
        item: Any = value.get(part.name)
        if item is None:
            if part.absent:
                out.append(part.absent)
                size += len(part.absent)
        elif form == _TEXT:
            text: str = item
            size += _write_content(part, text.encode(), out)
        elif form == _STRUCT:
            assert part.message is not None
            size += _write_message(part, part.message, item, out)
        else:
            size += _write_other(part, item, out)
    return size


def _present_parts(message: _Message, value: dict[str, Any]) -> list[_Part]:
    """The few parts of a message that are present in a value, in order."""
    places = [message.places[name] for name in value if name in message.places]
    places.sort()
    return [message.parts[index] for index in places]


def _write_message(part: _Part, message: _Message, value: dict[str, Any], out: list[bytes]) -> int:
    index = len(out)
    out.append(b"")
    size = _write(message, value, out)
    head = part.heads[size] if size < 0x80 else part.key + varint(size)
    out[index] = head
    return len(head) + size


def _write_content(part: _Part, body: bytes, out: list[bytes]) -> int:
    size = len(body)
    head = part.heads[size] if size < 0x80 else part.key + varint(size)
    out.append(head)
    out.append(body)
    return len(head) + size


def _write_other(part: _Part, value: Any, out: list[bytes]) -> int:
    """Append a field of one of the less common forms."""
    form = part.form
    size = 0
    encoded = b""
    if form == _BOOL:
        encoded = part.heads[1 if value else 0]
    elif form == _NUMBER:
        number: int = value
        encoded = part.heads[number] if 0 <= number < 0x80 else part.key + varint(number)
    elif form == _SIZED:
        assert part.write is not None
        return _write_content(part, part.write(value), out)
    elif form == _STRUCTS:
        assert part.message is not None
        for item in value:
            size += _write_message(part, part.message, item or _EMPTY, out)
        return size
    elif form == _TEXTS:
        texts: list[str] = value
        for text in texts:
            size += _write_content(part, text.encode(), out)
        return size
    elif form in (_TEXT_MAP, _QUANTITY_MAP):
        entries: dict[str, Any] = value
        for name in sorted(entries):
            size += _write_content(part, _entry(name, entries[name], form), out)
        return size
    elif form == _WHOLE or value:
        assert part.write is not None
        encoded = part.write(value)
    out.append(encoded)
    return len(encoded)


def _entry(name: str, value: str | None, form: int) -> bytes:
    """An entry of a map of strings or quantities."""
    named = name.encode()
    size = len(named)
    head = _NAMES[size] if size < 0x80 else _NAME + varint(size)
    if value is None:
        return head + named
    text = value.encode()
    if form == _QUANTITY_MAP:
        text = delimited(_NAME, text)
    size = len(text)
    return b"".join((head, named, _ITEMS[size] if size < 0x80 else _ITEM + varint(size), text))


def _content_of(field: Field) -> tuple[int, Write]:
    """The wire type of a field's value or map value, and the function that writes its content."""
    alternatives = alternatives_of(field)
    if alternatives is None:
        return _content(field.type.element if isinstance(field.type, MapOf) else field.type)
    message, spread = _message_of(alternatives.struct), alternatives.spread
    return BYTES, lambda value: _encode(message, spread(value))


def _content(node: Type) -> tuple[int, Write]:
    if isinstance(node, Scalar):
        form = SCALARS[node.name]
        return form.wire_type, str.encode if node.name == "string" else form.write
    if isinstance(node, Struct):
        message = _message_of(node)
        return BYTES, lambda value: _encode(message, value or _EMPTY)
    raise NoMessage("a list or map inside another has no protobuf form")


def _one_field(number: int, node: Type) -> Write:
    """The function that writes one value as a field with this number."""
    wire_type, write = _content(node)
    field_key = key(number, wire_type)
    if wire_type != BYTES:
        return lambda value: field_key + write(value)
    return lambda value: delimited(field_key, write(value))


def _list_field(number: int, element: Type) -> Write:
    write_item = _one_field(number, element)
    return lambda value: b"".join([write_item(item) for item in value])


def _map_field(number: int, wire_type: int, write: Write) -> Write:
    field_key, item_key = key(number, BYTES), key(2, wire_type)

    def entries(value: dict[str, Any]) -> bytes:
        out: list[bytes] = []
        for name in sorted(value):
            entry = delimited(_NAME, name.encode())
            if value[name] is not None:
                body = write(value[name])
                entry += delimited(item_key, body) if wire_type == BYTES else item_key + body
            out.append(delimited(field_key, entry))
        return b"".join(out)

    return entries
