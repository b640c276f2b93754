"""Operations on objects of a type: extract their fields, compare two of them, merge two of them.

All are visitors of the one walk (`walk`). Sets of fields come out in order, see
`field_sets.in_order`.
"""

from __future__ import annotations

from collections.abc import Iterable
from operator import is_
from typing import Any, Final, NamedTuple

from fairlead.codec.types.model import Object as Object
from fairlead.codec.types.model import Struct
from fairlead.fields.field_sets import EMPTY, LEAF, FieldSet, level_in_order, recursive_difference
from fairlead.fields.shapes import (
    EXTRA,
    FREE,
    Items,
    Plan,
    Record,
    Shape,
    Single,
    field_shape,
    shape_of,
)
from fairlead.fields.values import equal
from fairlead.fields.walk import Pairs, PairWalker, Parts, Walker

# Extraction: the set of fields that an object holds, as an updater or an applier owns it
#
# Both own the same leaves and differ in the nodes above them. An updater owns what it adds at
# every level: a new map with its keys, a new struct with its fields. An applier owns what its
# configuration states: leaves, list items, keys of free maps, and a struct or map only if it is
# empty; an empty list is owned only if it is atomic.


def applied_fields(struct: Struct, config: dict[str, Any]) -> FieldSet:
    """The fields an applier of this configuration owns. It must have passed `check.problems`."""
    fields: FieldSet | None = _APPLIED.walk(shape_of(struct), config)
    return fields or EMPTY


def applied_node(shape: Shape, value: Any) -> FieldSet | None:
    """The node of a field that an applier owns who states this non-empty value."""
    node: FieldSet | None = _APPLIED.walk(shape, value)
    return node


def updated_fields(shape: Shape, value: Any) -> FieldSet | None:
    """The fields below a non-empty value that an updater owns who adds it."""
    node: FieldSet | None = _UPDATED.walk(shape, value)
    return node


def updated_node(shape: Shape, value: Any) -> FieldSet:
    """The node of a value that an updater owns who adds it: the value itself and what is below."""
    if not value or isinstance(shape, Single):
        return LEAF
    node: FieldSet | None = _UPDATED_ITSELF.walk(shape, value)
    return node or LEAF


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


_APPLIED: Final = _Extractor(is_applied=True, itself=False)
_APPLIED_ITSELF: Final = _Extractor(is_applied=True, itself=True)
_UPDATED: Final = _Extractor(is_applied=False, itself=False)
_UPDATED_ITSELF: Final = _Extractor(is_applied=False, itself=True)
for _extractor in (_APPLIED, _APPLIED_ITSELF):
    _extractor.field, _extractor.item = _APPLIED, _APPLIED_ITSELF
for _extractor in (_UPDATED, _UPDATED_ITSELF):
    _extractor.field = _extractor.item = _UPDATED_ITSELF


# Comparison: the changes between two objects, as sets of fields
#
# Skips identical and equal parts, so the cost depends on the size of the change. Reordering the
# items of a keyed or set list is not a change.


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


NO_CHANGES: Final = Changes(EMPTY, EMPTY)

_Nodes = tuple[FieldSet | None, FieldSet | None]
_SAME: Final[_Nodes] = (None, None)
_TOUCHED: Final[_Nodes] = (LEAF, None)


def compare(struct: Struct, old: dict[str, Any], new: dict[str, Any]) -> Changes:
    """The changes from `old` to `new`. Raises `Untrackable`."""
    if old is new:
        return NO_CHANGES
    nodes: _Nodes = _COMPARER.walk(shape_of(struct), old, new)
    return Changes(nodes[0] or EMPTY, nodes[1] or EMPTY)


class _Comparer(PairWalker):
    """Returns the nodes of touched and removed fields of two values."""

    def single(self, shape: Single, left: Any, right: Any) -> Any:
        is_same = equal(left, right) if shape.free else left == right
        return _SAME if is_same else _TOUCHED

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


_COMPARER: Final = _Comparer(sees_left=True)


# Merge of an applied configuration into the live object


def merge(struct: Struct, live: Object, config: Object) -> Object:
    """The live object with everything the configuration states.

    Replaces single-owner fields and merges objects and lists; a null or empty one keeps the live
    value. Items of the configuration come in its order, and items only in the live list keep their
    places before the items that followed them. Returns the live object itself if nothing changes.
    """
    merged: Object = _MERGER.walk(shape_of(struct), live, config)
    return merged


class _Merger(PairWalker):
    """Returns the live value (left) with what the configuration (right) states."""

    def single(self, shape: Single, left: Any, right: Any) -> Any:
        is_same = equal(left, right) if shape.free else left == right
        return left if is_same else right

    def undescribed(self, left: Any, right: Any) -> Any:
        return left if equal(left, right) else right

    def emptied(self, shape: Shape, left: Any, right: Any) -> Any:
        if left and not right:
            return left
        return left if left == right else right

    def fields(self, shape: Shape, left: dict[str, Any]) -> Pairs:
        return _MergedFields(left)

    def items(self, shape: Items, left: list[Any], right: list[Any]) -> Pairs:
        return _MergedItems(shape, left)


class _MergedFields(Pairs):
    """Collects the fields of an object that change."""

    def __init__(self, live: dict[str, Any]) -> None:
        self._merged: dict[str, Any] = live
        self._is_copy = False

    def both(self, step: str, shape: Shape, left: Any, right: Any) -> None:
        value = _MERGER.walk(shape, left, right)
        if value is not left:
            self.right_only(step, value)

    def right_only(self, step: str, value: Any) -> None:
        if not self._is_copy:
            self._merged = dict(self._merged)
            self._is_copy = True
        self._merged[step] = value

    def result(self) -> Any:
        return self._merged


class _MergedItems(Pairs):
    """Collects the items of a list that change, by their places or by their path steps."""

    def __init__(self, shape: Items, live: list[Any]) -> None:
        self._item = shape.item
        self._live = live
        self._merged: list[Any] = live
        self._left: dict[str, Any] | None = None
        self._right: dict[str, Any] = {}
        self._changed: dict[str, Any] = {}

    def both_at(self, place: int, left: Any, right: Any) -> None:
        value = _MERGER.walk(self._item, left, right)
        if value is not left:
            if self._merged is self._live:
                self._merged = list(self._live)
            self._merged[place] = value

    def index(self, left: dict[str, Any], right: dict[str, Any]) -> None:
        self._left, self._right = left, right

    def both(self, step: str, shape: Shape, left: Any, right: Any) -> None:
        self._changed[step] = _MERGER.walk(shape, left, right)

    def right_only(self, step: str, value: Any) -> None:
        self._changed[step] = value

    def result(self) -> Any:
        if self._left is None:
            return self._merged
        merged = [
            self._changed[name] if name in self._changed else self._left[name]
            for name in _ordered(self._left, self._right)
        ]
        live = self._live
        return live if len(merged) == len(live) and all(map(is_, merged, live)) else merged


_MERGER: Final = _Merger(sees_left=False)


def _ordered(live: dict[str, Any], config: dict[str, Any]) -> Iterable[str]:
    """The order of the items of the merged list, see `merge`."""
    config_names = list(config)
    shared = [name for name in config_names if name in live]
    if len(shared) == len(config_names) and shared == [name for name in live if name in config]:
        return live
    result: list[str] = []
    following = position = 0
    for name in live:
        if name not in config:
            result.append(name)
        elif following < len(shared) and name == shared[following]:
            end = config_names.index(name, position) + 1
            result += config_names[position:end]
            position = end
            following += 1
    return result + config_names[position:]
