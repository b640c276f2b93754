"""How lists of an object are merged: by the built-in types, or by an OpenAPI document that the
kustomization names."""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import orjson

from fairlead.base.dialect import CLUSTER, KUBERNETES
from fairlead.cli.apply.changes import type_of
from fairlead.cli.kustomize.errors import KustomizeError
from fairlead.cli.kustomize.files import Folder, one_document
from fairlead.cli.kustomize.identity import Kind, kind_of
from fairlead.client.discovery import ResourceType
from fairlead.codec.types.model import Field, ListOf, MapOf, Struct, Type

Object = dict[str, Any]
_REF = "#/definitions/"


class Schema:
    """What is known of a value. This one knows nothing: lists are replaced."""

    def field(self, name: str) -> Schema:
        return NOTHING

    def element(self) -> Schema:
        return NOTHING

    def keys(self) -> tuple[str, ...] | None:
        """The fields by which the items of the list are merged, none for a list of scalars; None
        if the list is replaced."""
        return None


NOTHING = Schema()


class Builtin(Schema):
    """The schema of a built-in type."""

    def __init__(self, type: Type, field: Field | None = None) -> None:
        self._type = type
        self._field = field

    def field(self, name: str) -> Schema:
        if isinstance(self._type, MapOf):
            return Builtin(self._type.element)
        if not isinstance(self._type, Struct):
            return NOTHING
        field = self._type.fields.get(name)
        for embedded in self._type.embedded.values():
            field = field or embedded.struct.fields.get(name)
        return Builtin(field.type, field) if field is not None else NOTHING

    def element(self) -> Schema:
        return Builtin(self._type.element) if isinstance(self._type, ListOf) else NOTHING

    def keys(self) -> tuple[str, ...] | None:
        if self._field is None or not self._field.merge or not isinstance(self._type, ListOf):
            return None
        if self._type.kind == "map" and self._type.keys:
            return self._type.keys
        return (self._field.merge_key,) if self._field.merge_key else ()


class Described(Schema):
    """The schema of a definition in an OpenAPI document."""

    def __init__(self, definitions: Object, schema: Any, depth: int = 0) -> None:
        self._definitions = definitions
        self._schema = schema if isinstance(schema, dict) else {}
        reference = str(self._schema.get("$ref") or "")
        if reference.startswith(_REF) and depth < 16:
            found = Described(definitions, definitions.get(reference.removeprefix(_REF)), depth + 1)
            self._schema = {**found._schema, **self._schema}

    def _part(self, schema: Any) -> Schema:
        return Described(self._definitions, schema) if isinstance(schema, dict) else NOTHING

    def field(self, name: str) -> Schema:
        properties = self._schema.get("properties")
        if isinstance(properties, dict) and name in properties:
            return self._part(properties[name])
        return self._part(self._schema.get("additionalProperties"))

    def element(self) -> Schema:
        return self._part(self._schema.get("items"))

    def keys(self) -> tuple[str, ...] | None:
        strategy = str(self._schema.get("x-kubernetes-patch-strategy") or "")
        if "merge" not in strategy.split(","):
            return None
        keys = self._schema.get("x-kubernetes-list-map-keys")
        if isinstance(keys, list):
            return tuple(map(str, keys))
        key = self._schema.get("x-kubernetes-patch-merge-key")
        return (str(key),) if key else ()


class Schemas(NamedTuple):
    """The schemas of a build: those of a document before those of built-in types."""

    described: dict[Kind, Schema]

    def of(self, value: Object) -> Schema:
        kind = kind_of(value)
        return self.described.get(kind) or _builtin(str(value.get("apiVersion") or ""), kind.kind)


@cache
def _builtin(version: str, kind: str) -> Schema:
    group, _, short = version.rpartition("/")
    type = ResourceType(group, short, "", kind, True)
    for dialect in (KUBERNETES, CLUSTER):
        if struct := type_of(dialect, type):
            return Builtin(struct)
    return NOTHING


def described_by(folder: Folder, name: str) -> dict[Kind, Schema]:
    """The schemas of an OpenAPI document, by the kinds that its definitions name; raises
    KustomizeError."""
    where, content = str(folder.path / name), folder.read(name)
    try:
        document = orjson.loads(content) if content[:1] == b"{" else one_document(content, where)
    except orjson.JSONDecodeError as error:
        raise KustomizeError(f"{where}: {error}") from None
    definitions = document.get("definitions") if isinstance(document, dict) else None
    if not isinstance(definitions, dict):
        raise KustomizeError(f"{where} has no definitions")
    found: dict[Kind, Schema] = {}
    for schema in definitions.values():
        kinds = schema.get("x-kubernetes-group-version-kind") if isinstance(schema, dict) else None
        for entry in kinds if isinstance(kinds, list) else ():
            if isinstance(entry, dict):
                version = "/".join(
                    filter(None, (str(entry.get("group") or ""), str(entry.get("version") or "")))
                )
                kind = kind_of({"apiVersion": version, "kind": entry.get("kind")})
                found[kind] = Described(definitions, schema)
    return found
