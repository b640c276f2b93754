"""Merges an applied configuration into the live object, and removes fields from an object."""

from __future__ import annotations

from collections.abc import Iterable
from operator import is_
from typing import Any

from fairlead.codec.types.model import Object as Object
from fairlead.codec.types.model import Struct
from fairlead.fields.field_sets import LEAF, FieldSet, value_element
from fairlead.fields.shapes import (
    FREE,
    SINGLE,
    Free,
    Index,
    Items,
    Parts,
    Record,
    Shape,
    ShapeCache,
    Table,
    Untrackable,
    Values,
    are_aligned,
    field_shape,
    indexed_values,
    shape_of,
    step_shape,
)
from fairlead.fields.values import equal


def merge(struct: Struct, live: Object, config: Object) -> Object:
    """The live object with everything the configuration states.

    Replaces single-owner fields and merges objects and lists; a null or empty one keeps the live
    value. Items of the configuration come in its order, and items only in the live list keep their
    places before the items that followed them. Returns the live object itself if nothing changes.
    """
    merged: Object = _merger(shape_of(struct)).merge(live, config)
    return merged


class _Merger:
    """Merges two values present on both sides. This base class handles single-owner values."""

    def merge(self, live: Any, config: Any) -> Any:
        return live if live == config else config


class _SingleFree(_Merger):
    """Merges single-owner values that may contain undescribed data."""

    def merge(self, live: Any, config: Any) -> Any:
        return live if equal(live, config) else config


_made: ShapeCache[Shape, _Merger] = ShapeCache()


def _merger(shape: Shape) -> _Merger:
    known = _made.get(shape)
    return known if known is not None else _made.keep(shape, _make(shape))


def _make(shape: Shape) -> _Merger:
    if isinstance(shape, (Record, Table)):
        return _Fields(shape)
    if isinstance(shape, Items):
        return _Listed(shape.indexed, _merger(shape.item), shape.key)
    if isinstance(shape, Values):
        return _Listed(indexed_values, _Merger(), "")
    if isinstance(shape, Free):
        return _Undescribed()
    return _SingleFree() if shape.free else _Merger()


class _Part:
    """How a field is merged. `exact`: if `==` holds, there is nothing to merge."""

    def __init__(self, shape: Shape) -> None:
        self.exact = not shape.free
        self.merger = _merger(shape)


class _Fields(_Merger):
    """Merges objects field by field."""

    def __init__(self, shape: Record | Table | Free) -> None:
        self._parts: Parts[_Part] = Parts(shape, _Part)

    def merge(self, live: Any, config: Any) -> Any:
        if not live or not config:
            return _emptied(live, config)
        if not isinstance(live, dict) or not isinstance(config, dict):
            raise Untrackable
        before: Object = live
        fields: Object = config
        merged: Object | None = None
        for name, stated in fields.items():
            value = before.get(name)
            after = stated
            if value is not None or name in before:
                part = self._parts.of(name)
                if part.exact and value == stated:
                    continue
                after = part.merger.merge(value, stated)
                if after is value:
                    continue
            if merged is None:
                merged = dict(before)
            merged[name] = after
        return live if merged is None else merged


def _emptied(live: Any, config: Any) -> Any:
    """Merges two values, at least one null or empty: keeps a non-empty one, else the stated one."""
    if live and not config:
        return live
    return live if live == config else config


class _Listed(_Merger):
    """Merges keyed lists and set lists item by item."""

    def __init__(self, indexed: Index, item: _Merger, key: str) -> None:
        self._indexed = indexed
        self._item = item
        self._key = key

    def merge(self, live: Any, config: Any) -> Any:
        if not live or not config:
            return _emptied(live, config)
        if type(live) is not list or type(config) is not list:
            raise Untrackable
        item = self._item
        if are_aligned(live, config, self._key):
            pairs = zip(live, config, strict=True)
            return _same_if_same(live, [item.merge(one, other) for one, other in pairs])
        before, stated = self._indexed(live, False), self._indexed(config, False)
        merged: list[Any] = []
        for name in _ordered(before, stated):
            if name not in stated:
                merged.append(before[name])
            elif name in before:
                merged.append(item.merge(before[name], stated[name]))
            else:
                merged.append(stated[name])
        return _same_if_same(live, merged)


def _same_if_same(live: list[Any], merged: list[Any]) -> list[Any]:
    """The live list itself if the merged list consists of the same items."""
    return live if len(merged) == len(live) and all(map(is_, merged, live)) else merged


def _ordered(live: dict[str, Any], config: dict[str, Any]) -> Iterable[str]:
    """The order of the items of the merged list, see `merge`."""
    stated = list(config)
    shared = [name for name in stated if name in live]
    if len(shared) == len(stated) and shared == [name for name in live if name in config]:
        return live
    made: list[str] = []
    following = place = 0
    for name in live:
        if name not in config:
            made.append(name)
        elif following < len(shared) and name == shared[following]:
            end = stated.index(name, place) + 1
            made += stated[place:end]
            place = end
            following += 1
    return made + stated[place:]


class _Undescribed(_Merger):
    """Merges values that the model does not describe."""

    def merge(self, live: Any, config: Any) -> Any:
        if isinstance(live, _OBJECT) and isinstance(config, _OBJECT):
            return _free_objects.merge(live, config)
        return live if equal(live, config) else config


_OBJECT = (dict, type(None))
_free_objects = _Fields(FREE)


def without(struct: Struct, value: Object, fields: FieldSet) -> Object:
    """The object without the fields of a set and everything below them.

    A map or list that loses all its entries becomes null: decoding the object later decides whether
    it stays as an empty one or is dropped.
    """
    return _without(shape_of(struct), value, fields) or {}


def _without(shape: Shape, value: Any, fields: FieldSet) -> Any:
    if isinstance(shape, (Items, Values)) and isinstance(value, list):
        return _items_without(shape, value, fields)
    if isinstance(value, dict) and isinstance(shape, (Record, Table, Free)):
        return _object_without(shape, value, fields)
    return value


def _object_without(shape: Record | Table | Free, value: Object, fields: FieldSet) -> Object | None:
    made: Object = {}
    for name, child in value.items():
        node = fields.get("f:" + name)
        if node is None:
            made[name] = child
        elif node and "." not in node:
            made[name] = _without(field_shape(shape, name), child, node)
    return made or None


def _items_without(shape: Items | Values, value: list[Any], fields: FieldSet) -> list[Any] | None:
    element = shape.element if isinstance(shape, Items) else value_element
    made: list[Any] = []
    for item in value:
        node = fields.get(element(item))
        if node is None:
            made.append(item)
        elif node and "." not in node:
            made.append(_without(shape.item if isinstance(shape, Items) else SINGLE, item, node))
    return made or None


def with_parents(struct: Struct, fields: FieldSet) -> FieldSet:
    """Add every declared field on the way to a path of the set.

    Owning `.spec.replicas` does not include owning `.spec`. Pruning needs the structs around an
    owned field too, so it counts them as owned.
    """
    return _with_named(shape_of(struct), fields)


def _with_named(shape: Shape, fields: FieldSet) -> FieldSet:
    made: FieldSet = {}
    for element, node in fields.items():
        if node:
            node = _with_named(step_shape(shape, element), node)
            if "." not in node and isinstance(shape, Record) and element[2:] in shape.members:
                node = {".": LEAF, **node}
        made[element] = node
    return made
