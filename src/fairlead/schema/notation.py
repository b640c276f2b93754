"""Reading the `.types` tables.

A type is a header line, `Name [atomic] [kind]`, and its indented fields, one a line:

    name  TYPE  NUMBER  [mark...]

TYPE is a scalar, `[T]` (list), `{T}` (map), a type of the same file, `group/version.Type`, or
`...T` for a struct whose fields lie flat in this one. A suffix tells its presence: `?` told apart
from zero, none left out when zero (structs always there), `!` always there, `?!` told apart from
zero and null when not given. NUMBER is protobuf's.
Marks: `list=atomic|set|map:key,key`, `map=atomic|granular`, `merge[=key]`, `retainKeys`,
`replace`, `enum=A|B`, `default=VALUE`. `like group/version` on a line of its own takes over all
types of another file that this one does not define.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from fairlead.schema.model import Embedded, Field, ListOf, MapOf, Presence, Scalar, Struct, Type

_SCALAR_NAMES = "string int32 int64 bool double bytes Time MicroTime Quantity IntOrString raw any"
SCALARS = {name: Scalar(name) for name in _SCALAR_NAMES.split()}
LIST_META = "meta/v1.ListMeta"


class NotationError(ValueError):
    """A table that does not follow the notation."""


Load = Callable[[str], dict[str, Struct]]


class _File:
    """One table being read: the structs it defines and how it finds those of other tables."""

    def __init__(self, group_version: str, load: Load) -> None:
        self.group_version = group_version
        self.load = load
        self.structs: dict[str, Struct] = {}

    def struct(self, name: str) -> Struct:
        group_version, _, short = name.rpartition(".")
        own = group_version in ("", self.group_version)
        found = self.structs if own else self.load(group_version)
        try:
            return found[short]
        except KeyError:
            raise NotationError(f"{self.group_version}: no type {name}") from None

    def type(self, text: str) -> Type:
        if text.startswith("["):
            return ListOf(self.type(text[1:-1]))
        if text.startswith("{"):
            return MapOf(self.type(text[1:-1]))
        return SCALARS.get(text) or self.struct(text)

    def field(self, name: str, text: str, number: str, marks: list[str]) -> Field:
        bare = text.rstrip("?!")
        text, presence = bare, Presence(text[len(bare) :])
        made = Field(name, self.type(text), presence, int(number) if number != "-" else 0)
        for mark in marks:
            word, _, value = mark.partition("=")
            _MARKS[word](made, value)
        _derive_list_kind(made, marks)
        return made


def _list_mark(made: Field, value: str) -> None:
    kind, _, keys = value.partition(":")
    if isinstance(made.type, ListOf):
        made.type.kind = kind
        made.type.keys = tuple(keys.split(",")) if keys else ()


def _map_mark(made: Field, value: str) -> None:
    if isinstance(made.type, MapOf):
        made.type.atomic = value == "atomic"
    else:
        made.granular = value == "granular"


def _merge_mark(made: Field, value: str) -> None:
    made.merge, made.merge_key = True, value


def _default_mark(made: Field, value: str) -> None:
    made.default = parse_value(value)


def _enum_mark(made: Field, value: str) -> None:
    made.enum = tuple(value.split("|"))


def _retain_mark(made: Field, _: str) -> None:
    made.retain_keys = True


def _replace_mark(made: Field, _: str) -> None:
    made.replace = True


_MARKS: dict[str, Callable[[Field, str], None]] = {
    "list": _list_mark,
    "map": _map_mark,
    "merge": _merge_mark,
    "default": _default_mark,
    "enum": _enum_mark,
    "retainKeys": _retain_mark,
    "replace": _replace_mark,
}


def _derive_list_kind(made: Field, marks: list[str]) -> None:
    """Without a list type, a merge strategy is read as a map list by its key, or as a set."""
    if isinstance(made.type, ListOf) and made.merge and not any(m[:5] == "list=" for m in marks):
        made.type.kind = "map" if made.merge_key else "set"
        made.type.keys = (made.merge_key,) if made.merge_key else ()


def parse_value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def parse(group_version: str, text: str, load: Load) -> dict[str, Struct]:
    """The structs of one table by name; `load` gives the structs of another group-version."""
    file = _File(group_version, load)
    blocks: list[tuple[Struct, list[list[str]]]] = []
    rows: list[list[str]] = []
    for line in text.splitlines():
        words = line.split()
        if not words or words[0] == "#":
            continue
        if line[0] == " ":
            rows.append(words)
        elif words[0] == "like":
            file.structs.update(load(words[1]))
        else:
            struct = Struct(
                words[0],
                group_version,
                atomic="atomic" in words,
                is_kind="kind" in words,
            )
            rows = []
            blocks.append((struct, rows))
            file.structs[struct.name] = struct
    for struct, field_rows in blocks:
        _fill(file, struct, field_rows)
    for struct, _ in blocks:
        _spread(struct)
    for struct, _ in blocks:
        if struct.is_kind:
            _add_type_meta(struct)
            file.structs.setdefault(struct.name + "List", _list_of(file, struct))
    return file.structs


def _fill(file: _File, struct: Struct, rows: list[list[str]]) -> None:
    for row in rows:
        name, text, number, *marks = row
        if text.startswith("..."):
            struct.embedded[name] = Embedded(name, file.struct(text[3:]), int(number))
        else:
            struct.fields[name] = file.field(name, text, number, marks)


def _spread(struct: Struct) -> None:
    for part in struct.embedded.values():
        struct.fields.update(part.struct.fields)


def _add_type_meta(struct: Struct) -> None:
    for name in ("apiVersion", "kind"):
        struct.fields[name] = Field(name, SCALARS["string"])


def _list_of(file: _File, struct: Struct) -> Struct:
    """The collection type that every kind has."""
    made = Struct(struct.name + "List", struct.group_version)
    _add_type_meta(made)
    made.fields["metadata"] = Field("metadata", file.struct(LIST_META), number=1)
    made.fields["items"] = Field("items", ListOf(struct), Presence.ALWAYS, 2)
    return made
