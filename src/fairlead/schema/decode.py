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
from fairlead.schema.mismatch import (
    DecodeError,
    Number,
    mismatch,
    type_name,
)
from fairlead.schema.model import Field, ListOf, MapOf, Presence, Scalar, Struct, Type

# Takes a value and the list that names of unknown fields are added to; gives the value to keep.
Decode = Callable[[Any, list[str]], Any]

_INT_LIMITS = {"int32": 2**31, "int64": 2**63}


def _decode_string(value: Any, _: list[str]) -> Any:
    if value.__class__ is str:
        return value
    raise mismatch(value, "string")


def _decode_bool(value: Any, _: list[str]) -> Any:
    if value.__class__ is bool:
        return value
    raise mismatch(value, "bool")


def _decode_int(name: str) -> Decode:
    limit = _INT_LIMITS[name]

    def decode(value: Any, _: list[str]) -> Any:
        if value.__class__ is int and -limit <= value < limit:
            return value
        if isinstance(value, (int, float)) and value.__class__ is not bool:
            shown = value.text if isinstance(value, Number) else value
            raise DecodeError(f"number {shown} of type {name}", wants_place=True)
        raise mismatch(value, name)

    return decode


def _decode_double(value: Any, _: list[str]) -> Any:
    if isinstance(value, (int, float)) and value.__class__ is not bool:
        return value
    raise mismatch(value, "float64")


def _decode_bytes(value: Any, _: list[str]) -> Any:
    if value.__class__ is not str:
        raise mismatch(value, "[]uint8", "slice")
    try:
        return canonical_base64(value)
    except Base64Error as error:
        raise DecodeError(str(error)) from None


def _decode_time(value: Any, _: list[str]) -> Any:
    if value.__class__ is not str:
        raise mismatch(value, "string", "text")
    try:
        return times.canonical_time(value)
    except times.TimeError as error:
        raise DecodeError(str(error)) from None


def _decode_micro_time(value: Any, _: list[str]) -> Any:
    if value.__class__ is not str:
        raise mismatch(value, "string", "text")
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


_TEXTS = frozenset((str,))


def _decode_list(node: ListOf) -> Decode:
    wanted = type_name(node)
    element = _decode_for(node.element)
    text_only = node.element == Scalar("string")

    def decode(value: Any, unknown: list[str]) -> Any:
        if value.__class__ is not list:
            raise mismatch(value, wanted, "slice")
        if text_only and _TEXTS.issuperset(map(type, value)):
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
            raise mismatch(value, wanted, "map")
        if text_only and _TEXTS.issuperset(map(type, value.values())):
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
            raise mismatch(value, wanted, "struct")
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
