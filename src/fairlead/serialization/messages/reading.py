"""Messages as objects.

What there is to know of a struct is laid out by the numbers of its fields when it is first met.
Fields may come in any order and more than once, and what nobody knows is passed over.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from fairlead.schema.model import Embedded, Field, ListOf, MapOf, Presence, Scalar, Struct, Type
from fairlead.serialization.limits import MOST_DEPTH, TooDeep
from fairlead.serialization.messages.scalars import SCALARS, Read
from fairlead.serialization.messages.writing import NoMessage, by_number
from fairlead.serialization.wire import (
    BYTES,
    FIXED32,
    FIXED64,
    VARINT,
    WireError,
    fields,
    long_varint,
    packed,
    signed,
)

_NUMBERS: Final = ("int32", "int64")
_DROPPED: Final = ("string", "bool", "Time", "MicroTime", "int32", "int64")
_FIRST: Final = 1 << 3 | 2  # what the parts of a map's entry begin with
_SECOND: Final = 2 << 3 | 2

# How the value of a field is read.
_TEXT: Final = 0
_STRUCT: Final = 1
_EMBEDDED: Final = 2
_BOOL: Final = 3
_NUMBER: Final = 4
_CONTENT: Final = 5  # by a function, from its bytes
_ENTRY: Final = 6  # of a map
_TEXT_ENTRY: Final = 7


def reader(struct: Struct) -> Read:
    """How messages become objects of a struct. Numbers that are out of range, and so on, are still
    to be found by who decodes them; raises WireError for what is no such message, and TooDeep."""
    message = _message_of(struct)

    def read(raw: bytes) -> dict[str, Any]:
        out: dict[str, Any] = {}
        try:
            _read(message, raw, 0, len(raw), out, 0)
        except IndexError:
            raise _unexpected_end() from None
        return out

    return read


def _unexpected_end() -> WireError:
    return WireError("unexpected EOF")


class _Part:
    """How a field is read."""

    def __init__(self, name: str, form: int, wire_type: int) -> None:
        self.name = name
        self.form = form
        self.wire_type = wire_type
        self.is_list = False
        self.drops_zero = False  # which is written in any case, and left out of objects
        self.message: _Message | None = None
        self.read: Callable[[Any], Any] | None = None


class _Message:
    """How messages of a struct are read; its fields are looked at when the first one comes."""

    def __init__(self, struct: Struct) -> None:
        self.struct = struct
        self.is_known = False
        self.parts: list[_Part | None] = []  # by number


def _message_of(struct: Struct) -> _Message:
    found: _Message | None = struct.walkers.get("protobuf reader")
    if found is None:
        found = struct.walkers["protobuf reader"] = _Message(struct)
    return found


def _parts(struct: Struct) -> list[_Part | None]:
    known = {part.number: _part(part) for part in by_number(struct)}
    return [known.get(number) for number in range(max(known, default=0) + 1)]


def _part(part: Field | Embedded) -> _Part:
    if isinstance(part, Embedded):
        made = _Part(part.name, _EMBEDDED, BYTES)
        made.message = _message_of(part.struct)
        return made
    node = part.type
    if isinstance(node, MapOf):
        is_text = isinstance(node.element, Scalar) and node.element.name == "string"
        made = _Part(part.name, _TEXT_ENTRY if is_text else _ENTRY, BYTES)
        made.read = _entry_reader(part.name, node.element)
        return made
    element = node.element if isinstance(node, ListOf) else node
    made = _Part(part.name, _form(element), _wire_type(element))
    made.is_list = isinstance(node, ListOf)
    made.drops_zero = _drops_zero(part)
    if isinstance(element, Struct):
        made.message = _message_of(element)
    else:
        made.read = _read_one(element)
    return made


def _form(element: Type) -> int:
    if isinstance(element, Struct):
        return _STRUCT
    if isinstance(element, Scalar):
        if element.name == "string":
            return _TEXT
        if element.name == "bool":
            return _BOOL
        if element.name in _NUMBERS:
            return _NUMBER
    return _CONTENT


def _drops_zero(field: Field) -> bool:
    """Whether a zero says nothing, since it is written in any case and left out of objects."""
    if not isinstance(field.type, Scalar) or field.presence is not Presence.OMITTED:
        return False
    return field.type.name in _DROPPED


def _read(
    message: _Message, raw: bytes, at: int, end: int, out: dict[str, Any], depth: int
) -> None:
    """Read the message between two places into an object."""
    if depth > MOST_DEPTH:
        raise TooDeep
    if not message.is_known:
        message.parts = _parts(message.struct)
        message.is_known = True
    parts = message.parts
    while at < end:
        head = raw[at]
        at += 1
        if head > 0x7F:
            head, at = long_varint(raw, at - 1)
        number = head >> 3
        part = parts[number] if number < len(parts) else None
        if part is None:
            at = _passed(raw, at, end, head)
            continue
        wire_type = head & 7
        if wire_type == VARINT:
            value = raw[at]
            at += 1
            if value > 0x7F:
                value, at = long_varint(raw, at - 1)
            _put_number(part, value, out)
            continue
        size = 8
        if wire_type == BYTES:
            size = raw[at]
            at += 1
            if size > 0x7F:
                size, at = long_varint(raw, at - 1)
        elif wire_type == FIXED32:
            size = 4
        elif wire_type != FIXED64:
            raise WireError(f"proto: illegal wireType {wire_type}")
        start = at
        at += size
        if at > end:
            raise _unexpected_end()
        if wire_type != part.wire_type:
            _put_packed(part, wire_type, raw[start:at], out)
        elif part.form == _TEXT and not part.is_list:  # as most are
            if size or not part.drops_zero:
                out[part.name] = raw[start:at].decode("utf-8", "replace")
            else:
                out.pop(part.name, None)
        else:
            _put_content(part, raw, start, at, out, depth)
    if at != end:
        raise _unexpected_end()


def _passed(raw: bytes, at: int, end: int, head: int) -> int:
    """The place behind a field that nobody knows."""
    wire_type = head & 7
    if wire_type == VARINT:
        at = long_varint(raw, at)[1]
    elif wire_type == BYTES:
        size, at = long_varint(raw, at)
        at += size
    elif wire_type in (FIXED64, FIXED32):
        at += 8 if wire_type == FIXED64 else 4
    else:
        raise WireError(f"proto: illegal wireType {wire_type}")
    if at > end:
        raise _unexpected_end()
    if head < 8:
        raise WireError("proto: illegal tag 0")
    return at


def _put_number(part: _Part, number: int, out: dict[str, Any]) -> None:
    if part.wire_type != VARINT:
        raise WireError(f"proto: wrong wireType = {VARINT} for field {part.name}")
    value: Any
    if part.form == _BOOL:
        value = number != 0
    elif part.form == _NUMBER:
        value = number if number < 1 << 63 else signed(number)
    else:
        assert part.read is not None
        value = part.read(number)
    if part.is_list:
        _items(part, out).append(value)
    elif number or not part.drops_zero:
        out[part.name] = value
    else:
        out.pop(part.name, None)


def _items(part: _Part, out: dict[str, Any]) -> list[Any]:
    """The list that items are added to."""
    found: list[Any] | None = out.get(part.name)
    if found is None:
        found = out[part.name] = []
    return found


def _put_packed(part: _Part, wire_type: int, raw: bytes, out: dict[str, Any]) -> None:
    """Numbers of a list may be written into one field."""
    if wire_type != BYTES or not part.is_list or part.wire_type != VARINT:
        raise WireError(f"proto: wrong wireType = {wire_type} for field {part.name}")
    for number in packed(raw):
        _put_number(part, number, out)


def _put_content(
    part: _Part, raw: bytes, start: int, end: int, out: dict[str, Any], depth: int
) -> None:
    """Read the content between two places, and put it where it belongs."""
    form = part.form
    value: Any
    if form == _TEXT:
        value = raw[start:end].decode("utf-8", "replace")
    elif form == _STRUCT:
        assert part.message is not None
        item: dict[str, Any] = {}
        _read(part.message, raw, start, end, item, depth + 1)
        value = item
    elif form == _EMBEDDED:
        assert part.message is not None
        _read(part.message, raw, start, end, out, depth + 1)
        return
    elif form in (_TEXT_ENTRY, _ENTRY):
        _put_entry(part, raw, start, end, out)
        return
    else:
        assert part.read is not None
        value = part.read(raw[start:end])
    if part.is_list:
        _items(part, out).append(value)
    elif start < end or not part.drops_zero:
        out[part.name] = value
    else:
        out.pop(part.name, None)


def _put_entry(part: _Part, raw: bytes, start: int, end: int, out: dict[str, Any]) -> None:
    entries: dict[str, Any] | None = out.get(part.name)
    if entries is None:
        entries = out[part.name] = {}
    if part.form == _TEXT_ENTRY and end - start > 3 and raw[start] == _FIRST:
        # As all write it: the name, then the value.
        size, at = long_varint(raw, start + 1)
        behind = at + size
        if behind < end - 1 and raw[behind] == _SECOND:
            length, item = long_varint(raw, behind + 1)
            if item + length == end:
                entries[_name(raw[at:behind])] = raw[item:end].decode("utf-8", "replace")
                return
    assert part.read is not None
    name, value = part.read(raw[start:end])
    entries[name] = value


def _wire_type(element: Type) -> int:
    return SCALARS[element.name].wire_type if isinstance(element, Scalar) else BYTES


def _read_one(element: Type) -> Read:
    """How one value is read from its bytes or number."""
    if isinstance(element, Scalar):
        return SCALARS[element.name].read
    if isinstance(element, Struct):
        return reader(element)
    if isinstance(element, ListOf):  # a list inside a list or map is a message with its items
        inner = _message_of(Struct("items", fields={"items": Field("items", element, number=1)}))
        return lambda raw: _read_items(inner, raw)
    raise NoMessage("a map inside a list or map has no protobuf form")


def _read_items(inner: _Message, raw: bytes) -> Any:
    out: dict[str, Any] = {}
    _read(inner, raw, 0, len(raw), out, 0)
    return out.get("items")


def _entry_reader(field: str, element: Type) -> Callable[[bytes], tuple[str, Any]]:
    """How an entry of a map is read: its name and value."""
    wire_type, read_one = _wire_type(element), _read_one(element)

    def read(raw: bytes) -> tuple[str, Any]:
        name: int | bytes = b""
        item: int | bytes = b"" if wire_type != VARINT else 0
        for number, found, value in fields(raw):
            if number in (1, 2) and found != (BYTES if number == 1 else wire_type):
                raise WireError(f"proto: wrong wireType = {found} for an entry of {field}")
            if number == 1:
                name = value
            elif number == 2:
                item = value
        assert isinstance(name, bytes)
        return _name(name), read_one(item)

    return read


def _name(raw: bytes) -> str:
    try:
        return raw.decode()
    except UnicodeDecodeError:
        raise WireError("proto: a text contains invalid UTF-8") from None
