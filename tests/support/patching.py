"""Shared by the tests of patching: types, short forms of objects, and strategies that generate
them."""

from __future__ import annotations

from functools import cache
from typing import Any

import orjson
from hypothesis import strategies as st

from fairlead.base.dialect import KUBERNETES, Dialect
from fairlead.codec.types.builtin import BuiltinTypes
from fairlead.codec.types.model import Field, ListOf, MapOf, Presence, Scalar, Struct, Type
from fairlead.codec.types.notation import SCALARS
from fairlead.fields.entries import ManagedEntry, OneVersion, Versions, entries_of, fields_of
from fairlead.fields.field_sets import EMPTY, FieldSet
from fairlead.fields.ownership import apply, track_update
from fairlead.fields.shapes import shape_of
from fairlead.fields.stored_entries import StoredEntry
from fairlead.fields.typed_values import updated_fields

TYPES = BuiltinTypes(KUBERNETES)
CONFIG_MAP = TYPES.struct("core/v1.ConfigMap")
POD = TYPES.struct("core/v1.Pod")
POD_TEMPLATE = TYPES.struct("core/v1.PodTemplate")
STATUS: FieldSet = {"f:status": {}}

Object = dict[str, Any]


def custom(schema: dict[str, Type], name: str = "Thing") -> Struct:
    """Return a custom resource's type: fields with a presence, and the common ones."""
    fields = {key: Field(key, kind, Presence.DISTINCT) for key, kind in schema.items()}
    for key in ("apiVersion", "kind"):
        fields[key] = Field(key, SCALARS["string"])
    fields["metadata"] = Field("metadata", TYPES.struct("meta/v1.ObjectMeta"))
    return Struct(name, "example.com/v1", fields, is_kind=True)


def struct(fields: dict[str, Type], **facts: Any) -> Struct:
    created = {key: Field(key, kind, Presence.DISTINCT) for key, kind in fields.items()}
    return Struct("Part", "example.com/v1", created, **facts)


def held_fields(struct: Struct, value: Object) -> FieldSet:
    """All fields of an object, as whoever makes it from nothing owns them.

    Raises `Untrackable` when list items cannot be told apart.
    """
    return updated_fields(shape_of(struct), value) or EMPTY


class Cluster:
    """One object under the writes of several managers, one a second."""

    def __init__(
        self,
        kind: Struct,
        *,
        api_version: str = "v1",
        ignored: FieldSet = EMPTY,
        dialect: Dialect = KUBERNETES,
        versions: Versions | None = None,
    ) -> None:
        self.versions = versions or OneVersion(api_version, kind)
        self.kind = kind
        self.api_version = api_version
        self.ignored = ignored
        self.dialect = dialect
        self.live: Object | None = None
        self.seconds = 0

    @property
    def object(self) -> Object:
        assert self.live is not None
        return self.live

    @property
    def entries(self) -> list[ManagedEntry]:
        result: list[ManagedEntry] = self.object["metadata"].get("managedFields", [])
        return result

    @property
    def owners(self) -> dict[str, FieldSet]:
        return {entry["manager"]: entry["fieldsV1"] for entry in self.entries}

    def owned_by(self, manager: str) -> FieldSet:
        return self.owners[manager]

    def now(self) -> str:
        self.seconds += 1
        return f"2024-01-01T00:{self.seconds // 60:02}:{self.seconds % 60:02}Z"

    def _options(self, manager: str, facts: Object) -> Object:
        return {
            "manager": manager,
            "api_version": self.api_version,
            "dialect": self.dialect,
            "now": self.now(),
            "ignored": self.ignored,
            **facts,
        }

    def _store(self, value: Object, entries: list[ManagedEntry]) -> Object:
        metadata = dict(value.get("metadata", {}))
        metadata.pop("managedFields", None)
        if entries:
            metadata["managedFields"] = entries
        self.live = {**value, "metadata": metadata}
        return self.live

    def put(self, manager: str, value: Object, **facts: Any) -> Object:
        """Creates or replaces the object."""
        options = self._options(manager, facts)
        return self._store(value, track_update(self.versions, self.live, value, **options))

    def apply(self, manager: str, config: Object, **facts: Any) -> Object:
        value, entries = apply(self.versions, self.live, config, **self._options(manager, facts))
        return self._store(value, entries)


def as_stored(live: Object) -> Object:
    """The object with entries whose sets are text."""
    entries = [
        StoredEntry({**item, "fieldsV1": None}, orjson.dumps(fields_of(item)))
        for item in entries_of(live)
    ]
    return {**live, "metadata": {**live["metadata"], "managedFields": entries}}


def config_map(data: Object | None = None, **metadata: Any) -> Object:
    created: Object = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "a", **metadata},
    }
    if data is not None:
        created["data"] = data
    return created


def pod_template(spec: Object | None = None, **metadata: Any) -> Object:
    template: Object = {
        "apiVersion": "v1",
        "kind": "PodTemplate",
        "metadata": {"name": "t", **metadata},
    }
    if spec is not None:
        template["template"] = {"spec": spec}
    return template


def data(*keys: str) -> FieldSet:
    """The set of some keys of a config map."""
    return {"f:data": {f"f:{key}": {} for key in keys}}


# A type with one field of every sort.
_ITEM = struct({"name": SCALARS["string"], "port": SCALARS["int32"], "v": SCALARS["string"]})
_ITEM.fields["port"].default = 80
_INNER = struct({"a": SCALARS["string"], "b": SCALARS["int64"], "m": MapOf(SCALARS["string"])})
EVERYTHING = custom(
    {
        "text": SCALARS["string"],
        "number": SCALARS["int64"],
        "inner": _INNER,
        "whole": struct({"a": SCALARS["string"], "b": SCALARS["int64"]}, atomic=True),
        "parts": MapOf(SCALARS["string"]),
        "structs": MapOf(_INNER),
        "one": MapOf(SCALARS["string"], atomic=True),
        "list": ListOf(SCALARS["string"]),
        "set": ListOf(SCALARS["string"], "set"),
        "items": ListOf(_ITEM, "map", ("name", "port")),
        "free": SCALARS["any"],
        "open": struct({"a": SCALARS["string"]}, preserve_unknown=True),
    }
)

_names = st.sampled_from(["a", "b", "c", "d"])
_free = st.recursive(
    st.one_of(st.booleans(), st.integers(0, 2), st.sampled_from(["x", "y"])),
    lambda inner: st.one_of(
        st.lists(inner, min_size=1, max_size=2), st.dictionaries(_names, inner, min_size=1)
    ),
    max_leaves=4,
)
_SCALARS: dict[str, st.SearchStrategy[Any]] = {
    "int32": st.integers(80, 82),
    "int64": st.integers(0, 3),
    "bool": st.booleans(),
    "double": st.sampled_from([0.5, 1.5]),
    "raw": st.dictionaries(_names, _free, min_size=1, max_size=2),
    "any": _free,
}


@cache
def values_of(kind: Type, first_key: bool = False, depth: int = 6) -> st.SearchStrategy[Any]:
    """Values of a type, not null and, where the depth allows it, not empty.

    With `first_key` the items of a keyed list differ in its first key already, which is the one
    that strategic merge goes by.
    """
    if isinstance(kind, Scalar):
        return _SCALARS.get(kind.name, _names)
    if isinstance(kind, MapOf):
        values = values_of(kind.element, first_key, depth - 1)
        return st.dictionaries(_names, values, min_size=1, max_size=3)
    if isinstance(kind, ListOf):
        return _lists_of(kind, first_key, depth)
    optional = {
        name: values_of(field.type, first_key, depth - 1)
        for name, field in kind.fields.items()
        if depth > 0 or (isinstance(field.type, Scalar) and not field.type.is_opaque)
    }
    if not optional:
        return st.just({})
    chosen = st.lists(st.sampled_from(sorted(optional)), min_size=1, max_size=4, unique=True)
    return chosen.flatmap(
        lambda names: st.fixed_dictionaries({name: optional[name] for name in names})
    )


def _lists_of(kind: ListOf, first_key: bool, depth: int) -> st.SearchStrategy[list[Any]]:
    items = values_of(kind.element, first_key, depth - 1)
    if kind.kind == "set":
        return st.lists(items, min_size=1, max_size=4, unique=True)
    if kind.kind == "atomic":
        return st.lists(items, min_size=1, max_size=2)
    assert isinstance(kind.element, Struct)
    fields = kind.element.fields
    keys = {key: values_of(fields[key].type) for key in kind.keys}

    def name(item: Object) -> tuple[Any, ...]:
        return tuple(item[key] for key in kind.keys[: 1 if first_key else None])

    keyed = st.tuples(items, st.fixed_dictionaries(keys)).map(lambda pair: {**pair[0], **pair[1]})
    return st.lists(keyed, min_size=1, max_size=3, unique_by=name)


def objects_of(kind: Struct, *, first_key: bool = False) -> st.SearchStrategy[Object]:
    """Whole objects of a kind, named `a`, with labels or without, and without a status."""
    head = ("apiVersion", "kind", "metadata", "status")
    body = [name for name in kind.fields if name not in head]
    labels = st.one_of(st.none(), st.dictionaries(_names, _names, min_size=1, max_size=3))

    def whole_object(parts: tuple[Object, Object | None]) -> Object:
        content, with_labels = parts
        metadata: Object = {"name": "a"}
        if with_labels:
            metadata["labels"] = with_labels
        return {"apiVersion": "v1", "kind": kind.name, "metadata": metadata, **content}

    fields = {name: values_of(kind.fields[name].type, first_key) for name in body}
    content = st.lists(st.sampled_from(body), max_size=5, unique=True).flatmap(
        lambda names: st.fixed_dictionaries({name: fields[name] for name in names})
    )
    return st.tuples(content, labels).map(whole_object)
