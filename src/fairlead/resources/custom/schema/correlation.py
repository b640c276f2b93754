"""Matches the values of an object with those of the object that it replaces.

A change must not be refused for values that it leaves alone, even if they are invalid by now.
Values match by the names of fields and by the keys of list items; items of other lists do not.
"""

from __future__ import annotations

from typing import Any

from fairlead.base import meter
from fairlead.fields.values import equal
from fairlead.resources.custom.schema.markers import Markers, Schema, items_schema, values_schema
from fairlead.resources.custom.schema.single_values import identity


class Correlated:
    """A value, the old value in its place, and the schema of both."""

    __slots__ = ("_children", "_is_same", "_markers", "_old_items", "old", "schema", "value")

    def __init__(self, value: Any, old: Any, schema: Schema, markers: Markers) -> None:
        self.value, self.old, self.schema = value, old, schema
        self._markers = markers
        self._children: dict[Any, Correlated | None] = {}
        self._is_same: bool | None = None
        self._old_items: dict[bytes, Any] | None = None

    def key(self, name: str) -> Correlated | None:
        """A field or an entry; None if one of the objects lacks it or the schema does not have
        it."""
        if name not in self._children:
            self._children[name] = self._find_key(name)
        return self._children[name]

    def _find_key(self, name: str) -> Correlated | None:
        value, old = self.value, self.old
        if value.__class__ is not dict or old.__class__ is not dict:
            return None
        if name not in value or name not in old:
            return None
        schema = (self.schema.get("properties") or {}).get(name)
        if schema is None:
            schema = values_schema(self.schema)
        return self._child(value[name], old[name], schema)

    def item(self, index: int) -> Correlated | None:
        """An item of a list with keys; None for items of other lists and new items."""
        if index not in self._children:
            self._children[index] = self._find_item(index)
        return self._children[index]

    def _find_item(self, index: int) -> Correlated | None:
        keys = self._keys()
        if not keys or self.value.__class__ is not list or index >= len(self.value):
            return None
        if self._old_items is None:
            old = self.old if self.old.__class__ is list else []
            self._old_items = {found: item for item in old if (found := _key(item, keys))}
        item = self.value[index]
        old_item = self._old_items.get(_key(item, keys))
        if old_item is None:
            return None
        return self._child(item, old_item, items_schema(self.schema))

    def _keys(self) -> tuple[str, ...]:
        if self.schema.get(self._markers.list_type) != "map":
            return ()
        return tuple(self.schema.get(self._markers.list_keys) or ())

    def _child(self, value: Any, old: Any, schema: Schema | None) -> Correlated | None:
        return Correlated(value, old, schema, self._markers) if schema is not None else None

    def is_same(self) -> bool:
        """Whether the value equals the old one; fields without a schema count as changed."""
        if self._is_same is None:
            self._is_same = self._compare()
        return self._is_same

    def _compare(self) -> bool:
        meter.spend()
        value, old = self.value, self.old
        if value is None or old is None:
            return value is old
        if value.__class__ is dict and old.__class__ is dict:
            return len(value) == len(old) and all(
                (child := self.key(name)) is not None and child.is_same() for name in value
            )
        if value.__class__ is list and old.__class__ is list and self._keys():
            return len(value) == len(old) and all(
                (child := self.item(index)) is not None and child.is_same()
                for index in range(len(value))
            )
        return value.__class__ is old.__class__ and equal(value, old)


def _key(item: Any, keys: tuple[str, ...]) -> bytes:
    """The identity of a list item by its keys; empty if it is not an object."""
    if item.__class__ is not dict:
        return b""
    return identity([item.get(key) for key in keys])
