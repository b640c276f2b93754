"""Extracts the set of fields that an object holds, as an updater or an applier owns it.

Both own the same leaves and differ in the nodes above them. An updater owns what it adds at every
level: a new map with its keys, a new struct with its fields. An applier owns what its configuration
states: leaves, list items, keys of free maps, and a struct or map only if it is empty; an empty
list is owned only if it is atomic. Sets come out in order, see `field_sets.in_order`.
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
    Record,
    Shape,
    ShapeCache,
    Single,
    Table,
    Untrackable,
    Values,
    indexed_values,
    shape_of,
)


class Extractor:
    """Extracts the node of a non-empty value; None if there is nothing to own. This base class
    handles values with a single owner."""

    def extract(self, value: Any) -> FieldSet | None:
        return LEAF


def applied_fields(struct: Struct, config: dict[str, Any]) -> FieldSet:
    """The fields an applier of this configuration owns. It must have passed `check.problems`."""
    return extractor(shape_of(struct), False, False).extract(config) or EMPTY


_made: ShapeCache[tuple[Shape, bool, bool], Extractor] = ShapeCache()
_SINGLE = Extractor()


def extractor(shape: Shape, whole: bool, member: bool) -> Extractor:
    """The extractor for values of a shape: `whole` as an updater owns them, else as an applier
    does; `member` if the set includes the value itself."""
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
    """A field with fields of its own. `silent`: an empty value adds nothing to the set."""

    def __init__(self, name: str, element: str, below: Extractor, silent: bool) -> None:
        self.name = name
        self.element = element
        self.below = below
        self.silent = silent


class _Plan:
    """The plan for objects with the same field names: the set with every field as a leaf, and the
    fields that are nested."""

    def __init__(self, made: FieldSet, nested: list[_Nested]) -> None:
        self.made = made
        self.nested = nested


class _Fields(Extractor):
    """Extracts structs."""

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
        # Built on first use, because a type may contain itself.
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
    """Extracts maps."""

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
    """Extracts lists whose items have keys."""

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
    """Extracts lists of unique scalars."""

    def __init__(self, member: bool) -> None:
        self._member = member

    def extract(self, value: Any) -> FieldSet | None:
        found: FieldSet = dict.fromkeys(indexed_values(value, True), LEAF)
        return {".": LEAF, **found} if self._member else found


class _Undescribed(Extractor):
    """Extracts values that the model does not describe."""

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
