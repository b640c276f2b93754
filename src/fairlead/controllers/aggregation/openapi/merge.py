"""Merges our OpenAPI 2 document with the parts of extension servers."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import count
from typing import Any

import orjson

from fairlead.controllers.aggregation.openapi.document import Part
from fairlead.controllers.aggregation.openapi.schema_walk import (
    Schema,
    reference,
    schemas_of_path,
    schemas_within,
    target,
)


def merged(document: Schema, parts: Iterable[Part], kind_mark: str) -> Schema:
    """Merge parts, highest priority first. Existing entries win; a different definition of the same
    name is renamed."""
    merger = _Merger(document, kind_mark)
    for part in parts:
        merger.add(part)
    return {
        **document,
        "paths": dict(sorted(merger.paths.items())),
        "definitions": dict(sorted(merger.definitions.items())),
    }


class _Merger:
    def __init__(self, document: Schema, kind_mark: str) -> None:
        self.paths: dict[str, Any] = dict(document["paths"])
        self.definitions: dict[str, Schema] = dict(document["definitions"])
        self._kind_mark = kind_mark
        self._before: dict[str, Schema] = {}  # renamed definitions in their original form

    def add(self, part: Part) -> None:
        paths = {
            name: orjson.loads(text) for name, text in part.paths.items() if name not in self.paths
        }
        if not paths:
            return
        schemas = {name: orjson.loads(text) for name, text in part.definitions.items()}
        renamed: dict[str, str] = {}
        used = set(schemas)
        for name in sorted(schemas):
            if (other := self._name_for(name, schemas[name], used)) != name:
                renamed[name] = other
                used.add(other)
        for path in paths.values():
            _rename(schemas_of_path(path), renamed)
        self.paths |= paths
        for name, schema in schemas.items():
            self._add_definition(renamed.get(name, name), schema, renamed)

    def _name_for(self, name: str, schema: Schema, used: set[str]) -> str:
        """The name of an equal existing definition, or a free one."""
        if name not in self.definitions or self._is_defined_as(name, schema):
            return name
        for number in count(2):
            other = f"{name}_v{number}"
            if other in self.definitions:
                if self._is_defined_as(other, schema):
                    break
            elif other not in used:
                break
        return other

    def _is_defined_as(self, name: str, schema: Schema) -> bool:
        """Whether the document defines this name by an equal schema; kinds are not compared."""
        existing = self._before.get(name) or self.definitions[name]
        return self._without_kinds(existing) == self._without_kinds(schema)

    def _without_kinds(self, schema: Schema) -> Schema:
        return {key: value for key, value in schema.items() if key != self._kind_mark}

    def _add_definition(self, name: str, schema: Schema, renamed: dict[str, str]) -> None:
        existing = self.definitions.get(name)
        if existing is None:
            if renamed:
                self._before[name] = orjson.loads(orjson.dumps(schema))
                _rename(schemas_within(schema), renamed)
            self.definitions[name] = schema
            return
        kinds = existing.get(self._kind_mark, [])
        more = [kind for kind in schema.get(self._kind_mark, []) if kind not in kinds]
        if more:
            self.definitions[name] = {**existing, self._kind_mark: [*kinds, *more]}


def _rename(schemas: Iterable[Schema], renamed: dict[str, str]) -> None:
    for schema in schemas:
        ref = schema.get("$ref")
        if isinstance(ref, str) and (other := renamed.get(target(ref))) is not None:
            schema["$ref"] = reference(other)
