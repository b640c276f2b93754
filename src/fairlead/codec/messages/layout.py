"""The layout of a struct's messages for the reader: its fields by number.

Layouts are built when the first message of a struct arrives: types refer to themselves, and most
are never used.
"""

from __future__ import annotations

import sys
from typing import Any, Final

from fairlead.codec.messages.scalars import SCALARS, Read
from fairlead.codec.messages.writer import NoMessage, by_number
from fairlead.codec.protobuf_wire import BYTES, FIXED64
from fairlead.codec.types.decode import (
    Alternatives,
    PresentField,
    alternatives_of,
    decoder_for,
    drops_zero,
    present_fields,
)
from fairlead.codec.types.model import Embedded, Field, ListOf, MapOf, Presence, Scalar, Struct
from fairlead.codec.types.scalars import Decoder

_NUMBERS: Final = ("int32", "int64")
_DROPPED: Final = ("string", "bool", "Time", "MicroTime", "int32", "int64")

# How the reader handles the value of a field.
NUMBER: Final = 0
BOOL: Final = 1
TEXT: Final = 2
STRUCT: Final = 3
EMBEDDED: Final = 4
CONTENT: Final = 5  # by a function, from its bytes
ENTRY: Final = 6  # a map entry, its value by a function
TEXT_ENTRY: Final = 7
FIXED: Final = 8  # by a function, from its eight bytes
QUANTITY_ENTRY: Final = 9
STRUCT_ENTRY: Final = 10
_ENTRIES: Final = {"string": TEXT_ENTRY, "Quantity": QUANTITY_ENTRY}


class NotDecodable(ValueError):
    """A value that the decoding reader does not handle."""


class Part:
    """How a field is read. `decoder` is set if the reader also decodes it."""

    def __init__(self, name: str, form: int, wire_type: int) -> None:
        self.name = sys.intern(name)
        self.form = form
        self.wire_type = wire_type
        self.is_list = False
        self.drops_zero = False  # messages always contain zeros, objects omit them
        self.decoder: Decoder | None = None
        self.drops_empty = False  # like the decoder
        self.message: Message | None = None
        self.alternatives: Alternatives | None = None  # converts its messages to values
        self.read: Read | None = None
        self.item_wire_type = BYTES  # of the value of an entry


class Message:
    """How messages of a struct are read."""

    def __init__(self, struct: Struct, decodes: bool) -> None:
        self.struct = struct
        self.decodes = decodes
        self.is_known = False
        self.always: list[PresentField] = []  # the always present fields of an object
        self.numbered: dict[int, Part] = {}
        self.parts: list[Part | None] = []  # by field key, None for unknown keys


def message_of(struct: Struct, decodes: bool) -> Message:
    name = "protobuf decoder" if decodes else "protobuf reader"
    message: Message | None = struct.walkers.get(name)
    if message is None:
        message = struct.walkers[name] = Message(struct, decodes)
    return message


def build_layout(message: Message) -> None:
    """Build the layout of a message from its struct."""
    decodes = message.decodes
    message.numbered = {part.number: _part(part, decodes) for part in by_number(message.struct)}
    parts = {
        number << 3 | part.wire_type: part
        for number, part in message.numbered.items()
        if part.form != FIXED
    }
    message.parts = [parts.get(head) for head in range(max(parts, default=0) + 1)]
    if decodes:
        message.always = present_fields(message.struct)
    message.is_known = True


def _part(part: Field | Embedded, decodes: bool) -> Part:
    if isinstance(part, Embedded):
        result = Part(part.name, EMBEDDED, BYTES)
        result.message = message_of(part.struct, decodes)
        return result
    node = part.type
    element = node.element if isinstance(node, (ListOf, MapOf)) else node
    alternatives = alternatives_of(part)
    if isinstance(element, Struct) or alternatives is not None:
        struct = element if alternatives is None else alternatives.struct
        assert isinstance(struct, Struct)
        result = Part(part.name, STRUCT_ENTRY if isinstance(node, MapOf) else STRUCT, BYTES)
        result.is_list = isinstance(node, ListOf)
        result.message = message_of(struct, decodes)
        result.alternatives = alternatives
    elif not isinstance(element, Scalar):
        raise NoMessage("a list or map inside another has no protobuf form")
    elif isinstance(node, MapOf):
        result = Part(part.name, _ENTRIES.get(element.name, ENTRY), BYTES)
        result.item_wire_type = SCALARS[element.name].wire_type
        result.read = _scalar_reader(element, decodes)
    else:
        result = Part(part.name, _form(element), SCALARS[element.name].wire_type)
        result.is_list = isinstance(node, ListOf)
        result.drops_zero = _drops_zero(part)
        result.read = _scalar_reader(element, decodes)
    if decodes and not isinstance(element, Struct) and element != Scalar("string"):
        result.decoder = decoder_for(element)
        result.drops_empty = isinstance(node, Scalar) and drops_zero(part)
    return result


def _form(element: Scalar) -> int:
    if element.name == "string":
        return TEXT
    if element.name == "bool":
        return BOOL
    if element.name in _NUMBERS:
        return NUMBER
    return FIXED if SCALARS[element.name].wire_type == FIXED64 else CONTENT


def _drops_zero(field: Field) -> bool:
    """Whether to ignore a zero: messages always contain it, objects omit it."""
    if not isinstance(field.type, Scalar) or field.presence is not Presence.OMITTED:
        return False
    return field.type.name in _DROPPED


def _scalar_reader(element: Scalar, decodes: bool) -> Read:
    """The function that decodes one value from its bytes or number."""
    return _read_shallow if decodes and element.is_opaque else SCALARS[element.name].read


_FEW_BRACKETS: Final = 100  # with these and the levels of a type, a document is far from too deep


def _read_shallow(raw: bytes) -> Any:
    """Parse JSON inside of a message; raises Unusual if it may be deep."""
    if raw.count(b"{") + raw.count(b"[") > _FEW_BRACKETS:
        raise NotDecodable
    return SCALARS["raw"].read(raw)
