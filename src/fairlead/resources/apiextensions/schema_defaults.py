"""Checks that defaults are valid values of their own schemas, and that schemas are not nested too
deeply."""

from __future__ import annotations

from functools import cache
from typing import Any

from fairlead.base.dialect import CLUSTER
from fairlead.codec.cel.environment import environment
from fairlead.codec.types.builtin import BuiltinTypes
from fairlead.codec.types.json_numbers import plain
from fairlead.codec.types.mismatch import source_text
from fairlead.codec.types.model import Struct
from fairlead.resources.causes import Causes, GoValue
from fairlead.resources.custom.schema import rules
from fairlead.resources.custom.schema.decode import DecoderBuilder
from fairlead.resources.custom.schema.embedded_objects import EmbeddedChecks
from fairlead.resources.custom.schema.list_types import repeats_check
from fairlead.resources.custom.schema.markers import Markers, Schema, has_rules, items_schema
from fairlead.resources.custom.schema.problems import report
from fairlead.resources.custom.schema.values import ValueChecks
from fairlead.resources.metadata import check_embedded_metadata

_META = ("metadata", "apiVersion", "kind")
_NO_METADATA = Struct("ObjectMeta", preserve_unknown=True)


@cache
def _metadata() -> Struct:
    """The type of metadata, which is the same in every dialect."""
    return BuiltinTypes(CLUSTER).struct("meta/v1.ObjectMeta")


def check_defaults(schema: Schema, path: str, markers: Markers, causes: Causes) -> bool:
    """Whether all defaults are valid; adds causes if not."""
    before = len(causes)
    visitor = _Defaults(markers, causes)
    visitor.check({**schema, markers.embedded: True}, path, False)
    return len(causes) == before


def has_default(schema: Schema) -> bool:
    """Whether a schema or a nested schema has a default. Types must be valid; the depth is not
    limited."""
    ahead = [schema]
    while ahead:
        current = ahead.pop()
        if current.get("default") is not None:
            return True
        for word, value in current.items():
            inside = (inner for inner, _ in inner_schemas(word, value, ""))
            ahead += [inner for inner in inside if isinstance(inner, dict)]
    return False


class _Defaults:
    def __init__(self, markers: Markers, causes: Causes) -> None:
        self._markers = markers
        self._causes = causes
        self._decoders = DecoderBuilder(markers, _NO_METADATA)
        self._checks = ValueChecks(markers, int_or_string_is_any=True)

    def check(self, schema: Schema, path: str, inside_meta: bool) -> None:
        """Does not descend into the values of maps: other rules forbid defaults there."""
        embedded = bool(schema.get(self._markers.embedded))
        inside_meta = inside_meta and not embedded
        if schema.get("default") is not None:
            self._check_default(schema, plain(schema["default"]), f"{path}.default", inside_meta)
        items = items_schema(schema)
        if items is not None:
            self.check(items, f"{path}.items", inside_meta)
        for name, inner in (schema.get("properties") or {}).items():
            meta = inside_meta or (embedded and name in _META)
            self.check(inner, f"{path}.properties[{name}]", meta)

    def _check_default(self, schema: Schema, default: Any, path: str, inside_meta: bool) -> None:
        before, unknown = len(self._causes), list[str]()
        decode = self._decoders.of(schema)
        if decode is not None and not inside_meta:
            decode(default, unknown)
        if unknown:
            shown = GoValue(source_text(default), default)
            self._causes.invalid(path, shown, "must not have unknown fields")
        if not inside_meta and self._is_no_object(schema, default, path):
            return
        check = self._checks.table(schema).get(default.__class__)
        report(check(default) if check else None, self._causes, path)
        repeats = repeats_check(schema, self._markers)
        report(repeats(default) if repeats else None, self._causes, path)
        if len(self._causes) == before and has_rules(schema, self._markers):
            release = environment(self._markers.release)
            rules.check_default(schema, self._markers, release, default, path, self._causes)

    def _is_no_object(self, schema: Schema, default: Any, path: str) -> bool:
        """Whether an embedded object in a default lacks apiVersion, kind or valid metadata; then no
        other check runs. A valid default is stored without unknown metadata fields, as objects
        are."""
        before = len(self._causes)
        visit = EmbeddedChecks(self._markers, _metadata(), check_embedded_metadata).of(schema)
        if visit is not None:
            visit(default, path, self._causes)
        invalid = len(self._causes) > before
        if visit is not None and not invalid:
            decode = DecoderBuilder(self._markers, _metadata()).of(schema)
            assert decode is not None
            schema["default"] = decode(default, [])  # drops unknown metadata fields
        return invalid


# Limit of the nesting depth of schemas

MAX_DEPTH = 100

_SCHEMA_LISTS = ("allOf", "anyOf", "oneOf")
_SCHEMA_MAPS = ("properties", "patternProperties", "definitions", "dependencies")
_SINGLE_SCHEMAS = ("not", "items", "additionalItems", "additionalProperties")


def check_depth(schema: Schema, path: str, causes: Causes) -> bool:
    """Whether the nested schemas are within the limit; adds causes if not. Their types must be
    valid."""
    before = len(causes)
    _check(schema, path, causes, 0)
    return len(causes) == before


def _check(schema: Schema, path: str, causes: Causes, depth: int) -> None:
    if depth > MAX_DEPTH:
        causes.invalid(path, "", f"must not have schemas more than {MAX_DEPTH} deep")
        return
    for word, value in schema.items():
        for inner, inner_path in inner_schemas(word, value, f"{path}.{word}"):
            if isinstance(inner, dict):
                _check(inner, inner_path, causes, depth + 1)


def inner_schemas(word: str, value: Any, path: str) -> list[tuple[Any, str]]:
    """The values under a keyword that may be schemas, with their paths."""
    if word in _SCHEMA_MAPS and isinstance(value, dict):
        return [(inner, f"{path}[{name}]") for name, inner in value.items()]
    if isinstance(value, list) and word in (*_SCHEMA_LISTS, *_SINGLE_SCHEMAS):
        return [(inner, f"{path}[{index}]") for index, inner in enumerate(value)]
    return [(value, path)] if word in _SINGLE_SCHEMAS else []
