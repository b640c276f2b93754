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


def converted(description: Description) -> Schema:
    """Convert a description. Shares parts with its input and does not modify it."""
    return {
        "openapi": "3.0.0",
        "info": description.info,
        "paths": {name: _path(value) for name, value in description.paths.items()},
        "components": {
            "schemas": {name: _schema(value) for name, value in description.definitions.items()}
        },
    }


def _path(path: Schema) -> Schema:
    item = {method: _operation(operation) for method, operation in operations(path)}
    parameters, _ = _parameters(path.get("parameters", []), _ANY)
    return {**item, "parameters": parameters} if parameters else item


def _operation(operation: Schema) -> Schema:
    new_operation = {
        key: value for key, value in operation.items() if key not in _OF_OLD_OPERATIONS
    }
    parameters, body = _parameters(
        operation.get("parameters", []), operation.get("consumes") or _ANY
    )
    if parameters:
        new_operation["parameters"] = parameters
    if body:
        new_operation["requestBody"] = body
    produced = operation.get("produces") or _ANY
    new_operation["responses"] = {
        code: _answer(answer, produced) for code, answer in operation.get("responses", {}).items()
    }
    return new_operation


def _answer(answer: Schema, produced: list[str]) -> Schema:
    response = {"description": answer.get("description", "")}
    return (
        {**response, "content": _content(answer["schema"], produced)}
        if "schema" in answer
        else response
    )


def _content(schema: Schema, media_types: list[str]) -> Schema:
    content_schema = _schema(schema)
    return {media_type: {"schema": content_schema} for media_type in media_types}


def _parameters(listed: list[Schema], consumed: list[str]) -> tuple[list[Schema], Schema]:
    """The parameters without the body, and the request body."""
    parameters: list[Schema] = []
    body: Schema = {}
    for parameter in listed:
        if parameter.get("in") == "body":
            body = {key: parameter[key] for key in ("description", "required") if key in parameter}
            body["content"] = _content(parameter.get("schema", {}), consumed)
            continue
        about = {key: value for key, value in parameter.items() if key in _OF_PARAMETERS}
        about["schema"] = {
            key: value
            for key, value in parameter.items()
            if key not in (*_OF_PARAMETERS, "uniqueItems")
        }
        parameters.append(about)
    return parameters, body


def _schema(schema: Schema) -> Schema:
    copied: Schema = _copied(schema)
    for part in schemas_within(copied):
        if isinstance(ref := part.get("$ref"), str):
            part["$ref"] = reference(target(ref), _PLACE)
    return copied


def _copied(value: Any) -> Any:
    """A deep copy of dicts and lists."""
    if isinstance(value, dict):
        return {key: _copied(inner) for key, inner in value.items()}
    return [_copied(inner) for inner in value] if isinstance(value, list) else value
