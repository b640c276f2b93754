"""The CEL types of a schema, for the expressions of its validation rules."""

from __future__ import annotations

import re
from typing import NamedTuple

from fairlead.codec.cel.parser import KEYWORDS
from fairlead.codec.cel.types import (
    BOOL,
    BYTES,
    DOUBLE,
    DURATION,
    DYN,
    INT,
    STRING,
    TIMESTAMP,
    ListType,
    MapType,
    ObjectType,
    Type,
)
from fairlead.resources.custom.schema.markers import Markers, Schema, items_schema, values_schema

MAX_BYTES = 3 * 1024 * 1024  # of a request, and so of any value in it
_MAX_TEXT_LENGTH = MAX_BYTES - 2
_RESERVED = frozenset(("true", "false", "null", "in")) | KEYWORDS
_ESCAPES = ((".", "__dot__"), ("-", "__dash__"), ("/", "__slash__"))
_PLAIN_OF = {word: plain for plain, word in (*_ESCAPES, ("__", "__underscores__"))}
_ESCAPED = re.compile("__[^_]+__")
_FIRST = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_.-/")
_LETTERS = _FIRST | frozenset("0123456789")
_KEY = STRING.sized(0)  # the reference's cost estimate counts keys as empty
_TEXT: Schema = {"type": "string"}
_NAMES = ("name", "generateName")
_TYPE_META: Schema = {
    "kind": _TEXT,
    "apiVersion": _TEXT,
    "metadata": {"type": "object", "properties": dict.fromkeys(_NAMES, _TEXT)},
}


class Declared(NamedTuple):
    """A type, and the minimal number of bytes of its serialized values."""

    type: Type
    minimum: int


# Formats with a type other than string: the type, and the minimal and maximal number of bytes.
_FORMATS: dict[str, tuple[Type, int, int]] = {
    "duration": (DURATION, 3, 32),
    "date": (TIMESTAMP, 12, 12),
    "date-time": (TIMESTAMP, 21, 32),
}
_SCALAR_TYPES = {
    "boolean": Declared(BOOL, 4),
    "number": Declared(DOUBLE, 1),
    "integer": Declared(INT, 1),
}


def escaped(name: str) -> str | None:
    """The name of a property in expressions; None if it cannot be used in them."""
    if name in _RESERVED:
        return f"__{name}__"
    if not name or name[0] not in _FIRST or not _LETTERS.issuperset(name):
        return None
    parts = name.split("__")
    for plain, word in _ESCAPES:
        parts = [part.replace(plain, word) for part in parts]
    return "__underscores__".join(parts)


def unescaped(name: str) -> str | None:
    """The property that has this name in expressions; None if none can have it."""
    words = _ESCAPED.findall(name)
    if len(words) == 1 and words[0] == name and name[2:-2] in _RESERVED:
        return name[2:-2]
    if not _PLAIN_OF.keys() >= set(words):
        return None
    return _ESCAPED.sub(lambda word: _PLAIN_OF[word[0]], name)


def cardinality(minimum: int) -> int:
    """How many values of at least `minimum` bytes fit into a request."""
    return MAX_BYTES // (minimum + 1)


def declared(
    schema: Schema, markers: Markers, is_object: bool, name: str = "selfType"
) -> Declared | None:
    """The type of values of a schema; None if expressions cannot use them. `is_object`: the value
    is a whole object or an embedded object. Unknown fields are not part of the type."""
    if schema.get(markers.int_or_string):
        return Declared(DYN.sized(_MAX_TEXT_LENGTH), 1)
    kind = schema.get("type")
    if kind == "array":
        return _list(schema, markers, name)
    if kind == "string":
        return _string(schema, markers)
    if kind == "object":
        values = values_schema(schema)
        if values is not None and not is_object:
            return _map(schema, values, markers, name)
        return _object(schema, markers, is_object, name)
    return _SCALAR_TYPES.get(kind or "")


def _list(schema: Schema, markers: Markers, name: str) -> Declared | None:
    items = items_schema(schema)
    if items is None:
        return None
    element = declared(items, markers, bool(items.get(markers.embedded)), f"{name}.@idx")
    if element is None:
        return None
    maximum = schema.get("maxItems")
    if maximum is None:
        maximum = (MAX_BYTES - 2) // (element.minimum + 1)
    return Declared(ListType(element.type, max(maximum, 0), _identity(schema, markers)), 2)


def _identity(schema: Schema, markers: Markers) -> tuple[str, ...] | None:
    """The keys that identify the items of a list: empty for a set, None for other lists."""
    match schema.get(markers.list_type):
        case "set":
            return ()
        case "map":
            return tuple(schema.get(markers.list_keys) or ())
    return None


def _map(schema: Schema, values: Schema, markers: Markers, name: str) -> Declared | None:
    element = declared(values, markers, bool(values.get(markers.embedded)), f"{name}.@elem")
    if element is None:
        return None
    maximum = schema.get("maxProperties")
    if maximum is None:
        maximum = (MAX_BYTES - 2) // (element.minimum + 6)
    return Declared(MapType(_KEY, element.type, max(maximum, 0)), 2)


def _object(schema: Schema, markers: Markers, is_object: bool, name: str) -> Declared:
    own_properties = schema.get("properties") or {}
    properties = (
        {**own_properties, **_TYPE_META}
        if is_object and not _has_meta(own_properties)
        else own_properties
    )
    required = schema.get("required") or ()
    fields: dict[str, Type] = {}
    renamed: dict[str, str] = {}
    minimum = 2
    for key, inner in properties.items():
        shown = escaped(key)
        within = f"{name}.{shown or key}"
        field = declared(inner, markers, bool(inner.get(markers.embedded)), within)
        if field is None:
            continue
        if shown is not None:
            fields[shown] = field.type
            if shown != key:
                renamed[shown] = key
            if key in KEYWORDS:  # may also be spelled as it is, since 1.31
                fields[key] = field.type
        if key in required and inner.get("default") is None:
            minimum += len(key) + field.minimum + 4
    return Declared(ObjectType(name, fields, renamed), minimum)


def _has_meta(properties: Schema) -> bool:
    """Whether a schema declares apiVersion, kind and metadata itself, so that its limits apply."""
    kinds = {name: (properties.get(name) or {}).get("type") for name in _TYPE_META}
    if kinds != {"kind": "string", "apiVersion": "string", "metadata": "object"}:
        return False
    meta = properties["metadata"].get("properties") or {}
    return all((meta.get(name) or {}).get("type") == "string" for name in _NAMES)


def _string(schema: Schema, markers: Markers) -> Declared:
    form, maximum = schema.get("format") or "", schema.get("maxLength")
    if form in _FORMATS:
        kind, minimum, longest = _FORMATS[form]
        return Declared(kind.sized(longest), minimum)  # type: ignore[attr-defined]
    if form == "byte":
        return Declared(
            BYTES.sized(max(maximum, 0) if maximum is not None else _MAX_TEXT_LENGTH), 2
        )
    if maximum is None and markers.sizes_enums and (values := schema.get("enum")):
        texts = (value for value in values if isinstance(value, str))
        return Declared(STRING.sized(max((len(text.encode()) for text in texts), default=0)), 2)
    # `maxLength` counts characters, the cost estimate bytes; a character has up to four bytes.
    return Declared(
        STRING.sized(max(maximum, 0) * 4 if maximum is not None else _MAX_TEXT_LENGTH), 2
    )
