"""Decodes protobuf messages to objects.

Fields may come in any order and repeat; unknown fields are skipped.

There are two modes: the plain reader returns the values of the message, the decoding reader returns
the stored form of the object directly, in a single pass, as long as nothing is wrong.
"""

from __future__ import annotations

from typing import Any, Final

from fairlead.base.meter import allocate
from fairlead.codec.bodies import MAX_DEPTH, TooDeep
from fairlead.codec.messages.layout import (
    BOOL,
    EMBEDDED,
    ENTRY,
    FIXED,
    QUANTITY_ENTRY,
    STRUCT,
    STRUCT_ENTRY,
    TEXT,
    TEXT_ENTRY,
    Message,
    NotDecodable,
    Part,
    build_layout,
    message_of,
)
from fairlead.codec.messages.scalars import Read
from fairlead.codec.protobuf_wire import (
    BYTES,
    FIXED32,
    FIXED64,
    VARINT,
    WireError,
    field_bounds,
    long_varint,
    packed,
    signed,
)
from fairlead.codec.types.decode import fill_present_fields
from fairlead.codec.types.model import Struct
from fairlead.codec.types.scalars import DecodeNotes

_FIRST: Final = 1 << 3 | 2  # the field keys of the name and the value of a map entry
_SECOND: Final = 2 << 3 | 2
_MAX_DEPTH: Final = MAX_DEPTH
_MESSAGE: Final = 16  # bytes to account for a decoded message, however short it is


def reader(struct: Struct) -> Read:
    """The function that reads messages of a struct. Does not check values (such as the range of
    numbers): the struct's decoder does. Raises WireError for malformed messages, and TooDeep."""
    return _reader(message_of(struct, False))


def decoding_reader(struct: Struct) -> Read:
    """Like `reader`, but returns objects as the struct's decoder makes them. Raises ValueError for
    anything wrong or unusual; only the reader and the decoder together can find the reason."""
    return _reader(message_of(struct, True))


def _reader(message: Message) -> Read:
    def read(raw: bytes) -> dict[str, Any]:
        out: dict[str, Any] = {}
        try:
            _read(message, raw, 0, len(raw), out, 0)
        except IndexError:
            raise _unexpected_end() from None
        fill_present_fields(message.always, out)
        return out

    return read


def _unexpected_end() -> WireError:
    return WireError("unexpected EOF")


_UNCOUNTED: Final = DecodeNotes([])  # never read: all fields of a message are known


def _read(
    message: Message, raw: bytes, offset: int, end: int, out: dict[str, Any], depth: int
) -> None:
    """Read the message between two offsets into an object."""
    if depth > _MAX_DEPTH:
        raise TooDeep
    allocate(_MESSAGE)
    if not message.is_known:
        build_layout(message)
    parts = message.parts
    maximum = len(parts)
    last = 0  # the largest field key so far: fields mostly come in the order of their numbers
    while offset < end:
        head = raw[offset]
        offset += 1
        if head > 0x7F:
            head, offset = long_varint(raw, offset - 1)
        part = parts[head] if head < maximum else None
        if part is None:
            offset = _skip_or_read(message, raw, offset, end, head, out)
            continue
        size = raw[offset]  # or the value, if the field is a number
        offset += 1
        if size > 0x7F:
            if raw[offset] < 0x80:
                size = size & 0x7F | raw[offset] << 7
                offset += 1
            else:
                size, offset = long_varint(raw, offset - 1)
        if not size and part.drops_zero:
            if head <= last and part.name in out:
                del out[part.name]
            continue
        if head > last:
            last = head
        if part.form <= BOOL:
            _put_number(part, size, out)
            continue
        start = offset
        offset += size
        if offset > end:
            raise _unexpected_end()
        if part.form == TEXT and not part.is_list:  # the usual case
            out[part.name] = _text(raw, start, offset)
        else:
            _put_content(part, raw, start, offset, out, depth)
    if offset != end:
        raise _unexpected_end()


def _skip_or_read(
    message: Message, raw: bytes, offset: int, end: int, head: int, out: dict[str, Any]
) -> int:
    """Skip an unknown field, or read one in another encoding. Returns the offset after it."""
    start, wire_type = offset, head & 7
    if wire_type == VARINT:
        offset = long_varint(raw, offset)[1]
    elif wire_type == BYTES:
        size, start = long_varint(raw, offset)
        offset = start + size
    elif wire_type in (FIXED64, FIXED32):
        offset += 8 if wire_type == FIXED64 else 4
    else:
        raise WireError(f"proto: illegal wireType {wire_type}")
    if offset > end:
        raise _unexpected_end()
    if head < 8:
        raise WireError("proto: illegal tag 0")
    part = message.numbered.get(head >> 3)
    if part is None:
        return offset
    if part.form == FIXED and wire_type == FIXED64:
        assert part.read is not None
        _put(part, part.read(raw[start:offset]), out)
    elif part.form <= BOOL and part.is_list and wire_type == BYTES:
        for number in packed(raw[start:offset]):
            _put_number(part, number, out)
    else:
        raise WireError(f"proto: wrong wireType = {wire_type} for field {part.name}")
    return offset


def _text(raw: bytes, start: int, end: int) -> str:
    try:
        return raw[start:end].decode()
    except UnicodeDecodeError:
        return raw[start:end].decode("utf-8", "replace")


def _put(part: Part, value: Any, out: dict[str, Any]) -> None:
    decoder = part.decoder
    if decoder is not None:
        if value is not None:
            value = decoder.decode(value, _UNCOUNTED)
        if value is None or (part.drops_empty and not value):
            if part.is_list:
                raise NotDecodable
            out.pop(part.name, None)
            return
    if part.is_list:
        _items(part, out).append(value)
    else:
        out[part.name] = value


def _put_number(part: Part, number: int, out: dict[str, Any]) -> None:
    if part.form == BOOL:
        _put(part, number != 0, out)
    else:
        _put(part, signed(number), out)


def _items(part: Part, out: dict[str, Any]) -> list[Any]:
    """The list of a repeated field."""
    items: list[Any] | None = out.get(part.name)
    if items is None:
        items = out[part.name] = []
    return items


def _put_content(
    part: Part, raw: bytes, start: int, end: int, out: dict[str, Any], depth: int
) -> None:
    """Read the content between two offsets into the object."""
    form = part.form
    value: Any
    if form == TEXT:
        value = _text(raw, start, end)
    elif form == STRUCT:
        value = _struct(part, raw, start, end, depth)
    elif form == EMBEDDED:
        assert part.message is not None
        _read(part.message, raw, start, end, out, depth + 1)
        return
    elif form in (TEXT_ENTRY, ENTRY, QUANTITY_ENTRY, STRUCT_ENTRY):
        _put_entry(part, raw, start, end, out, depth)
        return
    else:
        assert part.read is not None
        value = part.read(raw[start:end])
    _put(part, value, out)


def _struct(part: Part, raw: bytes, start: int, end: int, depth: int) -> Any:
    """The value of the message between two offsets."""
    message = part.message
    assert message is not None
    item: dict[str, Any] = {}
    _read(message, raw, start, end, item, depth + 1)
    if message.always:
        fill_present_fields(message.always, item)
    return item if part.alternatives is None else part.alternatives.gathered(item)


def _put_entry(
    part: Part, raw: bytes, start: int, end: int, out: dict[str, Any], depth: int
) -> None:
    entries: dict[str, Any] | None = out.get(part.name)
    if entries is None:
        entries = out[part.name] = {}
    is_text = part.form in (TEXT_ENTRY, QUANTITY_ENTRY)
    if is_text and end - start > 3 and raw[start] == _FIRST:
        # The usual encoding: the name, then the value.
        size, offset = long_varint(raw, start + 1)
        behind = offset + size
        if behind < end - 1 and raw[behind] == _SECOND:
            length, item = long_varint(raw, behind + 1)
            ends = item + length == end
            if ends and part.form == QUANTITY_ENTRY:  # a message with one string
                ends = length > 1 and raw[item] == _FIRST and raw[item + 1] == length - 2 < 0x80
                item += 2
            if ends:
                _put_value(part, entries, _name(raw[offset:behind]), _text(raw, item, end))
                return
    name, first, last = _entry(part, raw, start, end)
    if part.form == STRUCT_ENTRY:
        value = _struct(part, raw, first, last, depth)
    else:
        assert part.read is not None
        value = part.read(_content(raw, first, last, part.item_wire_type))
    _put_value(part, entries, name, value)


def _content(raw: bytes, first: int, last: int, wire_type: int) -> int | bytes:
    """The integer or bytes between two offsets; zero if they are equal."""
    if wire_type != VARINT:
        return raw[first:last]
    return long_varint(raw, first)[0] if first < last else 0


def _put_value(part: Part, entries: dict[str, Any], name: str, value: Any) -> None:
    if part.decoder is not None:
        if value is None:
            raise NotDecodable
        value = part.decoder.decode(value, _UNCOUNTED)
    entries[name] = value


def _entry(part: Part, raw: bytes, start: int, end: int) -> tuple[str, int, int]:
    """The name of the map entry between two offsets, and where its value starts and ends. The value
    is not copied, because entries may be nested."""
    wire_type = part.item_wire_type
    name = b""
    first = last = end
    offset = start
    while offset < end:
        number, actual, begin, offset = field_bounds(raw, offset, end)
        if number in (1, 2) and actual != (BYTES if number == 1 else wire_type):
            raise WireError(f"proto: wrong wireType = {actual} for an entry of {part.name}")
        if number == 1:
            name = raw[begin:offset]
        elif number == 2:
            first, last = begin, offset
    return _name(name), first, last


def _name(raw: bytes) -> str:
    try:
        return raw.decode()
    except UnicodeDecodeError:
        raise WireError("proto: a text contains invalid UTF-8") from None
