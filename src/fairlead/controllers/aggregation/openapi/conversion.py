"""Converts OpenAPI 2 documents of extension servers to OpenAPI 3."""

from __future__ import annotations

from typing import Any

from fairlead.controllers.aggregation.openapi.document import Description
from fairlead.controllers.aggregation.openapi.schema_walk import (
    Schema,
    operations,
    reference,
    schemas_within,
    target,
)

_PLACE = "#/components/schemas/"
_ANY = ["*/*"]
# Keys of the parameter itself; all other keys belong to its schema.
_OF_PARAMETERS = frozenset(("name", "in", "description", "required"))
_OF_OLD_OPERATIONS = frozenset(("consumes", "produces", "schemes", "parameters", "responses"))


def converted(found: Description) -> Schema:
    """Convert a description. Shares parts with its input and does not modify it."""
    return {
        "openapi": "3.0.0",
        "info": found.info,
        "paths": {name: _path(value) for name, value in found.paths.items()},
        "components": {
            "schemas": {name: _schema(value) for name, value in found.definitions.items()}
        },
    }


def _path(path: Schema) -> Schema:
    made = {method: _operation(operation) for method, operation in operations(path)}
    parameters, _ = _parameters(path.get("parameters", []), _ANY)
    return {**made, "parameters": parameters} if parameters else made


def _operation(operation: Schema) -> Schema:
    made = {key: value for key, value in operation.items() if key not in _OF_OLD_OPERATIONS}
    parameters, body = _parameters(
        operation.get("parameters", []), operation.get("consumes") or _ANY
    )
    if parameters:
        made["parameters"] = parameters
    if body:
        made["requestBody"] = body
    produced = operation.get("produces") or _ANY
    made["responses"] = {
        code: _answer(answer, produced) for code, answer in operation.get("responses", {}).items()
    }
    return made


def _answer(answer: Schema, produced: list[str]) -> Schema:
    made = {"description": answer.get("description", "")}
    return {**made, "content": _content(answer["schema"], produced)} if "schema" in answer else made


def _content(schema: Schema, media_types: list[str]) -> Schema:
    shown = _schema(schema)
    return {media_type: {"schema": shown} for media_type in media_types}


def _parameters(listed: list[Schema], consumed: list[str]) -> tuple[list[Schema], Schema]:
    """The parameters without the body, and the request body."""
    made: list[Schema] = []
    body: Schema = {}
    for one in listed:
        if one.get("in") == "body":
            body = {key: one[key] for key in ("description", "required") if key in one}
            body["content"] = _content(one.get("schema", {}), consumed)
            continue
        about = {key: value for key, value in one.items() if key in _OF_PARAMETERS}
        about["schema"] = {
            key: value for key, value in one.items() if key not in (*_OF_PARAMETERS, "uniqueItems")
        }
        made.append(about)
    return made, body


def _schema(schema: Schema) -> Schema:
    made: Schema = _copied(schema)
    for one in schemas_within(made):
        if isinstance(found := one.get("$ref"), str):
            one["$ref"] = reference(target(found), _PLACE)
    return made


def _copied(value: Any) -> Any:
    """A deep copy of dicts and lists."""
    if isinstance(value, dict):
        return {key: _copied(inner) for key, inner in value.items()}
    return [_copied(inner) for inner in value] if isinstance(value, list) else value
