"""Objects as messages, byte for byte as the reference writes them.

Fields come in the order of their numbers and entries of a map in that of their names. What is no
pointer in the reference is always written, zero or not; pointers, lists, maps and bytes only if
they are there.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

from fairlead.schema.model import Embedded, Field, ListOf, MapOf, Presence, Scalar, Struct, Type
from fairlead.serialization.messages.functions import Names, generated
from fairlead.serialization.messages.scalars import SCALARS, Write, text_bytes
from fairlead.serialization.wire import BYTES, FIXED64, delimited, key, varint

_NAME = key(1, BYTES)
_EMPTY: dict[str, Any] = {}
_NUMBERS = ("int32", "int64")
_ALWAYS_THERE = (Presence.OMITTED, Presence.ALWAYS)  # unless it is a list, a map or bytes


class NoMessage(ValueError):
    """A type that has no binary form."""


def writer(struct: Struct) -> Write:
    """How objects of a struct become messages."""
    made = generated(struct, "protobuf writer", _source)

    def write(value: Any) -> bytes:
        try:
            message: bytes = made.call(value)
        except UnicodeEncodeError:
            message = made.call(_with_good_texts(value))
        return message

    return write


def _with_good_texts(value: Any) -> Any:
    """The same without halves of characters, which no other part of the server lets in."""
    if isinstance(value, str):
        return text_bytes(value).decode()
    if isinstance(value, dict):
        return {_with_good_texts(name): _with_good_texts(item) for name, item in value.items()}
    return [_with_good_texts(item) for item in value] if isinstance(value, list) else value


def by_number(struct: Struct) -> list[Field | Embedded]:
    """What a message of a struct consists of, in order."""
    flat = {name for part in struct.embedded.values() for name in part.struct.fields}
    own = [field for field in struct.fields.values() if field.number and field.name not in flat]
    return sorted([*own, *struct.embedded.values()], key=lambda part: part.number)


@cache
def heads(field_key: bytes) -> list[bytes]:
    """What stands before the content of a field, by the size of that; or a small number as a
    field."""
    return [field_key + varint(size) for size in range(0x80)]


def _source(struct: Struct, names: Names) -> str:
    names.update(varint=varint, delimited=delimited, EMPTY=_EMPTY)
    parts = by_number(struct)
    if len(parts) > 1 and is_sparse(struct):
        return _sparse_source(parts, names)
    lines = ["def made(value):", "    get = value.get"]
    for place, part in enumerate(parts):
        lines += (f"    {line}" for line in _part(part, place, names))
    slots = "".join(f"p{place}, " for place in range(len(parts)))
    lines.append(f"    return b''.join(({slots}))")
    return "\n".join(lines)


def is_sparse(struct: Struct) -> bool:
    """Whether a message of it may have no field at all."""
    return not any(map(_is_always_there, by_number(struct)))


def _is_always_there(part: Field | Embedded) -> bool:
    if isinstance(part, Embedded):
        return True
    if isinstance(part.type, (ListOf, MapOf)) or part.presence not in _ALWAYS_THERE:
        return False
    return isinstance(part.type, Struct) or SCALARS[part.type.name].zero is not None


_SPARSE = """
def made(value):
    found = [(place[name], fields[name](item)) for name, item in value.items()
             if name in place and item is not None]
    if len(found) == 1:
        return found[0][1]
    found.sort()
    return b"".join([field for _, field in found])
"""


def _sparse_source(parts: list[Field | Embedded], names: Names) -> str:
    """Of many fields that may be there, few are (one of thirty sources of a volume): it is quicker
    to look at what there is."""
    fields = [part for part in parts if isinstance(part, Field)]
    names["place"] = {field.name: place for place, field in enumerate(fields)}
    names["fields"] = {field.name: _field(field) for field in fields}
    return _SPARSE


def _field(field: Field) -> Write:
    if isinstance(field.type, ListOf):
        return list_field(field.number, field.type.element)
    if isinstance(field.type, MapOf):
        return map_field(field.number, field.type.element)
    return one_field(field.number, field.type)


def _part(part: Field | Embedded, place: int, names: Names) -> Iterator[str]:
    """The lines that put a field's bytes into `p{place}`."""
    if isinstance(part, Embedded):
        generated(part.struct, "protobuf writer", _source).hold(names, f"f{place}")
        yield f"b = f{place}(value)"
        yield _delimited(part.number, place, names)
        return
    node = part.type
    found = f"(v := get({part.name!r}))"
    if isinstance(node, ListOf) and isinstance(node.element, Struct):
        generated(node.element, "protobuf writer", _source).hold(names, f"f{place}")
        yield f"p{place} = b''"
        yield f"if {found}:"
        yield "    parts = []"
        yield "    for item in v:"
        yield f"        b = f{place}(item or EMPTY)"
        yield "        " + _delimited(part.number, place, names)
        yield f"        parts.append(p{place})"
        yield f"    p{place} = b''.join(parts)"
    elif isinstance(node, (ListOf, MapOf)):
        names[f"f{place}"] = _field(part)
        yield f"p{place} = f{place}(v) if {found} else b''"
    elif isinstance(node, Struct):
        generated(node, "protobuf writer", _source).hold(names, f"f{place}")
        if part.presence in _ALWAYS_THERE:
            yield f"b = f{place}(get({part.name!r}) or EMPTY)"
            yield _delimited(part.number, place, names)
        else:
            yield f"if {found} is None: p{place} = b''"
            yield "else:"
            yield f"    b = f{place}(v)"
            yield "    " + _delimited(part.number, place, names)
    else:
        yield from _scalar(part, node, place, names)


def _delimited(number: int, place: int, names: Names) -> str:
    """The line that makes a field of the content `b`."""
    field_key = key(number, BYTES)
    names[f"K{number}"], names[f"H{number}"] = field_key, heads(field_key)
    return f"p{place} = H{number}[n] + b if (n := len(b)) < 128 else delimited(K{number}, b)"


def _scalar(field: Field, node: Scalar, place: int, names: Names) -> Iterator[str]:
    form = SCALARS[node.name]
    field_key = key(field.number, form.wire_type)
    absent = b""
    if form.zero is not None and field.presence in _ALWAYS_THERE:
        absent = (
            delimited(field_key, form.zero) if form.wire_type == BYTES else field_key + form.zero
        )
    names[f"Z{place}"] = absent
    yield f"if (v := get({field.name!r})) is None: p{place} = Z{place}"
    if node.name == "bool":
        names[f"B{place}"] = field_key + b"\x00", field_key + b"\x01"
        yield f"else: p{place} = B{place}[v]"
    elif node.name in _NUMBERS:
        names[f"K{place}v"], names[f"V{place}"] = field_key, heads(field_key)
        yield f"else: p{place} = V{place}[v] if 0 <= v < 128 else K{place}v + varint(v)"
    elif form.wire_type == FIXED64:
        names[f"K{place}v"], names[f"f{place}"] = field_key, form.write
        yield f"else: p{place} = K{place}v + f{place}(v)"
    else:
        names[f"f{place}"] = form.write
        yield "else:"
        yield "    b = v.encode()" if node.name == "string" else f"    b = f{place}(v)"
        yield "    " + _delimited(field.number, place, names)


def content(node: Type) -> tuple[int, Write]:
    """The wire type of one value of a type, and how its content is written."""
    if isinstance(node, Scalar):
        form = SCALARS[node.name]
        return form.wire_type, str.encode if node.name == "string" else form.write
    if isinstance(node, Struct):
        made = generated(node, "protobuf writer", _source)
        return BYTES, lambda value: made.call(value or _EMPTY)
    if isinstance(node, ListOf):  # a list inside a list or map is a message with its items
        items = list_field(1, node.element)
        return BYTES, lambda value: items(value or ())
    raise NoMessage("a map inside a list or map has no protobuf form")


def one_field(number: int, node: Type) -> Write:
    """How one value is written as a field of some number."""
    wire_type, write = content(node)
    field_key = key(number, wire_type)
    if wire_type != BYTES:
        return lambda value: field_key + write(value)
    known = heads(field_key)

    def one(value: Any) -> bytes:
        body = write(value)
        size = len(body)
        return known[size] + body if size < 0x80 else field_key + varint(size) + body

    return one


def list_field(number: int, element: Type) -> Write:
    one = one_field(number, element)
    return lambda value: b"".join(map(one, value))


def map_field(number: int, element: Type) -> Write:
    wire_type, write = content(element)
    field_key, item_key = key(number, BYTES), key(2, wire_type)
    known, named, valued = heads(field_key), heads(_NAME), heads(item_key)
    is_sized = wire_type == BYTES

    def entries(value: dict[str, Any]) -> bytes:
        out: list[bytes] = []
        for name in sorted(value):
            found = value[name]
            left = name.encode()
            left = named[n] + left if (n := len(left)) < 0x80 else delimited(_NAME, left)
            if found is not None:
                body = write(found)
                if not is_sized:
                    left += item_key
                elif (n := len(body)) < 0x80:
                    left += valued[n]
                else:
                    left += item_key + varint(n)
                left += body
            out += (known[n] if (n := len(left)) < 0x80 else field_key + varint(n), left)
        return b"".join(out)

    return entries
