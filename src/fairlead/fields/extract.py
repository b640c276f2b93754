"""Extracts the set of fields that an object holds, as an updater or an applier owns it.

Both own the same leaves and differ in the nodes above them. An updater owns what it adds at every
level: a new map with its keys, a new struct with its fields. An applier owns what its configuration
states: leaves, list items, keys of free maps, and a struct or map only if it is empty; an empty
list is owned only if it is atomic. Sets come out in order, see `field_sets.in_order`.
"""

from __future__ import annotations

from typing import Any

from fairlead.codec.types.model import Struct
from fairlead.fields.field_sets import EMPTY, LEAF, FieldSet
from fairlead.fields.shapes import EXTRA, Items, Plan, Record, Shape, Single, shape_of
from fairlead.fields.walk import Parts, Walker


def applied_fields(struct: Struct, config: dict[str, Any]) -> FieldSet:
    """The fields an applier of this configuration owns. It must have passed `check.problems`."""
    found: FieldSet | None = _APPLIED.walk(shape_of(struct), config)
    return found or EMPTY


def applied_node(shape: Shape, value: Any) -> FieldSet | None:
    """The node of a field that an applier owns who states this non-empty value."""
    found: FieldSet | None = _APPLIED.walk(shape, value)
    return found


def updated_fields(shape: Shape, value: Any) -> FieldSet | None:
    """The fields below a non-empty value that an updater owns who adds it."""
    found: FieldSet | None = _UPDATED.walk(shape, value)
    return found


def updated_node(shape: Shape, value: Any) -> FieldSet:
    """The node of a value that an updater owns who adds it: the value itself and what is below."""
    if not value or isinstance(shape, Single):
        return LEAF
    found: FieldSet | None = _UPDATED_ITSELF.walk(shape, value)
    return found or LEAF


class _Extractor(Walker):
    """Returns the node of a non-empty value; None if there is nothing to own. `itself`: the set
    includes the value itself. `field` and `item` extract the fields of structs, and list items and
    map entries."""

    field: _Extractor
    item: _Extractor

    def __init__(self, *, is_applied: bool, itself: bool) -> None:
        super().__init__(sees_leaves=False, in_order=True)
        self.is_applied = is_applied
        self.itself = itself

    def single(self, shape: Shape, value: Any) -> Any:
        return LEAF

    def leaves(self, plan: Plan) -> Any:
        return plan.leaves_and_itself if self.itself else plan.leaves or None

    def fields(self, shape: Record, plan: Plan, value: dict[str, Any]) -> Parts:
        return _Fields(self, plan)

    def entries(self, shape: Shape, value: Any) -> Parts:
        return _Entries(self)


class _Fields(Parts):
    """Collects the fields of a struct; those with a single owner are in the set already."""

    def __init__(self, extractor: _Extractor, plan: Plan) -> None:
        self._extractor = extractor
        template = plan.leaves_and_itself if extractor.itself else plan.leaves
        self._fields: FieldSet = template.copy()

    def part(self, element: str, shape: Shape, value: Any) -> None:
        extractor = self._extractor
        if value:
            below = extractor.item if shape is EXTRA else extractor.field
            node: FieldSet | None = below.walk(shape, value)
            if node is None:
                del self._fields[element]
            else:
                self._fields[element] = node
        elif extractor.is_applied and value is not None and isinstance(shape, Items):
            del self._fields[element]

    def result(self) -> Any:
        if len(self._fields) > self._extractor.itself:
            return self._fields
        return LEAF if self._extractor.itself else None


class _Entries(Parts):
    """Collects the entries of a map or the items of a list."""

    def __init__(self, extractor: _Extractor) -> None:
        self._below = extractor.item
        self._fields: FieldSet = {".": LEAF} if extractor.itself else {}

    def part(self, element: str, shape: Shape, value: Any) -> None:
        node: FieldSet | None = None
        if value and not isinstance(shape, Single):
            node = self._below.walk(shape, value)
        self._fields[element] = node or LEAF

    def result(self) -> Any:
        return self._fields


_APPLIED = _Extractor(is_applied=True, itself=False)
_APPLIED_ITSELF = _Extractor(is_applied=True, itself=True)
_UPDATED = _Extractor(is_applied=False, itself=False)
_UPDATED_ITSELF = _Extractor(is_applied=False, itself=True)
for _extractor in (_APPLIED, _APPLIED_ITSELF):
    _extractor.field, _extractor.item = _APPLIED, _APPLIED_ITSELF
for _extractor in (_UPDATED, _UPDATED_ITSELF):
    _extractor.field = _extractor.item = _UPDATED_ITSELF
