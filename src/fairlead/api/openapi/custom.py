"""Publishes the schemas of custom resource definitions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fairlead.api.openapi.knowledge import Published
from fairlead.api.openapi.names import Names
from fairlead.api.openapi.schemas import META, Schema, Schemas
from fairlead.resources.custom.schema.markers import INT_OR_STRING, states_int_or_string
from fairlead.resources.registry import Resource

_CHOICES = ("allOf", "anyOf", "oneOf", "not")
_NESTED = ("properties", "patternProperties", "definitions")


def publish(schemas: Schemas, resource: Resource, custom: Published) -> Schema:
    """Add the schema of a kind to the document; returns a reference to it."""
    full = _name(schemas, resource, resource.kind)
    if full not in schemas.by_name:
        schema = _with_metadata(schemas, custom.schema)
        schema[schemas.names.kind] = [_kind(resource, resource.kind)]
        schemas.by_name[full] = {**schema, **_selectable(schemas, resource)}
    return schemas.link(full)


def publish_list(schemas: Schemas, resource: Resource, custom: Published) -> Schema:
    full = _name(schemas, resource, custom.list_kind)
    if full not in schemas.by_name:
        items = {"type": "array", "items": publish(schemas, resource, custom)}
        text = {"description": f"A list of {resource.kind} objects."} if schemas.is_exact else {}
        schemas.by_name[full] = {
            **text,
            "type": "object",
            "required": ["items"],
            "properties": {
                **_type_meta(schemas),
                "items": schemas.described(items, "items", of_lists=True),
                "metadata": schemas.described(
                    schemas.of_type(META, "ListMeta"), "metadata", of_lists=True
                ),
            },
            schemas.names.kind: [_kind(resource, custom.list_kind)],
            **_selectable(schemas, resource),
        }
    return schemas.link(full)


def _selectable(schemas: Schemas, resource: Resource) -> Schema:
    """The fields that field selectors may name, if the kind has some."""
    if not resource.selectable:
        return {}
    return {schemas.names.selectable: [{"fieldPath": name} for name in resource.selectable]}


def _name(schemas: Schemas, resource: Resource, kind: str) -> str:
    group_version = resource.group_version
    return schemas.names.schema(f"{group_version.group}/{group_version.version}", kind)


def _kind(resource: Resource, kind: str) -> Schema:
    group_version = resource.group_version
    return {"group": group_version.group, "kind": kind, "version": group_version.version}


def _type_meta(schemas: Schemas) -> Schema:
    return {name: schemas.described({"type": "string"}, name) for name in ("apiVersion", "kind")}


def _object_meta(schemas: Schemas) -> Schema:
    metadata = schemas.described(schemas.of_type(META, "ObjectMeta"), "metadata")
    return {**_type_meta(schemas), "metadata": metadata}


def _with_metadata(schemas: Schemas, schema: dict[str, Any] | None) -> Schema:
    """The schema with standard metadata. Version 2 clients reject fields beside named properties,
    so a kind that preserves unknown fields has no properties there."""
    if schema is None:
        return {"type": "object"}
    if not schemas.flavour.choices:
        if schema.get(schemas.names.preserve):
            return {"type": "object"}
        schema = without_choices(schemas.names, schema)
    schema = _completed(schemas, schema)
    return {**schema, "properties": {**schema.get("properties", {}), **_object_meta(schemas)}}


def _completed(schemas: Schemas, schema: dict[str, Any]) -> Schema:
    """Add the standard metadata to embedded resources, and in later releases the types to values
    that are int-or-string."""

    def inner(part: dict[str, Any]) -> Schema:
        return _completed(schemas, part)

    result = {key: _changed_keyword(key, value, inner) for key, value in schema.items()}
    is_open = result.get(schemas.names.preserve) and not schemas.flavour.choices
    if result.get(schemas.names.embedded) and not is_open:
        result["properties"] = {**result.get("properties", {}), **_object_meta(schemas)}
        required = dict.fromkeys((*result.get("required", []), "kind", "apiVersion"))
        result["required"] = list(required) if schemas.is_exact else sorted(required)
    if result.get(schemas.names.int_or_string) and schemas.is_exact and schemas.flavour.choices:
        _add_types(result)
    return result


def _add_types(schema: Schema) -> None:
    """Add the types of an int-or-string, unless its author did."""
    if any(states_int_or_string(schema)):
        return
    if "anyOf" in schema:
        schema["allOf"] = [{"anyOf": INT_OR_STRING}, *schema.get("allOf", [])]
    else:
        schema["anyOf"] = INT_OR_STRING


def _changed_keyword(key: str, value: Any, change: Callable[[dict[str, Any]], Schema]) -> Any:
    """The value of a schema keyword, with `change` applied to the schemas in it."""
    if key in _NESTED:
        return {name: change(part) for name, part in value.items()}
    if key in ("items", "additionalProperties") and isinstance(value, dict):
        return change(value)
    return value


def without_choices(names: Names, schema: dict[str, Any]) -> Schema:
    """Convert a schema to OpenAPI 2; constraints that it cannot express are dropped."""

    def inner(part: dict[str, Any]) -> Schema:
        return without_choices(names, part)

    result = {
        key: _changed_keyword(key, value, inner)
        for key, value in schema.items()
        if key not in (*_CHOICES, "default")
    }
    nullable = result.pop("nullable", False)
    if nullable or result.get(names.preserve):
        result.pop("items", None)
        result.pop("properties", None)
    open_ended = result.get(names.preserve) and result.get("type") == "object"
    if nullable or open_ended or (result.get("type") == "array" and "items" not in result):
        result.pop("type", None)
    _drop_required(result, schema.get("properties", {}))
    return result


def _drop_required(schema: Schema, properties: dict[str, Any]) -> None:
    """Drop nullable fields from `required`: version 2 clients treat null as missing."""
    required = schema.pop("required", [])
    remaining = [name for name in required if not properties.get(name, {}).get("nullable")]
    if remaining:
        schema["required"] = remaining
