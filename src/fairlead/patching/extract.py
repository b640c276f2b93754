"""Which fields an object holds: the set an Update manager, or an applier, comes to own.

Both see the same fields and differ in the nodes above them. What an update brings into being is its
own at every level: a new map with its keys, a new struct with its fields. An applied configuration
owns what it states: leaves, list items, keys of free maps, and a struct or map only when it is
empty; an empty list states nothing unless it is atomic. Sets come out in order, see
`field_sets.in_order`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fairlead.bounded import Shapes
from fairlead.patching.field_sets import EMPTY, LEAF, FieldSet
from fairlead.patching.shapes import (
    Free,
    Items,
    Record,
    Shape,
    Single,
    Table,
    Untrackable,
    Values,
    indexed_values,
    shape_of,
)
from fairlead.schema.model import Struct

Extract = Callable[[Any], FieldSet | None]
"""Makes the node of a value that is not empty; None when there is nothing to own."""


def held_fields(struct: Struct, value: dict[str, Any]) -> FieldSet:
    """All fields of an object, as whoever makes it from nothing owns them.

    Raises `Untrackable` when list items cannot be told apart.
    """
    return extractor(shape_of(struct), True, False)(value) or EMPTY


def applied_fields(struct: Struct, config: dict[str, Any]) -> FieldSet:
    """The fields a configuration owns once it is applied. It must have passed `check.problems`."""
    return extractor(shape_of(struct), False, False)(config) or EMPTY


_KEPT = 50_000
_made: dict[tuple[Shape, bool, bool], Extract] = {}


def extractor(shape: Shape, whole: bool, member: bool) -> Extract:
    """The function that extracts values of a shape: `whole` as an update owns them, else as an
    applier does; `member` when the value itself belongs to the set too."""
    known = _made.get((shape, whole, member))
    if known is None:
        if len(_made) >= _KEPT:
            _made.clear()
        known = _made[shape, whole, member] = _make(shape, whole, member)
    return known


def _make(shape: Shape, whole: bool, member: bool) -> Extract:
    if isinstance(shape, Record):
        return _record(shape, whole, member)
    if isinstance(shape, Table):
        return _table(shape, whole, member)
    if isinstance(shape, Items):
        return _items(shape, whole, member)
    if isinstance(shape, Values):
        return _values_and_list if member else _values
    if isinstance(shape, Free):
        return _free_and_itself if member else _free
    return _leaf


def _leaf(value: Any) -> FieldSet:
    return LEAF


_Nested = tuple[str, str, Extract, bool]
"""Of a field that has fields of its own: its name, its step, how it is extracted, and whether it
says nothing when it is empty."""
_Plan = tuple[FieldSet, list[_Nested]]
"""What objects with the same fields have in common: the set as if all were leaves, and those that
are not."""


def _record(shape: Record, whole: bool, member: bool) -> Extract:
    plans: Shapes[_Plan] = Shapes()
    known = plans.get

    def part(name: str) -> tuple[str, Extract | None, bool]:
        declared = shape.members.get(name)
        if declared is None:
            return "f:" + name, _free_and_itself if shape.open else None, False
        inner = declared.shape
        below = None if isinstance(inner, Single) else extractor(inner, whole, whole)
        return declared.element, below, not whole and isinstance(inner, (Items, Values))

    def plan(names: tuple[str, ...]) -> _Plan:
        # Made when first met, because a type may contain itself.
        parts = {name: part(name) for name in names}
        elements = sorted(element for element, _, _ in parts.values())
        made: FieldSet = {".": LEAF} if member else {}
        made.update(dict.fromkeys(elements, LEAF))
        nested = [
            (name, element, below, silent)
            for name, (element, below, silent) in parts.items()
            if below is not None
        ]
        if not nested and len(made) == member:
            made = LEAF
        if shape.members.keys() >= parts.keys():
            plans.keep(names, (made, nested))
        return made, nested

    def extract(value: Any) -> FieldSet | None:
        if not isinstance(value, dict):
            raise Untrackable
        names = tuple(value)
        made, nested = known(names) or plan(names)
        if not nested:
            return made if made or member else None
        made = made.copy()
        for name, element, below, silent in nested:
            child = value[name]
            if child:
                node = below(child)
                if node is None:
                    del made[element]
                else:
                    made[element] = node
            elif silent and child is not None:
                del made[element]
        if len(made) > member:
            return made
        return LEAF if member else None

    return extract


def _table(shape: Table, whole: bool, member: bool) -> Extract:
    start: FieldSet = {".": LEAF} if member else {}
    below = None if isinstance(shape.value, Single) else extractor(shape.value, whole, True)

    def extract(value: Any) -> FieldSet | None:
        if not isinstance(value, dict):
            raise Untrackable
        made = start.copy()
        for key in sorted(value) if len(value) > 1 else value:
            if below is None or not value[key]:
                made["f:" + key] = LEAF
            else:
                made["f:" + key] = below(value[key]) or LEAF
        return made

    return extract


def _items(shape: Items, whole: bool, member: bool) -> Extract:
    start: FieldSet = {".": LEAF} if member else {}
    below = extractor(shape.item, whole, True)
    indexed = shape.indexed

    def extract(value: Any) -> FieldSet | None:
        made = start.copy()
        for element, item in indexed(value, True).items():
            made[element] = below(item) or LEAF
        return made

    return extract


def _values(value: Any) -> FieldSet:
    return dict.fromkeys(indexed_values(value, True), LEAF)


def _values_and_list(value: Any) -> FieldSet:
    return {".": LEAF, **_values(value)}


def _free(value: Any) -> FieldSet:
    if type(value) is not dict or not value:
        return LEAF
    return {"f:" + key: _free_and_itself(value[key]) for key in sorted(value)}


def _free_and_itself(value: Any) -> FieldSet:
    below = _free(value)
    return {".": LEAF, **below} if below else LEAF
