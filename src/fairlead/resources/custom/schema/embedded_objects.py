"""Checks embedded objects (kind, apiVersion and metadata), and prunes the metadata in their
defaults."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

import orjson

from fairlead.base.release import Reworded
from fairlead.codec.types.decode import decoder
from fairlead.codec.types.mismatch import DecodeError, shown
from fairlead.codec.types.model import Struct
from fairlead.codec.types.names import dns_1035_label
from fairlead.resources.causes import escaped_json, show_json
from fairlead.resources.custom.schema.markers import Markers, Schema, items_schema, values_schema
from fairlead.resources.custom.schema.problems import INVALID, REQUIRED, Causes

# Adds the causes of the metadata at a path.
MetadataRules = Callable[[dict[str, Any], str, Any], None]
Visit = Callable[[Any, str, Causes], None]

EMPTY = "must not be empty"
NO_TEXT = "must be a string"


class EmbeddedChecks:
    """Makes the visitor of embedded objects; None if a schema has none."""

    def __init__(self, markers: Markers, metadata: Struct, rules: MetadataRules | None) -> None:
        self._markers = markers
        self._metadata = metadata
        self._rules = rules

    def of(self, schema: Schema) -> Visit | None:
        items, values = items_schema(schema), values_schema(schema)
        inside = self.of(items) if items is not None else None
        others = self.of(values) if values is not None else None
        named = {
            name: inner_check
            for name, inner in (schema.get("properties") or {}).items()
            if (inner_check := self.of(inner)) is not None
        }
        is_object = bool(schema.get(self._markers.embedded))
        if not is_object and inside is None and others is None and not named:
            return None

        def visit(value: Any, path: str, causes: Causes) -> None:
            if value.__class__ is list and inside is not None:
                for index, item in enumerate(value):
                    inside(item, f"{path}[{index}]", causes)
            if value.__class__ is not dict:
                return
            if is_object:
                self._check(value, f"{path}." if path else "", causes)
            for key, item in value.items():
                if key in named:
                    named[key](item, f"{path}.{key}" if path else key, causes)
                elif others is not None:
                    others(item, f"{path}[{key}]", causes)

        return visit

    def _check(self, value: dict[str, Any], path: str, causes: Causes) -> None:
        for name in ("apiVersion", "kind"):
            if name not in value:
                causes.add(REQUIRED, path + name, "Required value", Reworded(EMPTY, ""))
        for name, item in value.items():
            if name in ("apiVersion", "kind"):
                error = _type_meta_error(name, item)
                if error:
                    causes.add(INVALID, path + name, f"Invalid value: {self._shown(item)}: {error}")
            elif name == "metadata":
                self._check_metadata(item, path + name, causes)

    def _shown(self, value: Any) -> str:
        if not self._markers.is_later:
            return shown(value)
        is_nested = isinstance(value, (dict, list))
        return escaped_json(value, orjson.OPT_SORT_KEYS) if is_nested else show_json(value)

    def _check_metadata(self, value: Any, path: str, causes: Causes) -> None:
        try:
            metadata = decoder(self._metadata)(value, [])
        except DecodeError as error:
            causes.add(INVALID, path, f"Invalid value: {self._shown(value)}: {error}")
            return
        if self._rules is not None:
            self._rules(metadata, path, causes)


class EmbeddedTypes(EmbeddedChecks):
    """Checks only the types of apiVersion, kind and metadata."""

    def __init__(self, markers: Markers, metadata: Struct) -> None:
        super().__init__(markers, metadata, None)

    def _check(self, value: dict[str, Any], path: str, causes: Causes) -> None:
        for name in ("apiVersion", "kind"):
            item = value.get(name, "")
            if not isinstance(item, str):
                causes.add(INVALID, path + name, f"Invalid value: {self._shown(item)}: {NO_TEXT}")
        if value.get("metadata") is not None:
            self._check_metadata(value["metadata"], path + "metadata", causes)


def _type_meta_error(name: str, actual: Any) -> str:
    if not isinstance(actual, str):
        return NO_TEXT
    if not actual:
        return EMPTY
    if name == "apiVersion":
        invalid = actual.count("/") > 1
        return f"unexpected GroupVersion string: {actual}" if invalid else ""
    wrong_label = dns_1035_label(actual.lower())
    if not wrong_label:
        return ""
    return "may have mixed case, but should otherwise match: " + ",".join(wrong_label)


# Unknown metadata fields in the defaults of embedded objects
#
# The stored definition keeps these fields: a later release may know them.


def prune_defaults(schema: Schema, markers: Markers, known_fields: Collection[str]) -> None:
    """Remove unknown metadata fields from the defaults in a schema, in place."""
    _prune_schema(schema, markers.embedded, known_fields)


def _prune_schema(schema: Schema, embedded: str, known_fields: Collection[str]) -> None:
    if schema.get("default") is not None:
        _prune_value(schema["default"], schema, embedded, known_fields)
    properties = schema.get("properties") or {}
    metadata = properties.get("metadata")
    if schema.get(embedded) and metadata:
        _keep(metadata.get("default"), known_fields)
        _keep(metadata.get("properties"), known_fields)
    for inner in (*properties.values(), values_schema(schema), items_schema(schema)):
        if inner is not None:
            _prune_schema(inner, embedded, known_fields)


def _prune_value(value: Any, schema: Schema, embedded: str, known_fields: Collection[str]) -> None:
    items = items_schema(schema)
    if isinstance(value, list) and items is not None:
        for item in value:
            _prune_value(item, items, embedded, known_fields)
    if not isinstance(value, dict):
        return
    if schema.get(embedded):
        _keep(value.get("metadata"), known_fields)
    properties, others = schema.get("properties") or {}, values_schema(schema)
    for name, item in value.items():
        inner = properties.get(name, others)
        if inner is not None:
            _prune_value(item, inner, embedded, known_fields)


def _keep(value: Any, known_fields: Collection[str]) -> None:
    if isinstance(value, dict):
        for name in [name for name in value if name not in known_fields]:
            del value[name]
