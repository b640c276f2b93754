"""Parses the `.types` tables.

A type is a header line, `Name [atomic] [kind]`, and its indented fields, one a line:

    name  TYPE  NUMBER  [mark...]

TYPE is a scalar, `[T]` (list), `{T}` (map), a type of the same file, `group/version.Type`, or
`...T` for a struct whose fields are inlined in this one. A suffix gives its presence: `?` distinct
from zero, none omitted if zero (structs are always present), `!` always present, `?!` distinct from
zero and null if not given. NUMBER is the protobuf field number. Fields are in the order in which
the reference writes them in JSON, which is not always the order of their numbers.
Marks: `list=atomic|set|map:key,key`, `map=atomic|granular`, `merge[=key]`, `retainKeys`, `replace`,
`enum=A|B` (of the elements, if it is a list or map; `~` is a space), `default=VALUE`, `gate=GATE`
if the field is dropped while that feature gate is off and no stored object uses it, `type=NAME` if
errors have another name for the type than `names.table`, `message=TYPE` if protobuf has another
type, with one field for each type that the value may have. A line that ends in `if=SWITCH` is
included only if that switch of the dialect is on, one with marks of a release (`base.release`) only
in that release (`BuiltinTypes` evaluates both). `like group/version` on a line of its own includes
all types of another file that this file does not define, `enum NAME A|B` names values that several
fields have as `enum=NAME`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from itertools import chain
from threading import Lock
from typing import Any

from fairlead.codec.types.model import (
    Embedded,
    Field,
    ListOf,
    MapOf,
    Presence,
    Scalar,
    Struct,
    Type,
)

_SCALAR_NAMES = (
    "string int32 int64 bool double bytes Time MicroTime Duration Quantity IntOrString raw any"
)
SCALARS = {name: Scalar(name) for name in _SCALAR_NAMES.split()}
LIST_META = "meta/v1.ListMeta"


class NotationError(ValueError):
    """A table that does not follow the notation."""


Load = Callable[[str], Mapping[str, Struct]]
_reading = Lock()  # several threads load types


class Structs(Mapping[str, Struct]):
    """The structs of one table by name, and a collection for every kind. The fields of a struct are
    parsed on first access to it or to a struct that refers to it: most servers need few of the
    types of a large table."""

    def __init__(
        self, group_version: str, text: str, load: Load, partial_keys: bool = False
    ) -> None:
        """`load` returns the structs of another group-version. `partial_keys`: see `ListOf`."""
        self.group_version = group_version
        self.load = load
        self.partial_keys = partial_keys
        self.unread: dict[str, list[str]] = {}  # unparsed field lines by struct name
        self.enums: dict[str, str] = {}
        self._own: dict[str, Struct] = {}
        self._alike: list[Mapping[str, Struct]] = []
        self._scan(text)
        for kind in [struct for struct in self._own.values() if struct.is_kind]:
            self._add_collection(kind)

    def _scan(self, text: str) -> None:
        lines: list[str] = []
        for line in text.splitlines():
            if line[:1] == " ":
                lines.append(line)
                continue
            words = line.split()
            if not words or words[0] == "#":
                continue
            name, *marks = words
            if name == "like":
                self._alike.append(self.load(marks[0]))
                continue
            if name == "enum":
                self.enums[marks[0]] = marks[1]
                continue
            lines = self.unread[name] = []
            self._own[name] = Struct(
                name, self.group_version, atomic="atomic" in marks, is_kind="kind" in marks
            )

    def _add_collection(self, kind: Struct) -> None:
        name = f"{kind.name}List"
        if name in self:
            return
        struct = self._own[name] = Struct(name, self.group_version)
        _add_type_meta(struct)
        self.unread[name] = [f" metadata {LIST_META} 1", f" items [{kind.name}]! 2"]

    def __getitem__(self, name: str) -> Struct:
        if name in self.unread:
            with _reading:
                _Reading().read(self, name)
        if name in self._own:
            return self._own[name]
        for alike in self._alike:
            if name in alike:
                return alike[name]
        raise KeyError(name)

    def place(self, name: str) -> tuple[Mapping[str, Struct], Struct]:
        """A struct, whose fields may not be parsed yet, and its table."""
        if name in self._own:
            return self, self._own[name]
        for alike in self._alike:
            if name in alike:
                return alike.place(name) if isinstance(alike, Structs) else (alike, alike[name])
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys(chain(*self._alike, self._own)))

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __contains__(self, name: object) -> bool:
        return name in self._own or any(name in alike for alike in self._alike)


class _Reading:
    """Parses the fields of a struct and of all structs that it refers to. They stay in `unread`
    until all of them are parsed."""

    def __init__(self) -> None:
        self._table: Structs
        self._due: list[tuple[Structs, str]] = []

    def read(self, table: Structs, name: str) -> None:
        self._due.append((table, name))
        read: dict[tuple[int, str], tuple[Structs, Struct]] = {}
        rows: dict[tuple[int, str], list[str]] = {}
        while self._due:
            self._table, name = self._due.pop()
            key = id(self._table), name
            if key not in read and name in self._table.unread:
                struct = self._table.place(name)[1]
                read[key] = self._table, struct
                rows[key] = self._fill(struct, self._table.unread[name])
        for key, (_, struct) in reversed(
            read.items()
        ):  # embedded structs come after the structs that embed them
            if struct.embedded:
                _inline_fields(struct, rows[key])
        for _, struct in read.values():
            if struct.is_kind:
                _add_type_meta(struct)
        for table, struct in read.values():
            del table.unread[struct.name]

    def _fill(self, struct: Struct, lines: list[str]) -> list[str]:
        """Parse the fields of a struct. Returns the names of its rows."""
        rows = []
        for line in lines:
            words = line.split()
            if not words or words[0] == "#":
                continue
            name, text, number, *marks = words
            rows.append(name)
            if text.startswith("..."):
                struct.embedded[name] = Embedded(name, self._struct(text[3:]), int(number))
            else:
                struct.fields[name] = self._field(name, text, number, marks)
        return rows

    def _struct(self, name: str) -> Struct:
        table = self._table
        group_version, _, short = name.rpartition(".")
        is_own = group_version in ("", table.group_version)
        target = table if is_own else table.load(group_version)
        try:
            if not isinstance(target, Structs):
                return target[short]
            where, struct = target.place(short)
        except KeyError:
            raise NotationError(f"{table.group_version}: no type {name}") from None
        if isinstance(where, Structs):
            self._due.append((where, short))
        return struct

    def _type(self, text: str) -> Type:
        if text.startswith("["):
            return ListOf(self._type(text[1:-1]), partial_keys=self._table.partial_keys)
        if text.startswith("{"):
            return MapOf(self._type(text[1:-1]))
        return SCALARS.get(text) or self._struct(text)

    def _field(self, name: str, text: str, number: str, marks: list[str]) -> Field:
        bare = text.rstrip("?!")
        text, presence = bare, Presence(text[len(bare) :])
        field = Field(name, self._type(text), presence, int(number) if number != "-" else 0)
        for mark in marks:
            word, _, value = mark.partition("=")
            if word == "message":
                field.message = self._struct(value)
            elif word == "enum":
                _enum_mark(field, self._table.enums.get(value, value))
            else:
                _MARKS[word](field, value)
        _derive_list_kind(field, marks)
        return field


def _list_mark(field: Field, value: str) -> None:
    kind, _, keys = value.partition(":")
    if isinstance(field.type, ListOf):
        field.type.kind = kind
        field.type.keys = tuple(keys.split(",")) if keys else ()


def _map_mark(field: Field, value: str) -> None:
    if isinstance(field.type, MapOf):
        field.type.atomic = value == "atomic"
    field.granular = value == "granular"


def _merge_mark(field: Field, value: str) -> None:
    field.merge, field.merge_key = True, value


def _default_mark(field: Field, value: str) -> None:
    field.default = parse_value(value)


def _enum_mark(field: Field, value: str) -> None:
    field.enum = tuple(value.replace("~", " ").split("|"))


def _gate_mark(field: Field, value: str) -> None:
    field.gate = value


def _type_mark(field: Field, value: str) -> None:
    field.type_name = value


def _retain_mark(field: Field, _: str) -> None:
    field.retain_keys = True


def _replace_mark(field: Field, _: str) -> None:
    field.replace = True


_MARKS: dict[str, Callable[[Field, str], None]] = {
    "list": _list_mark,
    "map": _map_mark,
    "merge": _merge_mark,
    "default": _default_mark,
    "gate": _gate_mark,
    "type": _type_mark,
    "retainKeys": _retain_mark,
    "replace": _replace_mark,
}


def _derive_list_kind(field: Field, marks: list[str]) -> None:
    """Without a `list` mark, `merge` makes a list a map list by its merge key, or else a set."""
    if isinstance(field.type, ListOf) and field.merge and not any(m[:5] == "list=" for m in marks):
        field.type.kind = "map" if field.merge_key else "set"
        field.type.keys = (field.merge_key,) if field.merge_key else ()


def parse_value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def parse(group_version: str, text: str, load: Load) -> dict[str, Struct]:
    """The structs of one table by name, all of them parsed."""
    return dict(Structs(group_version, text, load))


def _inline_fields(struct: Struct, rows: list[str]) -> None:
    """Inline the fields of embedded structs at their places among the rows of a struct."""
    own = dict(struct.fields)
    struct.fields.clear()
    for name in rows:
        part = struct.embedded.get(name)
        struct.fields.update({name: own[name]} if part is None else part.struct.fields)


def _add_type_meta(struct: Struct) -> None:
    for name in ("apiVersion", "kind"):
        struct.fields[name] = Field(name, SCALARS["string"])
