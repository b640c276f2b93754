"""Compiles a schema to the type model."""

from __future__ import annotations

from fairlead.codec.types.model import Field, ListOf, MapOf, Presence, Scalar, Struct, Type
from fairlead.resources.custom.schema.markers import Markers, Schema, items_schema, values_schema

ANY = Scalar("any")
STRING = Scalar("string")
_SCALARS = {
    "string": STRING,
    "integer": Scalar("int64"),
    "number": Scalar("double"),
    "boolean": Scalar("bool"),
}
_LIST_KINDS = ("set", "map")


class TypeBuilder:
    """Makes the types of one schema, for field ownership; `metadata` is the type of object
    metadata.

    Everything below an object that preserves unknown fields accepts unknown fields, and so does an
    object without described fields. Decoding decides whether they are kept.
    """

    def __init__(self, markers: Markers, metadata: Struct) -> None:
        self._markers = markers
        self._metadata = metadata

    def root(self, schema: Schema, kind: str, api_version: str, preserve: bool) -> Struct:
        struct = self._struct(schema, kind, preserve, api_version)
        struct.is_kind = True
        self._add_type_meta(struct)
        return struct

    def type_of(self, schema: Schema, name: str = "", is_open: bool = False) -> Type:
        markers, kind = self._markers, schema.get("type")
        if schema.get(markers.int_or_string):
            return ANY
        if kind == "array":
            return self._list(schema, name, is_open)
        if kind in _SCALARS:
            return _SCALARS[kind]
        if schema.get("properties") or schema.get(markers.embedded):
            struct = self._struct(schema, name, is_open)
            if schema.get(markers.embedded):
                self._add_type_meta(struct)
            return struct
        if kind != "object":
            return ANY
        values = values_schema(schema)
        element = self.type_of(values, name, is_open) if values is not None else ANY
        return MapOf(element, atomic=schema.get(markers.map_type) == "atomic")

    def _struct(self, schema: Schema, name: str, is_open: bool, group_version: str = "") -> Struct:
        is_open = is_open or bool(schema.get(self._markers.preserve))
        fields = {
            key: Field(
                key,
                self.type_of(inner, key, is_open),
                Presence.DISTINCT,
                default=inner.get("default"),
            )
            for key, inner in (schema.get("properties") or {}).items()
        }
        atomic = schema.get(self._markers.map_type) == "atomic"
        return Struct(name, group_version, fields, atomic=atomic, preserve_unknown=is_open)

    def _list(self, schema: Schema, name: str, is_open: bool) -> ListOf:
        items = items_schema(schema)
        element = self.type_of(items, name, is_open) if items is not None else ANY
        kind = schema.get(self._markers.list_type)
        if kind not in _LIST_KINDS:
            return ListOf(element)
        keys = tuple(schema.get(self._markers.list_keys) or ())
        return ListOf(element, kind, keys, self._markers.partial_keys)

    def _add_type_meta(self, struct: Struct) -> None:
        """Add apiVersion, kind and metadata to a whole or embedded object."""
        for name in ("apiVersion", "kind"):
            struct.fields[name] = Field(name, STRING, Presence.DISTINCT)
        struct.fields["metadata"] = Field("metadata", self._metadata)
