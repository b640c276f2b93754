"""Messages as objects.

The code made for a struct takes its fields in the order of their numbers, which is how all writers
known to us put them. Where a message has something else it goes on by table, field by field.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

from fairlead.schema.model import Embedded, Field, ListOf, MapOf, Presence, Scalar, Struct, Type
from fairlead.serialization.messages.functions import Generated, Names, generated
from fairlead.serialization.messages.scalars import SCALARS, Read
from fairlead.serialization.messages.writing import NoMessage, by_number, is_sparse
from fairlead.serialization.wire import (
    BYTES,
    FIXED64,
    VARINT,
    WireError,
    field_at,
    fields,
    key,
    long_varint,
    packed,
    signed,
)

_WALKER = "protobuf reader"
_MOST_SPARSE = 12  # fields that are worth their code though few of them are ever there
_NUMBERS = ("int32", "int64")


def reader(struct: Struct) -> Read:
    """How messages become objects of a struct. Numbers that are out of range, and so on, are still
    to be found by who decodes them; raises WireError for what is no such message."""
    made = generated(struct, _WALKER, _source)

    def read(raw: bytes) -> dict[str, Any]:
        out: dict[str, Any] = {}
        made.call(raw, 0, len(raw), out)
        return out

    return read


def _source(struct: Struct, names: Names) -> str:
    """A function that reads the message between two places into an object."""
    table = _Table(struct)
    if len(by_number(struct)) > _MOST_SPARSE and is_sparse(struct):
        names["made"] = table.read
        return ""
    names.update(rest=table.read, long=long_varint, signed=signed, EOF=_unexpected_end)
    lines = [
        "def made(raw, at, end, out):",
        "    if at == end: return",
        "    try:",
        "        head = raw[at]",
    ]
    for place, part in enumerate(by_number(struct)):
        lines += (f"        {line}" for line in _part(part, place, names))
    lines += [
        "        if at != end: rest(raw, at, end, out)",
        "    except IndexError:",
        "        raise EOF() from None",
    ]
    return "\n".join(lines)


def _unexpected_end() -> WireError:
    return WireError("unexpected EOF")


_NEXT = "head = raw[at] if at < end else 0"


def _part(part: Field | Embedded, place: int, names: Names) -> Iterator[str]:
    """The lines that take a field if it is the next; `head` is the byte at `at`, 0 at the end."""
    node = part.struct if isinstance(part, Embedded) else part.type
    is_many = isinstance(node, (ListOf, MapOf))
    element = node.element if isinstance(node, (ListOf, MapOf)) else node
    wire_type = BYTES if isinstance(node, MapOf) else _wire_type(element)
    field_key = key(part.number, wire_type)
    test = f"head == {field_key[0]}"
    if len(field_key) > 1:
        test += f" and raw[at + 1] == {field_key[1]}"
    if is_many:
        empty = "[]" if isinstance(node, ListOf) else "{}"
        yield f"if {test}:"
        yield f"    out[{part.name!r}] = many = {empty}"
        yield f"    while {test}:"
        indent = " " * 8
    else:
        yield f"if {test}:"
        indent = " " * 4
    for line in _value(part, node, element, place, len(field_key), names):
        yield indent + line
    yield indent + _NEXT


def _value(
    part: Field | Embedded, node: Type, element: Type, place: int, skip: int, names: Names
) -> Iterator[str]:
    """The lines that read one value behind a key of `skip` bytes and put it where it belongs."""
    put = f"out[{part.name!r}] = {{}}" if node is element else "many.append({})"
    wire_type = _wire_type(element)
    if isinstance(node, MapOf):
        names[f"f{place}"] = _entry_reader(part.name, element)
        yield from _size(skip)
        yield "if at > end: raise EOF()"
        yield f"name, item = f{place}(raw[start:at])"
        yield "many[name] = item"
    elif isinstance(element, Struct):
        generated(element, _WALKER, _source).hold(names, f"f{place}")
        yield from _size(skip)
        yield "if at > end: raise EOF()"
        if isinstance(part, Embedded):
            yield f"f{place}(raw, start, at, out)"
        else:
            yield put.format("(item := {})")
            yield f"f{place}(raw, start, at, item)"
    elif wire_type == BYTES:
        yield from _size(skip)
        is_dropped = node is element and _drops_zero(part)
        text = "raw[start:at].decode('utf-8', 'replace')"
        if not (isinstance(element, Scalar) and element.name == "string"):
            names[f"f{place}"] = _read_one(element)
            text = f"f{place}(raw[start:at])"
            yield "if at > end: raise EOF()"
        yield ("if size: " if is_dropped else "") + put.format(text)
    elif wire_type == VARINT:
        yield f"v = raw[at + {skip}]"
        yield f"at += {skip + 1}"
        yield "if v > 127: v, at = long(raw, at - 1)"
        text = "v != 0"
        if isinstance(element, Scalar) and element.name in _NUMBERS:
            text = "v if v < 9223372036854775808 else signed(v)"
        yield ("if v: " if node is element and _drops_zero(part) else "") + put.format(text)
    else:
        assert wire_type == FIXED64
        names[f"f{place}"] = _read_one(element)
        yield f"start = at + {skip}"
        yield "at = start + 8"
        yield "if at > end: raise EOF()"
        yield put.format(f"f{place}(raw[start:at])")


def _size(skip: int) -> Iterator[str]:
    """The lines that find where a sized value starts and where the next field is."""
    yield f"size = raw[at + {skip}]"
    yield f"start = at + {skip + 1}"
    yield "if size > 127: size, start = long(raw, start - 1)"
    yield "at = start + size"


def _drops_zero(part: Field | Embedded) -> bool:
    """Whether a zero says nothing, since it is written in any case and left out of objects."""
    if isinstance(part, Embedded) or not isinstance(part.type, Scalar):
        return False
    is_plain = part.type.name in ("string", "bool", "Time", "MicroTime", *_NUMBERS)
    return is_plain and part.presence is Presence.OMITTED


def _wire_type(element: Type) -> int:
    return SCALARS[element.name].wire_type if isinstance(element, Scalar) else BYTES


def _read_one(element: Type) -> Read:
    """How one value is read from its bytes or number."""
    if isinstance(element, Scalar):
        return SCALARS[element.name].read
    if isinstance(element, Struct):
        return reader(element)
    if isinstance(element, ListOf):  # a list inside a list or map is a message with its items
        member = _Member(Field("items", element, number=1))
        return lambda raw: _read_items(member, raw)
    raise NoMessage("a map inside a list or map has no protobuf form")


def _read_items(member: _Member, raw: bytes) -> Any:
    out: dict[str, Any] = {}
    for number, wire_type, value in fields(raw):
        if number == 1:
            member.read(out, wire_type, value)
    return out.get("items")


def _entry_reader(field: str, element: Type) -> Any:
    """How an entry of a map is read: its name and value."""
    wire_type, read_one = _wire_type(element), _read_one(element)

    def in_full(raw: bytes) -> tuple[str, Any]:
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

    def read(raw: bytes) -> tuple[str, Any]:
        # As all write it: the name, then the value, both short enough for sizes of a byte.
        size = len(raw)
        if wire_type == BYTES and size > 3 and raw[0] == _NAME and raw[1] < 0x80:
            at = raw[1] + 2
            if at < size - 1 and raw[at] == _ITEM and raw[at + 1] == size - at - 2 < 0x80:
                item = raw[at + 2 :]
                return _name(raw[2:at]), read_one(item)
        return in_full(raw)

    return read


_NAME, _ITEM = 1 << 3 | BYTES, 2 << 3 | BYTES  # what the parts of a map's entry begin with


def _name(raw: bytes) -> str:
    try:
        return raw.decode()
    except UnicodeDecodeError:
        raise WireError("proto: a text contains invalid UTF-8") from None


class _Member:
    """How one field of a message is read wherever it stands."""

    def __init__(self, field: Field) -> None:
        node = field.type
        self.name = field.name
        self.repeated, self.mapped = isinstance(node, ListOf), isinstance(node, MapOf)
        element = node.element if isinstance(node, (ListOf, MapOf)) else node
        self.wire_type = BYTES if self.mapped else _wire_type(element)
        self._read_one = (_entry_reader if self.mapped else _ignoring_field)(field.name, element)

    def read(self, out: dict[str, Any], wire_type: int, value: int | bytes) -> None:
        if wire_type != self.wire_type:
            if not self.repeated or wire_type != BYTES or self.wire_type != VARINT:
                raise WireError(f"proto: wrong wireType = {wire_type} for field {self.name}")
            assert isinstance(value, bytes)
            out.setdefault(self.name, []).extend(map(self._read_one, packed(value)))
        elif self.mapped:
            name, item = self._read_one(value)
            out.setdefault(self.name, {})[name] = item
        elif self.repeated:
            out.setdefault(self.name, []).append(self._read_one(value))
        else:
            out[self.name] = self._read_one(value)


def _ignoring_field(_: str, element: Type) -> Read:
    return _read_one(element)


class _Table:
    """The fields of a struct by number."""

    def __init__(self, struct: Struct) -> None:
        self._struct = struct

    @cached_property
    def _members(self) -> dict[int, _Member]:
        parts = by_number(self._struct)
        return {part.number: _Member(part) for part in parts if isinstance(part, Field)}

    @cached_property
    def _parts(self) -> dict[int, Generated]:
        parts = self._struct.embedded.values()
        return {part.number: generated(part.struct, _WALKER, _source) for part in parts}

    def read(self, raw: bytes, at: int, end: int, out: dict[str, Any]) -> None:
        """Read what is left of a message, in any order, with fields that nobody knows."""
        if at > end:
            raise _unexpected_end()
        raw = raw[at:end]
        at, end = 0, len(raw)
        while at < end:
            number, wire_type, value, at = field_at(raw, at)
            member = self._members.get(number)
            if member is not None:
                member.read(out, wire_type, value)
            elif number in self._parts and isinstance(value, bytes):
                self._parts[number].call(value, 0, len(value), out)
