"""Compares two objects of a type and returns the changes as sets of fields.

Skips identical and equal parts, so the cost depends on the size of the change. Reordering the items
of a keyed or set list is not a change. Touched fields come out in order, see `field_sets.in_order`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from fairlead.codec.types.model import Struct
from fairlead.fields.extract import Extractor, extractor
from fairlead.fields.field_sets import (
    EMPTY,
    LEAF,
    FieldSet,
    level_in_order,
    recursive_difference,
    value_element,
)
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
    indexed_values,
    shape_of,
)
from fairlead.fields.values import equal


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
    touched, removed = _comparer(shape_of(struct)).compare(old, new)
    return Changes(touched or EMPTY, removed or EMPTY)


class _Comparer:
    """Returns the nodes of touched and removed fields of two values that are present on both sides.
    This base class handles values with a single owner."""

    def compare(self, old: Any, new: Any) -> _Nodes:
        return _TOUCHED if old != new else _SAME


class _SingleFree(_Comparer):
    """Compares single-owner values that may contain undescribed data."""

    def compare(self, old: Any, new: Any) -> _Nodes:
        return _SAME if equal(old, new) else _TOUCHED


_made: ShapeCache[Shape, _Comparer] = ShapeCache()


def _comparer(shape: Shape) -> _Comparer:
    known = _made.get(shape)
    return known if known is not None else _made.keep(shape, _make(shape))


def _make(shape: Shape) -> _Comparer:
    if isinstance(shape, (Record, Table)):
        return _Fields(shape)
    if isinstance(shape, Items):
        return _Listed(shape, shape.indexed, shape.item)
    if isinstance(shape, Values):
        return _Listed(shape, indexed_values, SINGLE)
    if isinstance(shape, Free):
        return _Undescribed()
    return _SingleFree() if shape.free else _Comparer()


class _Part:
    """How one field of an object, or one item of a list, is compared."""

    def __init__(self, shape: Shape) -> None:
        self.comparer = _comparer(shape)
        self.whole = extractor(shape, True, True)
        self.exact = not shape.free

    def all_of(self, value: Any) -> FieldSet:
        """The node of a value that only one side has."""
        return (self.whole.extract(value) or LEAF) if value else LEAF


class _Fields(_Comparer):
    """Compares objects field by field."""

    def __init__(self, shape: Record | Table | Free) -> None:
        self._parts: Parts[_Part] = Parts(shape, _Part)
        self._below = extractor(shape, True, False)

    def compare(self, old: Any, new: Any) -> _Nodes:
        if not old or not new:
            return _emptied(old, new, self._below)
        if not isinstance(old, dict) or not isinstance(new, dict):
            raise Untrackable
        before: dict[str, Any] = old
        after: dict[str, Any] = new
        touched: FieldSet = {}
        removed: FieldSet = {}
        for name, value in after.items():
            standing = before.get(name)
            if standing is value and (value is not None or name in before):
                continue
            part = self._parts.of(name)
            if standing is None and name not in before:
                touched["f:" + name] = part.all_of(value)
                continue
            if part.exact and standing == value:
                continue
            more, less = part.comparer.compare(standing, value)
            if more is not None:
                touched["f:" + name] = more
            if less is not None:
                removed["f:" + name] = less
        for name, value in before.items():
            if name not in after:
                removed["f:" + name] = self._parts.of(name).all_of(value)
        if len(touched) > 1:
            touched = level_in_order(touched)
        return touched or None, removed or None


def _emptied(old: Any, new: Any, below: Extractor) -> _Nodes:
    """Compares two values of which at least one is null or empty."""
    if new:
        return below.extract(new), None
    if old:
        return None, below.extract(old)
    return _SAME if equal(old, new) else _TOUCHED


class _Listed(_Comparer):
    """Compares keyed lists and set lists item by item."""

    def __init__(self, shape: Items | Values, indexed: Index, item: Shape) -> None:
        self._below = extractor(shape, True, False)
        self._indexed = indexed
        self._item = _Part(item)
        self._key = shape.key if isinstance(shape, Items) else ""
        self._element = shape.element if isinstance(shape, Items) else value_element

    def compare(self, old: Any, new: Any) -> _Nodes:
        if not old or not new:
            return _emptied(old, new, self._below)
        are_lists = type(old) is list and type(new) is list
        if self._key and are_lists and are_aligned(old, new, self._key):
            return self._compare_aligned(old, new)
        touched: FieldSet = {}
        removed: FieldSet = {}
        before, after = self._indexed(old, False), self._indexed(new, False)
        for name, value in after.items():
            if name not in before:
                touched[name] = self._item.all_of(value)
            elif before[name] is not value:
                more, less = self._item.comparer.compare(before[name], value)
                if more is not None:
                    touched[name] = more
                if less is not None:
                    removed[name] = less
        for name, value in before.items():
            if name not in after:
                removed[name] = self._item.all_of(value)
        if len(touched) > 1:
            touched = level_in_order(touched)
        return touched or None, removed or None

    def _compare_aligned(self, old: list[Any], new: list[Any]) -> _Nodes:
        """Compares lists with the same items in the same order, each with a string key."""
        touched: FieldSet = {}
        removed: FieldSet = {}
        changed = [(b, a) for b, a in zip(old, new, strict=True) if b is not a]
        if len(changed) > 1:
            changed.sort(key=self._key_of)
        for one, other in changed:
            more, less = self._item.comparer.compare(one, other)
            if more is not None:
                touched[self._element(other)] = more
            if less is not None:
                removed[self._element(other)] = less
        return touched or None, removed or None

    def _key_of(self, pair: tuple[Any, Any]) -> str:
        text: str = pair[1][self._key]
        return text


class _Undescribed(_Comparer):
    """Compares values that the model does not describe: objects by field, all others as a whole."""

    def compare(self, old: Any, new: Any) -> _Nodes:
        if isinstance(old, _OBJECT) and isinstance(new, _OBJECT):
            return _free_objects.compare(old, new)
        if equal(old, new):
            return _SAME
        # A value that stops being an object loses its fields; one that becomes one gains them.
        touched: FieldSet = LEAF
        removed: FieldSet | None = None
        if isinstance(new, dict) and new:
            touched = {".": LEAF, **(_below_free.extract(new) or LEAF)}
        if isinstance(old, dict) and old:
            removed = _below_free.extract(old)
        return touched, removed


_OBJECT = (dict, type(None))
_below_free = extractor(FREE, True, False)
_free_objects = _Fields(FREE)
