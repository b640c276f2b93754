"""Extracts and validates the part of an extension server's OpenAPI 2 document that describes its
own group version.

Clients parse the merged document completely or not at all, so anything that could break it is
rejected here. CPU-bound: run it in a thread.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

import orjson

from fairlead.codec.gnostic import encode_document
from fairlead.controllers.aggregation.openapi.json_slices import Pieces, Unreadable
from fairlead.controllers.aggregation.openapi.schema_walk import (
    Schema,
    operations,
    parameter_lists,
    schemas_of_path,
    schemas_within,
    target,
)

_TYPES = ("array", "boolean", "integer", "null", "number", "object", "string")
_PARAMETER = "#/parameters/"


@dataclass(frozen=True, slots=True)
class Description:
    """The paths of a group version and the definitions they reference (OpenAPI 2)."""

    info: Schema
    paths: dict[str, Schema]
    definitions: dict[str, Schema]


@dataclass(frozen=True, slots=True)
class Part:
    """A part of the merged document, kept as JSON because it is long-lived and rarely needed.
    `identity` is its digest."""

    identity: str
    paths: dict[str, bytes]
    definitions: dict[str, bytes]


def read_description(raw: bytes, group: str, version: str) -> Description:
    """Parse and validate; raises Unreadable."""
    pieces = Pieces(raw)
    if not isinstance(pieces.outline, dict) or pieces.outline.get("swagger") != "2.0":
        raise Unreadable("it is not a document of OpenAPI 2")
    shared = pieces.members("parameters")
    paths = {}
    for name, piece in pieces.members("paths").items():
        if _is_own(name, group, version):
            paths[name] = _with_parameters(pieces.parsed(piece), pieces, shared)
    definitions = _referenced_definitions(paths, pieces)
    _check("paths", paths)
    _check("definitions", definitions)
    info = pieces.outline.get("info")
    return Description(info if isinstance(info, dict) else {}, paths, definitions)


def part_of(description: Description, group: str, version: str, kind_mark: str) -> Part:
    """The part to merge. `kind_mark` is the extension key with the group, version and kind of a
    definition. Modifies its input."""
    for schema in description.definitions.values():
        _keep_own_kinds(schema, group, version, kind_mark)
        for inner in schemas_within(schema):
            inner.pop("default", None)
    paths, definitions = _written(description.paths), _written(description.definitions)
    digest = sha256()
    for section in (paths, definitions):
        for name, text in sorted(section.items()):
            digest.update(b"%b %d\n%b" % (name.encode(), len(text), text))
    return Part(digest.hexdigest(), paths, definitions)


def _is_own(path: str, group: str, version: str) -> bool:
    own = f"/apis/{group}/{version}" if group else f"/api/{version}"
    return path in (own, f"/apis/{group}/") or path.startswith(f"{own}/")


def _with_parameters(path: Schema, pieces: Pieces, shared: dict[str, Any]) -> Schema:
    """The path with references to shared parameters resolved."""

    def meant(parameter: Schema) -> Schema:
        name = parameter.get("$ref")
        if name is None:
            return parameter
        if not isinstance(name, str) or not name.startswith(_PARAMETER):
            raise Unreadable("a reference leads to no parameter")
        return pieces.parsed(shared.get(name.removeprefix(_PARAMETER)))

    holders = [path, *(operation for _, operation in operations(path))]
    for holder, listed in zip(holders, list(parameter_lists(path)), strict=True):
        if listed:
            holder["parameters"] = [meant(parameter) for parameter in listed]
    return path


def _referenced_definitions(paths: dict[str, Schema], pieces: Pieces) -> dict[str, Schema]:
    """The definitions that paths reference, transitively."""
    definitions = pieces.members("definitions")
    reached: dict[str, Schema] = {}
    waiting = [name for path in paths.values() for name in _targets(schemas_of_path(path))]
    while waiting:
        name = waiting.pop()
        if name in reached:
            continue
        if name not in definitions:
            raise Unreadable("a reference leads to a definition that is not there")
        reached[name] = schema = pieces.parsed(definitions[name])
        waiting += _targets(schemas_within(schema))
    return reached


def _targets(schemas: Iterator[Schema]) -> Iterator[str]:
    for schema in schemas:
        kinds = schema.get("type", [])
        if any(kind not in _TYPES for kind in (kinds if isinstance(kinds, list) else [kinds])):
            raise Unreadable("a schema has a type that there is not")
        if isinstance(ref := schema.get("$ref"), str):
            yield target(ref)


def _keep_own_kinds(schema: Schema, group: str, version: str, kind_mark: str) -> None:
    """Remove kinds of other group versions."""
    kinds = schema.pop(kind_mark, None)
    if not isinstance(kinds, list):
        return
    own = [
        {"group": group, "kind": kind["kind"], "version": version}
        for kind in kinds
        if isinstance(kind, dict)
        and (kind.get("group"), kind.get("version")) == (group, version)
        and isinstance(kind.get("kind"), str)
    ]
    if own:
        schema[kind_mark] = own


def _check(section: str, values: dict[str, Schema]) -> None:
    """Raises Unreadable if the values cannot be encoded as protobuf."""
    try:
        for name, value in values.items():
            encode_document({section: {name: value}})
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError, RecursionError):
        raise Unreadable("it has what no document of OpenAPI 2 has") from None


def _written(values: dict[str, Schema]) -> dict[str, bytes]:
    return {
        name: orjson.dumps(value, option=orjson.OPT_SORT_KEYS) for name, value in values.items()
    }
