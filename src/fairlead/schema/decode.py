"""From parsed JSON to the form in which objects are kept: types checked, unknown fields dropped,
scalars in their canonical text, zero values present or absent as the type says.

`decoder(struct)` compiles a struct once into a closure. Paths are put together only when
something is wrong, so a good object pays nothing for them: `unknown_paths` finds the places of
unknown fields once the decoder has seen that there are any.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

from fairlead.schema import quantity, times
from fairlead.schema.base64 import Base64Error, canonical_base64
from fairlead.schema.builtin import type_name_of
from fairlead.schema.model import Field, ListOf, MapOf, Presence, Scalar, Struct, Type

# Takes a value and the list that names of unknown fields are added to; gives the value to keep.
Decode = Callable[[Any, list[str]], Any]

_INT_LIMITS = {"int32": 2**31, "int64": 2**63}


class DecodeError(ValueError):
    """A value that its type cannot hold. `fields` and `struct` tell where, once known."""

    def __init__(self, message: str, *, wants_place: bool = False) -> None:
        super().__init__(message)
        self._message = message
        self._wants_place = wants_place
        self.fields: list[str] = []
        self.struct = ""
        self.value: Any = None  # what was found instead, where its form is what is wrong
        self.form = ""

    def at(self, struct: Struct, field: str) -> None:
        """Note a step on the way to the value. The first one is the field itself, whose type may
        have a name of its own."""
        if not self.fields:
            self.struct = struct.name
            self._name_type(struct, field)
        self.fields.append(field)

    def _name_type(self, struct: Struct, field: str) -> None:
        got, _, wanted = self._message.partition(" of type ")
        named = type_name_of(struct, field) if self._wants_place else None
        if named is None:
            return
        node = struct.fields[field].type
        if isinstance(node, (ListOf, MapOf)) and wanted != type_name(node):
            if not named.startswith("[]"):
                return  # the name is the container's, the value is of an element
            named = named[2:]
        self._message = f"{got} of type {named}"

    @property
    def wanted(self) -> str:
        """The name of the type that the value does not fit."""
        return self._message.partition(" of type ")[2]

    def __str__(self) -> str:
        if not self._wants_place:
            return self._message
        got, _, wanted = self._message.partition(" of type ")
        place = f"Go struct field {self.struct}.{'.'.join(reversed(self.fields))}"
        if not self.struct:
            return f"json: cannot unmarshal {got} into Go value of type {wanted}"
        return f"json: cannot unmarshal {got} into {place} of type {wanted}"


class Number(float):
    """A JSON number that remembers how it was written, for messages."""

    text: str

    def __new__(cls, text: str) -> Number:
        made = super().__new__(cls, text)
        made.text = text
        return made


def _mismatch(value: Any, wanted: str, form: str = "scalar") -> DecodeError:
    """A value of another form than the wanted one: scalar, text (of a type that is read from
    text), slice, map or struct."""
    error = DecodeError(f"{json_kind(value)} of type {wanted}", wants_place=True)
    error.value, error.form = value, form
    return error


def conversion_error(error: DecodeError) -> str:
    """What is said of the same value where it comes from a merge instead of from text."""
    kind = _VALUE_KINDS.get(type(error.value), "float64")
    got, _, wanted = error.args[0].partition(" of type ")
    match error.form:
        case "map" | "slice":
            return f"cannot restore {error.form} from {kind}"
        case "struct":
            return f"cannot restore struct from: {kind}"
        case "scalar":
            return f"cannot convert {kind} to {error.wanted}"
        case "text":
            return f"json: cannot unmarshal {got} into Go value of type {wanted}"
    return str(error)


_VALUE_KINDS = {str: "string", bool: "bool", int: "int64", list: "slice", dict: "map"}


def json_kind(value: Any) -> str:
    """The word by which messages call the kind of a JSON value."""
    match value:
        case bool():
            return "bool"
        case str():
            return "string"
        case list():
            return "array"
        case dict():
            return "object"
        case None:
            return "null"
        case _:
            return "number"


def type_name(node: Type) -> str:
    """How messages name a type."""
    match node:
        case Scalar(name="bytes"):
            return "[]uint8"
        case Scalar(name="double"):
            return "float64"
        case Scalar(name="Time" | "MicroTime" as name):
            return "v1." + name
        case Scalar(name="Quantity"):
            return "resource.Quantity"
        case Scalar(name="IntOrString"):
            return "intstr.IntOrString"
        case Scalar(name="raw"):
            return "runtime.RawExtension"
        case Scalar(name=name):
            return name
        case ListOf(element=element):
            return "[]" + type_name(element)
        case MapOf(element=element):
            return "map[string]" + type_name(element)
        case Struct(name=name, group_version=group_version):
            return f"{group_version.rpartition('/')[2]}.{name}"


def _decode_string(value: Any, _: list[str]) -> Any:
    if value.__class__ is str:
        return value
    raise _mismatch(value, "string")


def _decode_bool(value: Any, _: list[str]) -> Any:
    if value.__class__ is bool:
        return value
    raise _mismatch(value, "bool")


def _decode_int(name: str) -> Decode:
    limit = _INT_LIMITS[name]

    def decode(value: Any, _: list[str]) -> Any:
        if value.__class__ is int and -limit <= value < limit:
            return value
        if isinstance(value, (int, float)) and value.__class__ is not bool:
            shown = value.text if isinstance(value, Number) else value
            raise DecodeError(f"number {shown} of type {name}", wants_place=True)
        raise _mismatch(value, name)

    return decode


def _decode_double(value: Any, _: list[str]) -> Any:
    if isinstance(value, (int, float)) and value.__class__ is not bool:
        return value
    raise _mismatch(value, "float64")


def _decode_bytes(value: Any, _: list[str]) -> Any:
    if value.__class__ is not str:
        raise _mismatch(value, "[]uint8", "slice")
    try:
        return canonical_base64(value)
    except Base64Error as error:
        raise DecodeError(str(error)) from None


def _decode_time(value: Any, _: list[str]) -> Any:
    if value.__class__ is not str:
        raise _mismatch(value, "string", "text")
    try:
        return times.canonical_time(value)
    except times.TimeError as error:
        raise DecodeError(str(error)) from None


def _decode_micro_time(value: Any, _: list[str]) -> Any:
    if value.__class__ is not str:
        raise _mismatch(value, "string", "text")
    try:
        return times.canonical_micro_time(value)
    except times.TimeError as error:
        raise DecodeError(str(error)) from None


def _decode_quantity(value: Any, _: list[str]) -> Any:
    if value.__class__ is not str:
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise DecodeError(quantity.FORMAT_ERROR)
        value = value.text if isinstance(value, Number) else str(value)
    try:
        return quantity.canonical(value)
    except quantity.QuantityError as error:
        raise DecodeError(str(error)) from None


def _decode_int_or_string(value: Any, unknown: list[str]) -> Any:
    if value.__class__ is str:
        return value
    return _DECODE_INT32(value, unknown)


def _decode_raw(value: Any, _: list[str]) -> Any:
    return value


_DECODE_INT32 = _decode_int("int32")

_SCALARS: dict[str, Decode] = {
    "string": _decode_string,
    "bool": _decode_bool,
    "int32": _DECODE_INT32,
    "int64": _decode_int("int64"),
    "double": _decode_double,
    "bytes": _decode_bytes,
    "Time": _decode_time,
    "MicroTime": _decode_micro_time,
    "Quantity": _decode_quantity,
    "IntOrString": _decode_int_or_string,
    "raw": _decode_raw,
    "any": _decode_raw,
}

SCALAR_ZEROS: dict[str, Any] = {
    "string": "",
    "bool": False,
    "int32": 0,
    "int64": 0,
    "double": 0,
    "Quantity": "0",
    "IntOrString": 0,
}


def zero(node: Type) -> Any:
    """A fresh zero value: what a present but unset field of this type holds."""
    if isinstance(node, Scalar):
        return SCALAR_ZEROS.get(node.name)
    if isinstance(node, Struct):
        return decoder(node)({}, [])
    return None


def _empty_item(node: Type) -> Any:
    """What null stands for inside a list or map, where nothing can be left out."""
    return "" if node == Scalar("bytes") else zero(node)


def _decode_list(node: ListOf) -> Decode:
    wanted = type_name(node)
    element = _decode_for(node.element)
    text_only = node.element == Scalar("string")

    def decode(value: Any, unknown: list[str]) -> Any:
        if value.__class__ is not list:
            raise _mismatch(value, wanted, "slice")
        if text_only and all(item.__class__ is str for item in value):
            return value
        return [
            _empty_item(node.element) if item is None else element(item, unknown) for item in value
        ]

    return decode


def _decode_map(node: MapOf) -> Decode:
    wanted = type_name(node)
    element = _decode_for(node.element)
    text_only = node.element == Scalar("string")

    def decode(value: Any, unknown: list[str]) -> Any:
        if value.__class__ is not dict:
            raise _mismatch(value, wanted, "map")
        if text_only and all(item.__class__ is str for item in value.values()):
            return value
        return {
            key: _empty_item(node.element) if item is None else element(item, unknown)
            for key, item in value.items()
        }

    return decode


def _decode_for(node: Type) -> Decode:
    match node:
        case Scalar():
            return _SCALARS[node.name]
        case ListOf():
            return _decode_list(node)
        case MapOf():
            return _decode_map(node)
        case Struct():
            return decoder(node)


def decoder(struct: Struct) -> Decode:
    """The compiled decoder of a struct; made once."""
    found: Decode | None = struct.walkers.get("decode")
    if found is None:
        found = struct.walkers["decode"] = _compile(struct)
    return found


# What the decoder needs of a field: the class whose values may be kept as they are (None if every
# value must be looked at), the bound of such a number, whether a zero is dropped, and the decoder.
_Row = tuple[type | None, int, bool, Decode]

_KEPT: dict[str, type] = {"string": str, "bool": bool, "int32": int, "int64": int}


def _row(field: Field) -> _Row:
    name = field.type.name if isinstance(field.type, Scalar) else ""
    drops_zero = field.presence is Presence.OMITTED and not is_struct_like(field.type)
    if field.presence is Presence.ALWAYS and isinstance(field.type, (ListOf, MapOf)):
        drops_zero = True  # an empty one is null
    return _KEPT.get(name), _INT_LIMITS.get(name, 0), drops_zero, _decode_for(field.type)


def is_struct_like(node: Type) -> bool:
    """Types whose plain values are written even when they are zero."""
    return isinstance(node, Struct) or node in _STRUCT_LIKE


_NULL = Scalar("any")
_STRUCT_LIKE = tuple(Scalar(name) for name in ("Time", "MicroTime", "Quantity", "IntOrString"))


def _always(struct: Struct) -> list[tuple[str, Type]]:
    return [
        (field.name, field.type if field.presence is not Presence.NULLABLE else _NULL)
        for field in struct.fields.values()
        if field.presence in (Presence.ALWAYS, Presence.NULLABLE)
        or (field.presence is Presence.OMITTED and is_struct_like(field.type))
    ]


class Remembering(dict[str, Any]):
    """A decoded struct that was given empty maps, which are not kept: `empty` are their names."""

    def __init__(self, fields: dict[str, Any], empty: tuple[str, ...]) -> None:
        super().__init__(fields)
        self.empty = empty


def _compile(struct: Struct) -> Decode:
    wanted = type_name(struct)
    remembers_empty = struct.name == "LabelSelector"  # messages tell empty labels from none
    rows: dict[str, _Row] = {}
    always: list[tuple[str, Type]] = []
    ready = False

    def decode(value: Any, unknown: list[str]) -> Any:
        nonlocal ready
        if not ready:  # on first use, since types may refer to themselves; in any thread
            rows.update((name, _row(field)) for name, field in struct.fields.items())
            always[:] = _always(struct)
            ready = True
        if not isinstance(value, dict):
            raise _mismatch(value, wanted, "struct")
        out: dict[str, Any] = {}
        for key, item in value.items():
            row = rows.get(key)
            if row is None:
                if struct.preserve_unknown:
                    out[key] = item
                else:
                    unknown.append(key)
                continue
            keep, limit, drops_zero, decode_field = row
            if item.__class__ is not keep or (limit and not -limit <= item < limit):  # type: ignore[operator]
                if item is None:
                    continue
                try:
                    item = decode_field(item, unknown)
                except DecodeError as error:
                    error.at(struct, key)
                    raise
            if drops_zero and not item:
                if remembers_empty and item == {}:
                    out = Remembering(out, (*getattr(out, "empty", ()), key))
                continue
            out[key] = item
        for name, node in always:
            if out.get(name) is None:
                out[name] = zero(node)
        return out

    return decode


MOST_UNKNOWN = 100  # fields whose places are told
_LONGEST_PATH = 1024


def unknown_paths(node: Type, value: Any) -> list[str]:
    """The paths of the first fields in a value that its type does not have, in the order of the
    value."""
    return list(islice(_unknown(node, value, []), MOST_UNKNOWN))


def _unknown(node: Type, value: Any, way: list[str]) -> Iterator[str]:
    """`way` are the steps to the value; a path is put together for an unknown field only."""
    match node:
        case Struct() if isinstance(value, dict):
            for key, item in value.items():
                field = node.fields.get(key)
                if field is not None and isinstance(field.type, Scalar):
                    continue
                if field is not None:
                    yield from _below(field.type, item, way, key)
                elif not node.preserve_unknown:
                    yield joined_path(way, key)
        case MapOf() if isinstance(value, dict) and not isinstance(node.element, Scalar):
            for key, item in value.items():
                yield from _below(node.element, item, way, key)
        case ListOf() if isinstance(value, list) and not isinstance(node.element, Scalar):
            for index, item in enumerate(value):
                yield from _below(node.element, item, way, f"[{index}]")


def _below(node: Type, value: Any, way: list[str], step: str) -> Iterator[str]:
    way.append(step)
    yield from _unknown(node, value, way)
    way.pop()


def joined_path(way: list[str], last: str) -> str:
    """Steps to a field as messages show them: `spec.containers[0].name`."""
    steps = (step if step.startswith("[") else f".{step}" for step in (*way, last))
    return "".join(steps).removeprefix(".")[:_LONGEST_PATH]
