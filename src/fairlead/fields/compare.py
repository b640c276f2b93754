"""Compares two objects of a type and returns the changes as sets of fields.

Skips identical and equal parts, so the cost depends on the size of the change. Reordering the items
of a keyed or set list is not a change. Touched fields come out in order, see `field_sets.in_order`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from fairlead.codec.types.model import Struct
from fairlead.fields.extract import updated_fields, updated_node
from fairlead.fields.field_sets import EMPTY, LEAF, FieldSet, level_in_order, recursive_difference
from fairlead.fields.shapes import FREE, Items, Shape, Single, field_shape, shape_of
from fairlead.fields.values import equal
from fairlead.fields.walk import Pairs, PairWalker


class Changes(NamedTuple):
    """`touched`: fields that the newer object adds or changes; `removed`: fields that it lacks."""

    touched: FieldSet
    removed: FieldSet

    def outside(self, ignored: FieldSet) -> Changes:
        """The changes except those at or below ignored fields."""
        return Changes(
            recursive_difference(self.touched, ignored),
            recursive_difference(self.removed, ignored),
        )

    @property
    def none(self) -> bool:
        return not self.touched and not self.removed


NO_CHANGES = Changes(EMPTY, EMPTY)

_Nodes = tuple[FieldSet | None, FieldSet | None]
_SAME: _Nodes = (None, None)
_TOUCHED: _Nodes = (LEAF, None)


def compare(struct: Struct, old: dict[str, Any], new: dict[str, Any]) -> Changes:
    """The changes from `old` to `new`. Raises `Untrackable`."""
    if old is new:
        return NO_CHANGES
    nodes: _Nodes = _COMPARER.walk(shape_of(struct), old, new)
    return Changes(nodes[0] or EMPTY, nodes[1] or EMPTY)


class _Comparer(PairWalker):
    """Returns the nodes of touched and removed fields of two values."""

    def single(self, shape: Single, left: Any, right: Any) -> Any:
        same = equal(left, right) if shape.free else left == right
        return _SAME if same else _TOUCHED

    def undescribed(self, left: Any, right: Any) -> Any:
        if equal(left, right):
            return _SAME
        # A value that stops being an object loses its fields; one that becomes one gains them.
        touched: FieldSet = LEAF
        removed: FieldSet | None = None
        if isinstance(right, dict) and right:
            touched = {".": LEAF, **(updated_fields(FREE, right) or LEAF)}
        if isinstance(left, dict) and left:
            removed = updated_fields(FREE, left)
        return touched, removed

    def emptied(self, shape: Shape, left: Any, right: Any) -> Any:
        if right:
            return updated_fields(shape, right), None
        if left:
            return None, updated_fields(shape, left)
        return _SAME if equal(left, right) else _TOUCHED

    def fields(self, shape: Shape, left: dict[str, Any]) -> Pairs:
        return _ChangedFields(shape)

    def items(self, shape: Items, left: list[Any], right: list[Any]) -> Pairs:
        return _ChangedItems(shape)


class _ChangedFields(Pairs):
    """Collects the changes of an object."""

    def __init__(self, shape: Shape) -> None:
        self._shape = shape
        self.touched: FieldSet = {}
        self.removed: FieldSet = {}

    def both(self, step: str, shape: Shape, left: Any, right: Any) -> None:
        self.changed("f:" + step, shape, left, right)

    def left_only(self, step: str, value: Any) -> None:
        self.removed["f:" + step] = updated_node(field_shape(self._shape, step), value)

    def right_only(self, step: str, value: Any) -> None:
        self.touched["f:" + step] = updated_node(field_shape(self._shape, step), value)

    def changed(self, element: str, shape: Shape, left: Any, right: Any) -> None:
        nodes: _Nodes = _COMPARER.walk(shape, left, right)
        touched, removed = nodes
        if touched is not None:
            self.touched[element] = touched
        if removed is not None:
            self.removed[element] = removed

    def result(self) -> Any:
        if len(self.touched) > 1:
            return level_in_order(self.touched), self.removed or None
        return self.touched or None, self.removed or None


class _ChangedItems(_ChangedFields):
    """Collects the changes of a list."""

    def __init__(self, shape: Items) -> None:
        super().__init__(shape)
        self._item = shape.item
        self._steps = shape.steps

    def both(self, step: str, shape: Shape, left: Any, right: Any) -> None:
        self.changed(step, shape, left, right)

    def both_at(self, place: int, left: Any, right: Any) -> None:
        self.changed(self._steps.element(right), self._item, left, right)

    def left_only(self, step: str, value: Any) -> None:
        self.removed[step] = updated_node(self._item, value)

    def right_only(self, step: str, value: Any) -> None:
        self.touched[step] = updated_node(self._item, value)


_COMPARER = _Comparer(sees_left=True)
