"""Fills in the defaults of a schema, in place, on decoded objects.

A few bytes of empty list items can require any amount of defaults, so the size of each default is
charged to the request's budget before it is made.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import orjson

from fairlead.base import meter
from fairlead.codec.types.json_numbers import plain
from fairlead.resources.custom.schema.markers import Schema, items_schema, values_schema

Fill = Callable[[Any], None]
Fresh = Callable[[], Any]


def filler_of(schema: Schema) -> Fill | None:
    """A function that fills in the defaults below a value of this schema; None if there are
    none."""
    properties = schema.get("properties")
    if properties:
        return _object(properties)
    values, items = values_schema(schema), items_schema(schema)
    if values is not None:
        return _each(values, _values)
    return _each(items, _items) if items is not None else None


def fresh(default: Any, name: str = "") -> Fresh:
    """A function that makes a new copy of a default each time, so that objects do not share it."""
    default = plain(default)
    encoded = orjson.dumps(default)
    size = len(name) + len(encoded) + 4
    shared = not isinstance(default, (dict, list))

    def make() -> Any:
        meter.allocate(size)
        return default if shared else orjson.loads(encoded)

    return make


def _object(properties: Schema) -> Fill | None:
    defaults = [
        (name, fresh(inner["default"], name), bool(inner.get("nullable")))
        for name, inner in properties.items()
        if inner.get("default") is not None
    ]
    nested = {
        name: filler
        for name, inner in properties.items()
        if (filler := filler_of(inner)) is not None
    }
    if not defaults and not nested:
        return None

    def fill(value: Any) -> None:
        if value.__class__ is not dict:
            return
        meter.spend(1 + len(defaults))
        for name, make, nullable in defaults:
            if value.get(name) is None and not (nullable and name in value):
                value[name] = make()
        if nested:
            for name, child in value.items():
                inner = nested.get(name)
                if inner is not None and child is not None:
                    inner(child)

    return fill


def _each(element: Schema, over: Callable[[Any], Any]) -> Fill | None:
    """Fill every item of a list or map, and replace nulls by the default."""
    inner = filler_of(element)
    default = element.get("default")
    replaces = default is not None and not element.get("nullable")
    if inner is None and not replaces:
        return None
    make = fresh(default)

    def fill(value: Any) -> None:
        for key, item in over(value):
            if item is None and replaces:
                item = value[key] = make()
            if inner is not None and item is not None:
                inner(item)

    return fill


def _values(value: Any) -> Any:
    return list(value.items()) if value.__class__ is dict else ()


def _items(value: Any) -> Any:
    return enumerate(value) if value.__class__ is list else ()
