"""From a schema to the type model."""

from __future__ import annotations

from fairlead.schema.custom.markers import Markers, Schema, items_schema, values_schema
from fairlead.schema.model import Field, ListOf, MapOf, Presence, Scalar, Struct, Type

ANY = Scalar("any")
STRING = Scalar("string")
_SCALARS = {
    "string": STRING,
    "integer": Scalar("int64"),
    "number": Scalar("double"),
    "boolean": Scalar("bool"),
}
_INT_OR_STRING = Scalar("IntOrString")
_LIST_KINDS = ("set", "map")


class TypeBuilder:
    """Makes the types of one schema; `metadata` is what every object has."""

    def __init__(self, markers: Markers, metadata: Struct) -> None:
        self._markers = markers
        self._metadata = metadata

    def root(self, schema: Schema, kind: str, api_version: str, preserve: bool) -> Struct:
        made = self._struct(schema, kind, api_version)
        made.preserve_unknown = made.preserve_unknown or preserve
        made.is_kind = True
        self._add_type_meta(made)
        return made

    def type_of(self, schema: Schema, name: str = "") -> Type:
        markers, kind = self._markers, schema.get("type")
        if schema.get(markers.int_or_string):
            return _INT_OR_STRING
        if kind == "array":
            return self._list(schema, name)
        if kind in _SCALARS:
            return _SCALARS[kind]
        if kind == "object" and not schema.get("properties") and "additionalProperties" in schema:
            values = values_schema(schema)
            element = self.type_of(values, name) if values is not None else ANY
            return MapOf(element, atomic=schema.get(markers.map_type) == "atomic")
        if kind == "object" or schema.get("properties"):
            return self._open_or_struct(schema, name)
        return ANY

    def _open_or_struct(self, schema: Schema, name: str) -> Type:
        """What keeps everything and names nothing is not described at all."""
        markers = self._markers
        is_open = schema.get(markers.preserve) and not schema.get("properties")
        if is_open and not schema.get(markers.embedded) and not schema.get(markers.map_type):
            return ANY
        made = self._struct(schema, name)
        if schema.get(markers.embedded):
            self._add_type_meta(made)
        return made

    def _struct(self, schema: Schema, name: str, group_version: str = "") -> Struct:
        properties = schema.get("properties") or {}
        fields = {
            key: Field(
                key, self.type_of(inner, key), Presence.DISTINCT, default=inner.get("default")
            )
            for key, inner in properties.items()
        }
        return Struct(
            name,
            group_version,
            fields,
            atomic=schema.get(self._markers.map_type) == "atomic",
            preserve_unknown=bool(schema.get(self._markers.preserve))
            or schema.get("additionalProperties") is True,
        )

    def _list(self, schema: Schema, name: str) -> ListOf:
        items = items_schema(schema)
        element = self.type_of(items, name) if items is not None else ANY
        kind = schema.get(self._markers.list_type)
        if kind not in _LIST_KINDS:
            return ListOf(element)
        return ListOf(element, kind, tuple(schema.get(self._markers.list_keys) or ()))

    def _add_type_meta(self, struct: Struct) -> None:
        """An object, also one inside another, has a kind, a version and metadata."""
        for name in ("apiVersion", "kind"):
            struct.fields[name] = Field(name, STRING, Presence.DISTINCT)
        struct.fields["metadata"] = Field("metadata", self._metadata)
