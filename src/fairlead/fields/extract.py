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

from fairlead.base.caches import Shapes
from fairlead.codec.types.model import Struct
from fairlead.fields.field_sets import EMPTY, LEAF, FieldSet
from fairlead.fields.shapes import (
    Free,
    Items,
    Made,
    Record,
    Shape,
    Single,
    Table,
    Untrackable,
    Values,
    indexed_values,
    shape_of,
)


class Extractor:
    """Makes the node of a value that is not empty; None when there is nothing to own. This one is
    of what has one owner."""

    def extract(self, value: Any) -> FieldSet | None:
        return LEAF


def applied_fields(struct: Struct, config: dict[str, Any]) -> FieldSet:
    """The fields a configuration owns once it is applied. It must have passed `check.problems`."""
    return extractor(shape_of(struct), False, False).extract(config) or EMPTY


_made: Made[tuple[Shape, bool, bool], Extractor] = Made()
_SINGLE = Extractor()


def extractor(shape: Shape, whole: bool, member: bool) -> Extractor:
    """What extracts values of a shape: `whole` as an update owns them, else as an
    applier does; `member` when the value itself belongs to the set too."""
    key = shape, whole, member
    known = _made.get(key)
    return known if known is not None else _made.keep(key, _make(shape, whole, member))


def _make(shape: Shape, whole: bool, member: bool) -> Extractor:
    if isinstance(shape, Record):
        return _Fields(shape, whole, member)
    if isinstance(shape, Table):
        return _Entries(shape, whole, member)
    if isinstance(shape, Items):
        return _Keyed(shape, whole, member)
    if isinstance(shape, Values):
        return _Texts(member)
    if isinstance(shape, Free):
        return _Undescribed(member)
    return _SINGLE


class _Nested:
    """A field that has fields of its own, which says nothing when it is empty if it is `silent`."""

    def __init__(self, name: str, element: str, below: Extractor, silent: bool) -> None:
        self.name = name
        self.element = element
        self.below = below
        self.silent = silent


class _Plan:
    """What objects with the same fields have in common: the set as if all were leaves, and those
    that are not."""

    def __init__(self, made: FieldSet, nested: list[_Nested]) -> None:
        self.made = made
        self.nested = nested


class _Fields(Extractor):
    """Of a struct."""

    def __init__(self, shape: Record, whole: bool, member: bool) -> None:
        self._shape = shape
        self._whole = whole
        self._member = member
        self._plans: Shapes[_Plan] = Shapes()
        self._known: Callable[[tuple[str, ...]], _Plan | None] = self._plans.get

    def extract(self, value: Any) -> FieldSet | None:
        if not isinstance(value, dict):
            raise Untrackable
        fields: dict[str, Any] = value
        names = tuple(fields)
        plan = self._known(names)
        if plan is None:
            plan = self._plan(names)
        if not plan.nested:
            return plan.made if plan.made or self._member else None
        made = plan.made.copy()
        for part in plan.nested:
            child: Any = fields[part.name]
            if child:
                node = part.below.extract(child)
                if node is None:
                    del made[part.element]
                else:
                    made[part.element] = node
            elif part.silent and child is not None:
                del made[part.element]
        if len(made) > self._member:
            return made
        return LEAF if self._member else None

    def _plan(self, names: tuple[str, ...]) -> _Plan:
        # Made when first met, because a type may contain itself.
        members = self._shape.members
        made: FieldSet = {".": LEAF} if self._member else {}
        made.update(dict.fromkeys(sorted("f:" + name for name in names), LEAF))
        nested: list[_Nested] = []
        for name in names:
            declared = members.get(name)
            if declared is None:
                if self._shape.open:
                    nested.append(_Nested(name, "f:" + name, _Undescribed(True), False))
            elif not isinstance(declared.shape, Single):
                silent = not self._whole and isinstance(declared.shape, (Items, Values))
                below = extractor(declared.shape, self._whole, self._whole)
                nested.append(_Nested(name, declared.element, below, silent))
        if not nested and len(made) == self._member:
            made = LEAF
        plan = _Plan(made, nested)
        if members.keys() >= set(names):
            self._plans.keep(names, plan)
        return plan


class _Entries(Extractor):
    """Of a map."""

    def __init__(self, shape: Table, whole: bool, member: bool) -> None:
        self._start: FieldSet = {".": LEAF} if member else {}
        is_single = isinstance(shape.value, Single)
        self._below = None if is_single else extractor(shape.value, whole, True)

    def extract(self, value: Any) -> FieldSet | None:
        if not isinstance(value, dict):
            raise Untrackable
        entries: dict[str, Any] = value
        names: list[str] = sorted(entries) if len(entries) > 1 else list(entries)
        made = self._start.copy()
        below = self._below
        for name in names:
            node = LEAF
            if below is not None and entries[name]:
                node = below.extract(entries[name]) or LEAF
            made["f:" + name] = node
        return made


class _Keyed(Extractor):
    """Of a list whose items are told apart by their keys."""

    def __init__(self, shape: Items, whole: bool, member: bool) -> None:
        self._start: FieldSet = {".": LEAF} if member else {}
        self._below = extractor(shape.item, whole, True)
        self._indexed = shape.indexed

    def extract(self, value: Any) -> FieldSet | None:
        made = self._start.copy()
        for element, item in self._indexed(value, True).items():
            made[element] = self._below.extract(item) or LEAF
        return made


class _Texts(Extractor):
    """Of a list of scalars, each of which is there once."""

    def __init__(self, member: bool) -> None:
        self._member = member

    def extract(self, value: Any) -> FieldSet | None:
        found: FieldSet = dict.fromkeys(indexed_values(value, True), LEAF)
        return {".": LEAF, **found} if self._member else found


class _Undescribed(Extractor):
    """Of what the model does not describe."""

    def __init__(self, member: bool) -> None:
        self._member = member

    def extract(self, value: Any) -> FieldSet | None:
        return _free_and_itself(value) if self._member else _free(value)


def _free(value: Any) -> FieldSet:
    if not isinstance(value, dict) or not value:
        return LEAF
    return {"f:" + key: _free_and_itself(value[key]) for key in sorted(value)}


def _free_and_itself(value: Any) -> FieldSet:
    below = _free(value)
    return {".": LEAF, **below} if below else LEAF
