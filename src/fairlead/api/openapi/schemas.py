"""Converts types of the model to OpenAPI schemas."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from fairlead.api.openapi.names import Names, capital
from fairlead.api.openapi.tables import exceptions_of, is_exact, published_defaults, unions
from fairlead.codec.types.builtin import BuiltinTypes
from fairlead.codec.types.descriptions import Texts
from fairlead.codec.types.model import Field, ListOf, MapOf, Presence, Scalar, Struct, Type
from fairlead.resources.registry import GroupVersion

Schema = dict[str, Any]

META = "meta/v1"
_EVERY_KIND, _EVERY_LIST = Struct("*", META), Struct("*List", META)
_OF_ALL_GROUPS = ("DeleteOptions", "WatchEvent")

_PLAIN: dict[str, Schema] = {
    "string": {"type": "string"},
    "int32": {"type": "integer", "format": "int32"},
    "int64": {"type": "integer", "format": "int64"},
    "bool": {"type": "boolean"},
    "double": {"type": "number", "format": "double"},
    "bytes": {"type": "string", "format": "byte"},
}
_INTEGER, _NUMBER, _STRING = {"type": "integer"}, {"type": "number"}, {"type": "string"}
_SHARED: dict[str, Schema] = {
    "IntOrString": {"type": "string", "format": "int-or-string"},
    "Quantity": {"type": "string"},
    "Time": {"type": "string", "format": "date-time"},
    "MicroTime": {"type": "string", "format": "date-time"},
    "Duration": {"type": "string"},
    "Patch": {"type": "object"},
    "raw": {"type": "object"},
    "FieldsV1": {"type": "object"},
    "any": {},
    "JSONSchemaPropsOrArray": {},
    "JSONSchemaPropsOrBool": {},
    "JSONSchemaPropsOrStringArray": {},
}
_SHARED_TEXTS = {
    "IntOrString": "A whole number or a text.",
    "Quantity": "A number with a unit, such as 100m, 1.5 or 2Gi.",
    "Time": "A time to the second, as in RFC 3339.",
    "MicroTime": "A time to the microsecond, as in RFC 3339.",
    "Duration": "A span of time, such as 15s or 1m30s.",
    "Patch": "A patch; its form is told by the content type.",
    "raw": "An object of any form.",
    "FieldsV1": "A set of fields, as a tree of their names.",
    "any": "A value of any form.",
    "JSONSchemaPropsOrArray": "A schema or a list of schemas.",
    "JSONSchemaPropsOrBool": "A schema, or whether any value is allowed.",
    "JSONSchemaPropsOrStringArray": "A schema or a list of names.",
}
# Fields of any form whose schemas have names of their own.
_NAMED = {
    "meta/v1.ManagedFieldsEntry": {"fieldsV1": "FieldsV1"},
    "apiextensions/v1.JSONSchemaProps": {
        "additionalItems": "JSONSchemaPropsOrBool",
        "additionalProperties": "JSONSchemaPropsOrBool",
        "dependencies": "JSONSchemaPropsOrStringArray",
        "items": "JSONSchemaPropsOrArray",
    },
}
_ZEROS: dict[str, Any] = {"string": "", "int32": 0, "int64": 0, "bool": False, "double": 0}
_SHARED_WITH_CHOICE: dict[str, Schema] = {
    **_SHARED,
    "IntOrString": {"format": "int-or-string", "oneOf": [_INTEGER, _STRING]},
    "Quantity": {"oneOf": [_STRING, _NUMBER]},
}


@dataclass(frozen=True, slots=True)
class Flavour:
    """The differences between OpenAPI 2 and 3. `choices`: the version supports `oneOf` and
    defaults, and ignores siblings of `$ref`."""

    ref_prefix: str
    choices: bool


V2 = Flavour("#/definitions/", choices=False)
V3 = Flavour("#/components/schemas/", choices=True)


class Schemas:
    """The schemas of a document: `made` holds the referenced ones by name."""

    def __init__(
        self,
        names: Names,
        types: BuiltinTypes,
        served: dict[str, GroupVersion],
        groups: tuple[tuple[str, str], ...],
        flavour: Flavour,
        texts: Texts,
    ) -> None:
        """`served` maps table names to group-versions; `groups` lists group and version of the
        built-in ones."""
        self.names = names
        self.release = types.release
        self.flavour = flavour
        self.by_name: dict[str, Schema] = {}
        self._types = types
        self._served = served
        self._groups = groups
        self._texts = texts
        self._todo: list[Callable[[], None]] = []
        self.is_exact = is_exact(types.release)
        self._has_defaults = flavour.choices
        self._bare_list = types.struct(f"{META}.APIResource").fields["verbs"]

    def of_type(self, table_name: str, name: str) -> Schema:
        """A reference to a type, for example `core/v1` and `Pod`."""
        return self._reference(self._types.group_version(table_name)[name], table_name)

    def shared(self, name: str) -> Schema:
        """A reference to the schema of a scalar type."""
        full = self.names.shared(name)
        if full not in self.by_name:
            schemas = _SHARED_WITH_CHOICE if self.flavour.choices else _SHARED
            self.by_name[full] = {"description": _SHARED_TEXTS[name], **schemas[name]}
        return self.link(full)

    def link(self, full_name: str) -> Schema:
        return {"$ref": self.flavour.ref_prefix + full_name}

    def described(self, schema: Schema, field: str, *, of_lists: bool = False) -> Schema:
        """The schema of a field that every kind has, with its description."""
        text = self._texts.of_field(_EVERY_LIST if of_lists else _EVERY_KIND, field)
        return self._extended(schema, {"description": text}) if text else schema

    def _extended(self, schema: Schema, keywords: Schema) -> Schema:
        """The schema with further keywords. A reference has no siblings in OpenAPI 3."""
        if keywords and "$ref" in schema and self.flavour.choices:
            schema = {"allOf": [schema]}
        return {**schema, **keywords}

    def finish(self) -> Iterator[None]:
        """Build all referenced schemas, including indirect ones, in steps."""
        while self._todo:
            self._todo.pop()()
            yield

    def _reference(self, struct: Struct, near: str) -> Schema:
        """A reference to a struct. A type that a version shares with another has a schema in
        both."""
        shares = self._types.group_version(near).get(struct.name) is struct
        home = near if shares else struct.group_version
        full = self.names.schema(home, struct.name)
        if full not in self.by_name:
            schema = self.by_name[full] = {}
            self._todo.append(lambda: self._fill(schema, struct, home))
        return self.link(full)

    def _fill(self, schema: Schema, struct: Struct, home: str) -> None:
        fields = sorted(struct.fields.values(), key=lambda field: field.name)
        if text := self._texts.of_type(struct):
            schema["description"] = text
        schema["type"] = "object"
        if fields or not self.is_exact:
            schema["properties"] = {
                field.name: self._property(struct, field, home) for field in fields
            }
        ordered = struct.fields.values() if self.is_exact else fields
        if required := [field.name for field in ordered if self._is_required(struct, field)]:
            schema["required"] = required
        if struct.atomic:
            schema[self.names.map_type] = "atomic"
        if struct.preserve_unknown:
            schema[self.names.preserve] = True
        if kinds := self._kinds(struct, home):
            schema[self.names.kind] = kinds
        union = unions(self.release).get(f"{home}.{struct.name}") if self.is_exact else None
        if union is not None:
            schema[self.names.unions] = [_union(*union)]

    def _property(self, struct: Struct, field: Field, home: str) -> Schema:
        schema = dict(self._field_type(struct, field, home))
        extensions = self._extensions(struct, field)
        if text := self._texts.of_field(struct, field.name):
            extensions["description"] = text
        if field.enum:
            _place_enum(schema, extensions, list(field.enum))
        default = self._default(struct, field)
        if default is not None and self._has_defaults:
            extensions["default"] = default
        return self._extended(schema, extensions)

    def _default(self, struct: Struct, field: Field) -> Any:
        """The default that is published. That is the zero of fields that are always present, and
        few others."""
        if not self.is_exact:
            return field.default
        if (_full_name(struct), field.name) in published_defaults(self.release):
            return self._zero(field.type) if field.default is None else field.default
        if field.presence in (Presence.DISTINCT, Presence.NULLABLE):
            return None
        return self._zero(field.type, is_present=field.required)

    def _zero(self, node: Type, *, is_present: bool = True) -> Any:
        if isinstance(node, Struct):
            return {}
        return _ZEROS.get(node.name) if isinstance(node, Scalar) and is_present else None

    def _field_type(self, struct: Struct, field: Field, home: str) -> Schema:
        name = _NAMED.get(_full_name(struct), {}).get(field.name)
        if name is None:
            return self._type(field.type, home)
        if isinstance(field.type, MapOf):
            return {"type": "object", "additionalProperties": self.shared(name)}
        return self.shared(name)

    def _element(self, node: Type, home: str) -> Schema:
        """The schema of the elements of a list or map."""
        schema = self._type(node, home)
        zero = self._zero(node) if self.is_exact and self._has_defaults else None
        if zero is None:
            return schema
        return {"default": zero, **({"allOf": [schema]} if "$ref" in schema else schema)}

    def _type(self, node: Type, home: str) -> Schema:
        if isinstance(node, Scalar):
            return _PLAIN.get(node.name) or self.shared(node.name)
        if isinstance(node, Struct):
            return self._reference(node, home)
        element = self._element(node.element, home)
        if isinstance(node, MapOf):
            return {"type": "object", "additionalProperties": element}
        return {"type": "array", "items": element}

    def _extensions(self, struct: Struct, field: Field) -> Schema:
        """The extensions that describe how apply and strategic merge treat a field."""
        names, extensions = self.names, dict[str, Any]()
        node = field.type
        if isinstance(node, ListOf) and self._has_list_type(struct, field):
            extensions[names.list_type] = node.kind
            if node.keys:
                extensions[names.list_keys] = list(node.keys)
        if isinstance(node, MapOf) and node.atomic:
            extensions[names.map_type] = "atomic"
        if field.granular:
            extensions[names.map_type] = "granular"
        if strategy := _strategy(field):
            extensions[names.patch_strategy] = strategy
        if field.merge_key:
            extensions[names.patch_key] = field.merge_key
        return extensions

    def _is_required(self, struct: Struct, field: Field) -> bool:
        key = (_full_name(struct), field.name)
        if field.required:
            return key not in exceptions_of(self.release, "optional")
        return key in exceptions_of(self.release, "required")

    def _has_list_type(self, struct: Struct, field: Field) -> bool:
        """Whether the type of a list is published. Earlier releases publish it if it is not atomic,
        later ones always, except for the items of lists."""
        node = field.type
        if not isinstance(node, ListOf):
            return False
        if node.kind != "atomic" or field.merge:
            return True
        is_item_list = field.name == "items" and struct.name.endswith("List")
        return self.release.minor >= 30 and not is_item_list and field is not self._bare_list

    def _kinds(self, struct: Struct, home: str) -> list[Schema]:
        if home == META:
            if struct.name in _OF_ALL_GROUPS:
                return [_kind(group, version, struct.name) for group, version in self._groups]
            return [_kind("", "v1", struct.name)] if _is_top_level(struct) else []
        group_version = self._served.get(home)
        if group_version is None or not _is_top_level(struct):
            return []
        return [_kind(group_version.group, group_version.version, struct.name)]


def _full_name(struct: Struct) -> str:
    return f"{struct.group_version}.{struct.name}"


def _place_enum(schema: Schema, extensions: Schema, values: list[str]) -> None:
    """Values of a list or map are those of its elements."""
    for place in ("items", "additionalProperties"):
        if place in schema:
            schema[place] = {**schema[place], "enum": values}
            return
    extensions["enum"] = values


def _union(discriminator: str, *names: str) -> Schema:
    """Of the fields with these names at most one is set."""
    union: Schema = {} if discriminator == "-" else {"discriminator": discriminator}
    return {**union, "fields-to-discriminateBy": {name: capital(name) for name in names}}


def _kind(group: str, version: str, kind: str) -> Schema:
    return {"group": group, "kind": kind, "version": version}


def _is_top_level(struct: Struct) -> bool:
    """Whether `kind` and `apiVersion` describe the type itself; they have no protobuf numbers
    then."""
    fields = struct.fields
    return all(name in fields and not fields[name].number for name in ("kind", "apiVersion"))


def _strategy(field: Field) -> str:
    flags = {"merge": field.merge, "retainKeys": field.retain_keys, "replace": field.replace}
    return ",".join(name for name, is_set in flags.items() if is_set)
