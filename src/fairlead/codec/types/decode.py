"""Decodes parsed JSON to the stored form of objects: checks types, drops unknown fields, makes
scalars canonical, and adds or drops zero values as the type requires.

`decoder(struct)` builds the table of a struct once. Paths are assembled only for errors, so a valid
object does not pay for them: `unknown_paths` finds the places of unknown fields after the decoder
has seen that there are any.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any, Final, final

from fairlead.codec.types.mismatch import DecodeError, mismatch
from fairlead.codec.types.model import Field, ListOf, MapOf, Object, Presence, Scalar, Struct, Type
from fairlead.codec.types.scalars import SCALAR_ZEROS as SCALAR_ZEROS
from fairlead.codec.types.scalars import SCALARS, UNCOUNTED, DecodeNotes, Decoder
from fairlead.codec.types.scalars import Decode as Decode
from fairlead.codec.types.shown_empty import SHOWN_WHEN_EMPTY


class _Called(Decoder):
    """Wraps the decoder that a struct brings itself."""

    def __init__(self, function: Decode) -> None:
        self.function = function

    def decode(self, value: Any, notes: DecodeNotes) -> Any:
        notes.uncounted = True
        return self.function(value, notes.unknown)


def zero(node: Type) -> Any:
    """A fresh zero value: the value of a present but unset field of this type."""
    if isinstance(node, Scalar):
        return SCALAR_ZEROS.get(node.name)
    if isinstance(node, Struct):
        return decoder(node)({}, [])
    return None


def _empty_item(node: Type) -> Any:
    """The value of a null inside a list or map, where an item cannot be left out."""
    return "" if node == Scalar("bytes") else zero(node)


class _List(Decoder):
    def __init__(self, node: ListOf) -> None:
        self.node = node
        self.element = decoder_for(node.element)
        self.text_only = node.element == Scalar("string")

    def decode(self, value: Any, notes: DecodeNotes) -> Any:
        if type(value) is not list:
            raise mismatch(value, self.node, "slice")
        if self.text_only and _are_texts(value):
            notes.texts += len(value)
            return value
        element, out = self.element, []
        for item in value:
            if item is None:
                out.append(_empty_item(self.node.element))
            else:
                out.append(element.decode(item, notes))
        return out


def _are_texts(value: list[Any]) -> bool:
    return all(type(item) is str for item in value)


class _Map(Decoder):
    def __init__(self, node: MapOf, element: Decoder | None = None) -> None:
        self.node = node
        self.element = element or decoder_for(node.element)
        self.text_only = node.element == Scalar("string")

    def decode(self, value: Any, notes: DecodeNotes) -> Any:
        if type(value) is not dict:
            raise mismatch(value, self.node, "map")
        notes.texts += len(value)
        if self.text_only and _has_texts(value):
            notes.texts += len(value)
            return value
        element = self.element
        out: dict[Any, Any] = {}
        for key, item in value.items():
            if item is None:
                out[key] = _empty_item(self.node.element)
            else:
                out[key] = element.decode(item, notes)
        return out


def _has_texts(value: dict[Any, Any]) -> bool:
    return all(type(item) is str for item in value.values())


class _Either(Decoder):
    """Decodes a field whose value has one of several types. Runs separately: unknown fields are not
    reported, and paths of errors start here."""

    def __init__(self, struct: Struct) -> None:
        self.alternatives = Alternatives(struct)
        self.fields = decoder_for(struct)

    def decode(self, value: Any, notes: DecodeNotes) -> Any:
        notes.uncounted = True
        spread = self.alternatives.spread(value)
        if not spread and self.alternatives.switch:
            raise DecodeError("boolean or JSON schema expected")
        try:
            return self.alternatives.gathered(self.fields.decode(spread, DecodeNotes([])))
        except DecodeError as error:
            error.leave_alternative()
            raise


def _field_decoder(field: Field) -> Decoder:
    if field.message is None:
        return decoder_for(field.type)
    either = _Either(field.message)
    return _Map(field.type, either) if isinstance(field.type, MapOf) else either


def decoder_for(node: Type) -> Decoder:
    """The decoder of values of a type."""
    if isinstance(node, Scalar):
        return SCALARS[node.name]
    if isinstance(node, ListOf):
        return _List(node)
    if isinstance(node, MapOf):
        return _Map(node)
    inner = decoder(node)
    return inner if isinstance(inner, Decoder) else _Called(inner)


def decoder(struct: Struct) -> Decode:
    """The decoder of a struct, built once."""
    decode: Decode | None = struct.walkers.get("decode")
    if decode is None:
        decode = struct.walkers["decode"] = _Fields(struct)
    return decode


def decode_counting(struct: Struct, value: Any, unknown: list[str]) -> tuple[Any, int]:
    """Decode a value and count its strings, see `DecodeNotes`; UNCOUNTED if the decoder did not
    visit all of them."""
    decode = decoder(struct)
    if not isinstance(decode, Decoder):
        return decode(value, unknown), UNCOUNTED
    notes = DecodeNotes(unknown)
    decoded = decode.decode(value, notes)
    return decoded, UNCOUNTED if notes.uncounted else notes.texts


# Types that parse their JSON themselves.
_OWN_READERS: Final = frozenset({"Quantity", "Time", "MicroTime", "IntOrString"})


def first_unreadable(node: Type, value: Any) -> DecodeError | None:
    """The error of the first value that its self-parsing type rejects. The reference stops at this
    one; after any other type mismatch it continues and reports the mismatch at the end."""
    if isinstance(node, Scalar):
        if value is not None and node.name in _OWN_READERS:
            try:
                SCALARS[node.name].decode(value, DecodeNotes([]))
            except DecodeError as error:
                return error
        return None
    if isinstance(node, Struct):
        named = value.items() if isinstance(value, dict) else ()
        for name, item in named:
            field = node.fields.get(name)
            unread = first_unreadable(field.type, item) if field is not None else None
            if unread is not None:
                unread.at(node, name)
                return unread
        return None
    if isinstance(node, MapOf):
        items = list(value.values()) if isinstance(value, dict) else []
    else:
        items = value if isinstance(value, list) else []
    problems = (first_unreadable(node.element, item) for item in items)
    return next((unread for unread in problems if unread is not None), None)


# Values that are stored unchanged: strings, booleans and 32-bit integers. All others go to the
# decoder of the field.
_DECODED: Final = 0
_TEXT: Final = 1
_SWITCH: Final = 2
_NUMBER: Final = 3
_KEPT: Final[dict[str, int]] = {
    "string": _TEXT,
    "bool": _SWITCH,
    "int32": _NUMBER,
    "int64": _NUMBER,
}


@final
class _Row:
    """The decoding table entry of a field. The name is interned, so that later lookups of the field
    compare by identity instead of by characters."""

    def __init__(self, field: Field) -> None:
        kind = field.type
        self.name = sys.intern(field.name)
        self.kept = _KEPT.get(kind.name, _DECODED) if isinstance(kind, Scalar) else _DECODED
        self.drops_zero = drops_zero(field)
        self.decoder = _field_decoder(field)


@final
class PresentField:
    """An always present field, and its value if it is not given."""

    def __init__(self, field: Field) -> None:
        self.name = sys.intern(field.name)
        node = field.type if field.presence is not Presence.NULLABLE else _NULL
        self.struct = decoder_for(node) if isinstance(node, Struct) else None
        self.scalar: Any = None if isinstance(node, Struct) else zero(node)

    def zero(self) -> Any:
        return self.scalar if self.struct is None else self.struct.decode({}, DecodeNotes([]))


def is_struct_like(node: Type) -> bool:
    """Whether values of a type are written even if they are zero."""
    return isinstance(node, Struct) or node in _STRUCT_LIKE


_NULL: Final = Scalar("any")
_STRUCT_LIKE = tuple(Scalar(name) for name in ("Time", "MicroTime", "Quantity", "IntOrString"))


def _is_always(field: Field) -> bool:
    if field.presence is Presence.OMITTED:
        return is_struct_like(field.type)
    return field.presence in (Presence.ALWAYS, Presence.NULLABLE)


def present_fields(struct: Struct) -> list[PresentField]:
    """The fields of a struct that are always present."""
    return [PresentField(field) for field in struct.fields.values() if _is_always(field)]


def fill_present_fields(always: list[PresentField], out: dict[str, Any]) -> None:
    """Add the always present fields that a struct lacks."""
    for field in always:
        if out.get(field.name) is None:
            out[field.name] = field.zero()


def drops_zero(field: Field) -> bool:
    """Whether a field is dropped if it is zero."""
    if field.presence is Presence.ALWAYS:
        return isinstance(field.type, (ListOf, MapOf))  # an empty list or map becomes null
    return field.presence is Presence.OMITTED and not is_struct_like(field.type)


class WithEmptyFields(dict[str, Any]):
    """A decoded struct whose empty maps and lists were dropped: `empty` holds their names."""

    def __init__(self, fields: dict[str, Any], empty: tuple[str, ...]) -> None:
        super().__init__(fields)
        self.empty = empty


@final
class _Fields(Decoder):
    """The decoder of a struct."""

    def __init__(self, struct: Struct) -> None:
        self.struct = struct
        self.remembers_empty = struct.name in SHOWN_WHEN_EMPTY
        self.rows: dict[str, _Row] = {}
        self.always: list[PresentField] = []
        self.ready = False

    def prepare(self) -> None:
        """Called on first use, because types may refer to themselves; in any thread."""
        self.rows = {name: _Row(field) for name, field in self.struct.fields.items()}
        self.always = present_fields(self.struct)
        metadata = self.struct.fields.get("metadata")
        if self.struct.name == "PodTemplateSpec" and metadata and isinstance(metadata.type, Struct):
            decoder = _Fields(metadata.type)
            decoder.remembers_empty = True
            self.rows["metadata"].decoder = decoder
        self.ready = True

    def decode(self, value: Any, notes: DecodeNotes) -> Any:
        if not self.ready:
            self.prepare()
        if not isinstance(value, dict):
            raise mismatch(value, self.struct, "struct")
        out: dict[str, Any] = {}
        rows = self.rows
        texts = len(value)
        for key, item in value.items():
            row = rows.get(key)
            if row is None:
                notes.uncounted = True
                if self.struct.preserve_unknown:
                    out[key] = item
                else:
                    notes.unknown.append(key)
            elif not _is_kept(row.kept, item):
                if item is not None:
                    out = self.take(row, item, out, notes)
            else:
                if row.kept == _TEXT:
                    texts += 1
                if item or not row.drops_zero:
                    out[row.name] = item
        notes.texts += texts
        fill_present_fields(self.always, out)
        return out

    def take(self, row: _Row, item: Any, out: dict[str, Any], notes: DecodeNotes) -> dict[str, Any]:
        """Decode a field into the struct. Returns the struct, or a `WithEmptyFields` copy of it if
        a dropped empty map or list must be recorded."""
        try:
            item = row.decoder.decode(item, notes)
        except DecodeError as error:
            error.at(self.struct, row.name)
            raise
        if item or not row.drops_zero:
            out[row.name] = item
        elif self.remembers_empty and (item == {} or item == []):
            return WithEmptyFields(out, (*getattr(out, "empty", ()), row.name))
        return out


def _is_kept(mode: int, item: Any) -> bool:
    """Whether a value has the form that its field stores unchanged."""
    if mode == _TEXT:
        return type(item) is str
    if mode == _NUMBER:
        return type(item) is int and -(2**31) <= item < 2**31
    return mode == _SWITCH and type(item) is bool


MAX_UNKNOWN: Final = 100  # fields whose paths are reported
_MAX_PATH_LENGTH: Final = 1024


def unknown_paths(node: Type, value: Any, *, sort_keys: bool = False) -> list[str]:
    """The paths of the first fields in a value that its type does not have, in document order or
    sorted by key."""
    paths = islice(_unknown(node, value, [], sort_keys), MAX_UNKNOWN)
    return [path for _, path in paths]


def unknown_paths_of_custom(struct: Struct, value: dict[str, Any]) -> list[str]:
    """The unknown fields of a custom object, by the schema that its type was made from."""
    find: Callable[[dict[str, Any]], list[str]] = struct.walkers["unknown"]
    return find(value)


def known_part(node: Type, value: Any) -> Any:
    """A value without the fields that its type does not have; does not check anything else."""
    match node:
        case Struct() if isinstance(value, dict):
            fields = node.fields
            return {
                key: known_part(fields[key].type, item) if key in fields else item
                for key, item in value.items()
                if key in fields or node.preserve_unknown
            }
        case MapOf() if isinstance(value, dict):
            return {key: known_part(node.element, item) for key, item in value.items()}
        case ListOf() if isinstance(value, list):
            return [known_part(node.element, item) for item in value]
    return value


def _unknown(
    node: Type, value: Any, path: list[str], sort_keys: bool
) -> Iterator[tuple[Struct, str]]:
    """Yields the path of each unknown field, with the type that lacks it. `path` holds the steps to
    the value; a path is assembled for unknown fields only."""
    match node:
        case Struct() if isinstance(value, dict):
            for key in sorted(value) if sort_keys else value:
                field = node.fields.get(key)
                if field is not None and isinstance(field.type, Scalar):
                    continue
                if field is not None:
                    yield from _below(field.type, value[key], path, key, sort_keys)
                elif not node.preserve_unknown:
                    yield node, joined_path(path, key)
        case MapOf() if isinstance(value, dict) and not isinstance(node.element, Scalar):
            for key in sorted(value) if sort_keys else value:
                yield from _below(node.element, value[key], path, key, sort_keys)
        case ListOf() if isinstance(value, list) and not isinstance(node.element, Scalar):
            for index, item in enumerate(value):
                yield from _below(node.element, item, path, f"[{index}]", sort_keys)


def _below(
    node: Type, value: Any, path: list[str], step: str, sort_keys: bool
) -> Iterator[tuple[Struct, str]]:
    path.append(step)
    yield from _unknown(node, value, path, sort_keys)
    path.pop()


def joined_path(path: list[str], last: str) -> str:
    """A path as shown in messages: `spec.containers[0].name`."""
    steps = (step if step.startswith("[") else f".{step}" for step in (*path, last))
    return "".join(steps).removeprefix(".")[:_MAX_PATH_LENGTH]


# Values of one of several types: any of them in JSON, a struct with one field per type in protobuf.


class Alternatives:
    """A struct with one field for each type that a value may have: an object, a list, or a boolean
    that allows any object or none."""

    def __init__(self, struct: Struct) -> None:
        self.struct = struct
        self.switch = self._object = self._list = ""
        for field in struct.fields.values():
            if isinstance(field.type, Struct):
                self._object = field.name
            elif isinstance(field.type, ListOf):
                self._list = field.name
            else:
                self.switch = field.name

    def spread(self, value: Any) -> Object:
        """The value as an object of the struct; empty if it has none of the types."""
        spread_value: Object = {}
        if isinstance(value, dict):
            if self._object:
                spread_value[self._object] = value
            if self.switch:
                spread_value[self.switch] = True
        elif isinstance(value, list):
            if self._list:
                spread_value[self._list] = value
        elif self.switch and isinstance(value, bool):
            spread_value[self.switch] = value
        return spread_value

    def gathered(self, value: Object) -> Any:
        """The value that an object of the struct represents."""
        if self._list and value.get(self._list):
            return value[self._list]
        if self._object in value:
            return value[self._object]
        if self.switch:
            return bool(value.get(self.switch))
        return None


def alternatives_of(field: Field) -> Alternatives | None:
    """The alternatives of a field, or of a map entry, whose protobuf message differs from its
    type."""
    if field.message is not None:
        return Alternatives(field.message)
    if not isinstance(field.type, MapOf) or not isinstance(field.type.element, ListOf):
        return None
    items = Field("items", field.type.element, number=1)  # for a list inside a map
    return Alternatives(Struct("items", fields={"items": items}))
