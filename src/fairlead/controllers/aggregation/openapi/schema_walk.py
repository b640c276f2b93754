"""Iterates over the schemas of OpenAPI 2 paths and definitions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fairlead.controllers.aggregation.openapi.json_slices import Unreadable

Schema = dict[str, Any]
METHODS = ("get", "put", "post", "delete", "options", "head", "patch")
DEFINITION = "#/definitions/"
_BY_NAME = ("properties", "patternProperties")
_SINGLE = ("items", "additionalProperties", "not")
_SEVERAL = ("allOf", "anyOf", "oneOf")


def schemas_within(schema: Any) -> Iterator[Schema]:
    """Yields a schema and all nested ones, parents first; raises Unreadable if one is not an
    object."""
    waiting = [schema]
    while waiting:
        current = _object(waiting.pop(), "a schema")
        yield current
        for keyword, value in current.items():
            if keyword in _BY_NAME:
                waiting += _object(value, keyword).values()
            elif keyword in _SEVERAL or (keyword in _SINGLE and isinstance(value, list)):
                waiting += _list(value, keyword)
            elif keyword in _SINGLE and not isinstance(value, bool):
                waiting.append(value)


def operations(path: Schema) -> Iterator[tuple[str, Schema]]:
    for method in METHODS:
        if method in path:
            yield method, _object(path[method], method)


def parameter_lists(path: Schema) -> Iterator[list[Schema]]:
    """The parameters of a path, then those of each operation."""
    for holder in (path, *(operation for _, operation in operations(path))):
        yield [_object(item, "a parameter") for item in _list(holder.get("parameters", []), "them")]


def schemas_of_path(path: Schema) -> Iterator[Schema]:
    """All schemas in request bodies and responses."""
    for listed in parameter_lists(path):
        for parameter in listed:
            if "schema" in parameter:
                yield from schemas_within(parameter["schema"])
    for _, operation in operations(path):
        for answer in _object(operation.get("responses", {}), "responses").values():
            if "schema" in _object(answer, "a response"):
                yield from schemas_within(answer["schema"])


def target(reference: str) -> str:
    """The definition that a reference names; raises Unreadable."""
    if not reference.startswith(DEFINITION):
        raise Unreadable("a reference leads to no definition")
    return reference.removeprefix(DEFINITION).replace("~1", "/").replace("~0", "~")


def reference(name: str, section: str = DEFINITION) -> str:
    return section + name.replace("~", "~0").replace("/", "~1")


def _object(value: Any, what: str) -> Schema:
    if not isinstance(value, dict):
        raise Unreadable(f"{what}: not an object")
    return value


def _list(value: Any, what: str) -> list[Any]:
    if not isinstance(value, list):
        raise Unreadable(f"{what}: not a list")
    return value
