"""Removes unknown metadata fields from the defaults of embedded objects.

The stored definition keeps these fields: a later release may know them.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from fairlead.resources.custom.schema.markers import Markers, Schema, items_schema, values_schema


def prune_defaults(schema: Schema, markers: Markers, known: Collection[str]) -> None:
    """Remove unknown metadata fields from the defaults in a schema, in place."""
    _prune_schema(schema, markers.embedded, known)


def _prune_schema(schema: Schema, embedded: str, known: Collection[str]) -> None:
    if schema.get("default") is not None:
        _prune_value(schema["default"], schema, embedded, known)
    properties = schema.get("properties") or {}
    metadata = properties.get("metadata")
    if schema.get(embedded) and metadata:
        _keep(metadata.get("default"), known)
        _keep(metadata.get("properties"), known)
    for inner in (*properties.values(), values_schema(schema), items_schema(schema)):
        if inner is not None:
            _prune_schema(inner, embedded, known)


def _prune_value(value: Any, schema: Schema, embedded: str, known: Collection[str]) -> None:
    items = items_schema(schema)
    if isinstance(value, list) and items is not None:
        for item in value:
            _prune_value(item, items, embedded, known)
    if not isinstance(value, dict):
        return
    if schema.get(embedded):
        _keep(value.get("metadata"), known)
    properties, others = schema.get("properties") or {}, values_schema(schema)
    for name, item in value.items():
        inner = properties.get(name, others)
        if inner is not None:
            _prune_value(item, inner, embedded, known)


def _keep(value: Any, known: Collection[str]) -> None:
    if isinstance(value, dict):
        for name in [name for name in value if name not in known]:
            del value[name]
