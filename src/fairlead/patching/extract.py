"""Which fields an object holds: the set an Update manager, or an applier, comes to own.

Both see the same fields and differ in the nodes above them. What an update brings into being is its
own at every level: a new map with its keys, a new struct with its fields. An applied configuration
owns what it states: leaves, list items, keys of free maps, and a struct or map only when it is
empty; an empty list states nothing unless it is atomic.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fairlead.patching.field_sets import EMPTY, LEAF, FieldSet, value_element
from fairlead.patching.shapes import (
    Free,
    Items,
    Record,
    Shape,
    Single,
    Table,
    Untrackable,
    Values,
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


def _record(shape: Record, whole: bool, member: bool) -> Extract:
    start: FieldSet = {".": LEAF} if member else {}
    known: dict[str, tuple[str, Extract | None, bool]] = {}

    def part(name: str) -> tuple[str, Extract | None, bool]:
        # Made when first met, because a type may contain itself.
        declared = shape.members.get(name)
        if declared is None:
            return "f:" + name, _free_and_itself if shape.open else None, False
        inner = declared.shape
        below = None if isinstance(inner, Single) else extractor(inner, whole, whole)
        silent = not whole and isinstance(inner, (Items, Values))
        made = known[name] = declared.element, below, silent
        return made

    def extract(value: Any) -> FieldSet | None:
        if type(value) is not dict:
            raise Untrackable
        made = start.copy()
        for name, child in value.items():
            element, below, silent = known.get(name) or part(name)
            if below is None:
                made[element] = LEAF
            elif child:
                node = below(child)
                if node is not None:
                    made[element] = node
            elif child is None or not silent:
                made[element] = LEAF
        return _finished(made, member)

    return extract


def _finished(made: FieldSet, member: bool) -> FieldSet | None:
    if member:
        return made if len(made) > 1 else LEAF
    return made or None


def _table(shape: Table, whole: bool, member: bool) -> Extract:
    start: FieldSet = {".": LEAF} if member else {}
    below = None if isinstance(shape.value, Single) else extractor(shape.value, whole, True)

    def extract(value: Any) -> FieldSet | None:
        if type(value) is not dict:
            raise Untrackable
        made = start.copy()
        for key, child in value.items():
            if below is None or not child:
                made["f:" + key] = LEAF
            else:
                made["f:" + key] = below(child) or LEAF
        return made

    return extract


def _items(shape: Items, whole: bool, member: bool) -> Extract:
    start: FieldSet = {".": LEAF} if member else {}
    below = extractor(shape.item, whole, True)
    element = shape.element

    def extract(value: Any) -> FieldSet | None:
        if type(value) is not list:
            raise Untrackable
        made = start.copy()
        for item in value:
            made[element(item)] = below(item) or LEAF
        if len(made) != len(value) + member:
            raise Untrackable
        return made

    return extract


def _values(value: Any) -> FieldSet:
    if type(value) is not list:
        raise Untrackable
    made = {value_element(item): LEAF for item in value}
    if len(made) != len(value):
        raise Untrackable
    return made


def _values_and_list(value: Any) -> FieldSet:
    return {".": LEAF, **_values(value)}


def _free(value: Any) -> FieldSet:
    if type(value) is not dict or not value:
        return LEAF
    return {"f:" + key: _free_and_itself(child) for key, child in value.items()}


def _free_and_itself(value: Any) -> FieldSet:
    below = _free(value)
    return {".": LEAF, **below} if below else LEAF
