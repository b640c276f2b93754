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
    whole = _Merger(document, kind_mark)
    for part in parts:
        whole.add(part)
    return {
        **document,
        "paths": dict(sorted(whole.paths.items())),
        "definitions": dict(sorted(whole.definitions.items())),
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
        taken = set(schemas)
        for name in sorted(schemas):
            if (other := self._name_for(name, schemas[name], taken)) != name:
                renamed[name] = other
                taken.add(other)
        for path in paths.values():
            _rename(schemas_of_path(path), renamed)
        self.paths |= paths
        for name, schema in schemas.items():
            self._put(renamed.get(name, name), schema, renamed)

    def _name_for(self, name: str, schema: Schema, taken: set[str]) -> str:
        """The name of an equal existing definition, or a free one."""
        if name not in self.definitions or self._is(name, schema):
            return name
        for number in count(2):
            other = f"{name}_v{number}"
            if other in self.definitions:
                if self._is(other, schema):
                    break
            elif other not in taken:
                break
        return other

    def _is(self, name: str, schema: Schema) -> bool:
        """Whether the definition of this name equals the schema, ignoring their kinds."""
        there = self._before.get(name) or self.definitions[name]
        return self._without_kinds(there) == self._without_kinds(schema)

    def _without_kinds(self, schema: Schema) -> Schema:
        return {key: value for key, value in schema.items() if key != self._kind_mark}

    def _put(self, name: str, schema: Schema, renamed: dict[str, str]) -> None:
        there = self.definitions.get(name)
        if there is None:
            if renamed:
                self._before[name] = orjson.loads(orjson.dumps(schema))
                _rename(schemas_within(schema), renamed)
            self.definitions[name] = schema
            return
        kinds = there.get(self._kind_mark, [])
        more = [one for one in schema.get(self._kind_mark, []) if one not in kinds]
        if more:
            self.definitions[name] = {**there, self._kind_mark: [*kinds, *more]}


def _rename(schemas: Iterable[Schema], renamed: dict[str, str]) -> None:
    for schema in schemas:
        found = schema.get("$ref")
        if isinstance(found, str) and (other := renamed.get(target(found))) is not None:
            schema["$ref"] = reference(other)
