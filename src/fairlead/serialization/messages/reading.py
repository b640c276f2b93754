"""Messages as objects.

What there is to know of a struct is laid out by the numbers of its fields when it is first met.
Fields may come in any order and more than once, and what nobody knows is passed over.

Messages are read as they are, or in the form in which objects are kept: a walk over the message is
then all there is to do, as long as nothing is wrong with it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, Final

from fairlead.schema.decode import Always, always_in, decoder_for, drops_zero, fill
from fairlead.schema.model import Embedded, Field, ListOf, MapOf, Presence, Scalar, Struct, Type
from fairlead.schema.scalars import Decoder, Found
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
_NUMBER: Final = 0
_BOOL: Final = 1
_TEXT: Final = 2
_STRUCT: Final = 3
_EMBEDDED: Final = 4
_CONTENT: Final = 5  # by a function, from its bytes
_ENTRY: Final = 6  # of a map
_TEXT_ENTRY: Final = 7
_FIXED: Final = 8  # by a function, from its eight bytes
_QUANTITY_ENTRY: Final = 9
_ENTRIES: Final = {"string": _TEXT_ENTRY, "Quantity": _QUANTITY_ENTRY}
_DEEPEST: Final = MOST_DEPTH


def reader(struct: Struct) -> Read:
    """How messages become objects of a struct. Numbers that are out of range, and so on, are still
    to be found by who decodes them; raises WireError for what is no such message, and TooDeep."""
    return _reader(_message_of(struct, False))


def decoding_reader(struct: Struct) -> Read:
    """The same to objects as the decoder of the struct makes them from those. Raises a ValueError
    for all that is wrong or unusual, which only the two of them together can tell apart."""
    return _reader(_message_of(struct, True))


def _reader(message: _Message) -> Read:
    def read(raw: bytes) -> dict[str, Any]:
        out: dict[str, Any] = {}
        try:
            _read(message, raw, 0, len(raw), out, 0)
        except IndexError:
            raise _unexpected_end() from None
        fill(message.always, out)
        return out

    return read


def _unexpected_end() -> WireError:
    return WireError("unexpected EOF")


_UNCOUNTED: Final = Found([])  # nobody asks it for anything: each field of a message is known


class _Unusual(ValueError):
    """What is not decoded while it is read."""


class _Part:
    """How a field is read; `decoder` if it is decoded, too."""

    def __init__(self, name: str, form: int, wire_type: int) -> None:
        self.name = sys.intern(name)
        self.form = form
        self.wire_type = wire_type
        self.is_list = False
        self.drops_zero = False  # which is written in any case, and left out of objects
        self.decoder: Decoder | None = None
        self.drops_empty = False  # as the decoder does
        self.message: _Message | None = None
        self.read: Callable[[Any], Any] | None = None


class _Message:
    """How messages of a struct are read; its fields are looked at when the first one comes."""

    def __init__(self, struct: Struct, decodes: bool) -> None:
        self.struct = struct
        self.decodes = decodes
        self.is_known = False
        self.always: list[Always] = []  # what an object of it has in any case
        self.numbered: dict[int, _Part] = {}
        self.parts: list[_Part | None] = []  # by what their fields begin with, where there is one


def _message_of(struct: Struct, decodes: bool) -> _Message:
    name = "protobuf decoder" if decodes else "protobuf reader"
    found: _Message | None = struct.walkers.get(name)
    if found is None:
        found = struct.walkers[name] = _Message(struct, decodes)
    return found


def _know(message: _Message) -> None:
    decodes = message.decodes
    message.numbered = {part.number: _part(part, decodes) for part in by_number(message.struct)}
    known = {
        number << 3 | part.wire_type: part
        for number, part in message.numbered.items()
        if part.form != _FIXED
    }
    message.parts = [known.get(head) for head in range(max(known, default=0) + 1)]
    if decodes:
        message.always = always_in(message.struct)
    message.is_known = True


def _part(part: Field | Embedded, decodes: bool) -> _Part:
    if isinstance(part, Embedded):
        made = _Part(part.name, _EMBEDDED, BYTES)
        made.message = _message_of(part.struct, decodes)
        return made
    node = part.type
    element = node.element if isinstance(node, (ListOf, MapOf)) else node
    if isinstance(node, MapOf):
        form = _ENTRY
        if isinstance(element, Scalar):
            form = _ENTRIES.get(element.name, _ENTRY)
        made = _Part(part.name, form, BYTES)
        made.read = _entry_reader(part.name, element, decodes)
    else:
        made = _Part(part.name, _form(element), _wire_type(element))
        made.is_list = isinstance(node, ListOf)
        made.drops_zero = _drops_zero(part)
        if isinstance(element, Struct):
            made.message = _message_of(element, decodes)
        else:
            made.read = _read_one(element, decodes)
    if decodes and not isinstance(element, Struct) and element != Scalar("string"):
        made.decoder = decoder_for(element)
        made.drops_empty = isinstance(node, Scalar) and drops_zero(part)
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
        if SCALARS[element.name].wire_type == FIXED64:
            return _FIXED
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
    if depth > _DEEPEST:
        raise TooDeep
    if not message.is_known:
        _know(message)
    parts = message.parts
    most = len(parts)
    last = 0  # fields mostly come in the order of their numbers
    while at < end:
        head = raw[at]
        at += 1
        if head > 0x7F:
            head, at = long_varint(raw, at - 1)
        part = parts[head] if head < most else None
        if part is None:
            at = _passed(message, raw, at, end, head, out)
            continue
        size = raw[at]  # or what it says, if it is a number
        at += 1
        if size > 0x7F:
            if raw[at] < 0x80:
                size = size & 0x7F | raw[at] << 7
                at += 1
            else:
                size, at = long_varint(raw, at - 1)
        if not size and part.drops_zero:
            if head <= last and part.name in out:
                del out[part.name]
            continue
        if head > last:
            last = head
        if part.form <= _BOOL:
            _put_number(part, size, out)
            continue
        start = at
        at += size
        if at > end:
            raise _unexpected_end()
        if part.form == _TEXT and not part.is_list:  # as most are
            out[part.name] = _text(raw, start, at)
        else:
            _put_content(part, raw, start, at, out, depth)
    if at != end:
        raise _unexpected_end()


def _passed(
    message: _Message, raw: bytes, at: int, end: int, head: int, out: dict[str, Any]
) -> int:
    """The place behind a field that nobody knows, or that is written in another way."""
    start, wire_type = at, head & 7
    if wire_type == VARINT:
        at = long_varint(raw, at)[1]
    elif wire_type == BYTES:
        size, start = long_varint(raw, at)
        at = start + size
    elif wire_type in (FIXED64, FIXED32):
        at += 8 if wire_type == FIXED64 else 4
    else:
        raise WireError(f"proto: illegal wireType {wire_type}")
    if at > end:
        raise _unexpected_end()
    if head < 8:
        raise WireError("proto: illegal tag 0")
    part = message.numbered.get(head >> 3)
    if part is None:
        return at
    if part.form == _FIXED and wire_type == FIXED64:
        assert part.read is not None
        _put(part, part.read(raw[start:at]), out)
    elif part.form <= _BOOL and part.is_list and wire_type == BYTES:
        for number in packed(raw[start:at]):
            _put_number(part, number, out)
    else:
        raise WireError(f"proto: wrong wireType = {wire_type} for field {part.name}")
    return at


def _text(raw: bytes, start: int, end: int) -> str:
    try:
        return raw[start:end].decode()
    except UnicodeDecodeError:
        return raw[start:end].decode("utf-8", "replace")


def _put(part: _Part, value: Any, out: dict[str, Any]) -> None:
    decoder = part.decoder
    if decoder is not None:
        if value is not None:
            value = decoder.decode(value, _UNCOUNTED)
        if value is None or (part.drops_empty and not value):
            if part.is_list:
                raise _Unusual
            out.pop(part.name, None)
            return
    if part.is_list:
        _items(part, out).append(value)
    else:
        out[part.name] = value


def _put_number(part: _Part, number: int, out: dict[str, Any]) -> None:
    if part.form == _BOOL:
        _put(part, number != 0, out)
    else:
        _put(part, signed(number), out)


def _items(part: _Part, out: dict[str, Any]) -> list[Any]:
    """The list that items are added to."""
    found: list[Any] | None = out.get(part.name)
    if found is None:
        found = out[part.name] = []
    return found


def _put_content(
    part: _Part, raw: bytes, start: int, end: int, out: dict[str, Any], depth: int
) -> None:
    """Read the content between two places, and put it where it belongs."""
    form = part.form
    value: Any
    if form == _TEXT:
        value = _text(raw, start, end)
    elif form == _STRUCT:
        assert part.message is not None
        item: dict[str, Any] = {}
        _read(part.message, raw, start, end, item, depth + 1)
        if part.message.always:
            fill(part.message.always, item)
        value = item
    elif form == _EMBEDDED:
        assert part.message is not None
        _read(part.message, raw, start, end, out, depth + 1)
        return
    elif form in (_TEXT_ENTRY, _ENTRY, _QUANTITY_ENTRY):
        _put_entry(part, raw, start, end, out)
        return
    else:
        assert part.read is not None
        value = part.read(raw[start:end])
    _put(part, value, out)


def _put_entry(part: _Part, raw: bytes, start: int, end: int, out: dict[str, Any]) -> None:
    entries: dict[str, Any] | None = out.get(part.name)
    if entries is None:
        entries = out[part.name] = {}
    if part.form != _ENTRY and end - start > 3 and raw[start] == _FIRST:
        # As all write it: the name, then the value.
        size, at = long_varint(raw, start + 1)
        behind = at + size
        if behind < end - 1 and raw[behind] == _SECOND:
            length, item = long_varint(raw, behind + 1)
            ends = item + length == end
            if ends and part.form == _QUANTITY_ENTRY:  # a message with one text
                ends = length > 1 and raw[item] == _FIRST and raw[item + 1] == length - 2 < 0x80
                item += 2
            if ends:
                _put_value(part, entries, _name(raw[at:behind]), _text(raw, item, end))
                return
    assert part.read is not None
    name, value = part.read(raw[start:end])
    _put_value(part, entries, name, value)


def _put_value(part: _Part, entries: dict[str, Any], name: str, value: Any) -> None:
    if part.decoder is not None:
        if value is None:
            raise _Unusual
        value = part.decoder.decode(value, _UNCOUNTED)
    entries[name] = value


def _wire_type(element: Type) -> int:
    return SCALARS[element.name].wire_type if isinstance(element, Scalar) else BYTES


def _read_one(element: Type, decodes: bool) -> Read:
    """How one value is read from its bytes or number."""
    if isinstance(element, Scalar):
        if decodes and element.is_opaque:
            return _read_shallow
        return SCALARS[element.name].read
    if isinstance(element, Struct):
        return _reader(_message_of(element, decodes))
    if isinstance(element, ListOf):  # a list inside a list or map is a message with its items
        items = Struct("items", fields={"items": Field("items", element, number=1)})
        inner = _message_of(items, decodes=False)
        return lambda raw: _read_items(inner, raw)
    raise NoMessage("a map inside a list or map has no protobuf form")


_FEW_BRACKETS: Final = 100  # with those, and the levels of a type, a document is far from too deep


def _read_shallow(raw: bytes) -> Any:
    """JSON inside of a message."""
    if raw.count(b"{") + raw.count(b"[") > _FEW_BRACKETS:
        raise _Unusual
    return SCALARS["raw"].read(raw)


def _read_items(inner: _Message, raw: bytes) -> Any:
    out: dict[str, Any] = {}
    _read(inner, raw, 0, len(raw), out, 0)
    return out.get("items")


def _entry_reader(field: str, element: Type, decodes: bool) -> Callable[[bytes], tuple[str, Any]]:
    """How an entry of a map is read: its name and value."""
    wire_type, read_one = _wire_type(element), _read_one(element, decodes)

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
