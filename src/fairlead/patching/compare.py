"""What changed between two objects of a type, as sets of fields.

Only the parts that differ are walked: what is the same object, or equal, is passed over, so the
cost goes with the size of the change. The order of items in a keyed or set list is no change.
What is touched comes out in order, see `field_sets.in_order`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from fairlead.patching.extract import Extract, extractor
from fairlead.patching.field_sets import (
    EMPTY,
    LEAF,
    FieldSet,
    level_in_order,
    recursive_difference,
    value_element,
)
from fairlead.patching.shapes import (
    FREE,
    SINGLE,
    Free,
    Index,
    Items,
    Record,
    Shape,
    Table,
    Untrackable,
    Values,
    are_aligned,
    indexed_values,
    shape_of,
)
from fairlead.patching.values import equal
from fairlead.schema.model import Struct


class Changes(NamedTuple):
    """`touched` holds what the newer object has added or set anew, `removed` what it lacks."""

    touched: FieldSet
    removed: FieldSet

    def outside(self, ignored: FieldSet) -> Changes:
        """The changes without those at or below some fields."""
        return Changes(
            recursive_difference(self.touched, ignored),
            recursive_difference(self.removed, ignored),
        )

    @property
    def none(self) -> bool:
        return not self.touched and not self.removed


NO_CHANGES = Changes(EMPTY, EMPTY)

_Nodes = tuple[FieldSet | None, FieldSet | None]
_Compare = Callable[[Any, Any], _Nodes]
"""The nodes of touched and removed fields at two values that are there and differ."""
_SAME: _Nodes = (None, None)
_TOUCHED: _Nodes = (LEAF, None)


def compare(struct: Struct, old: dict[str, Any], new: dict[str, Any]) -> Changes:
    """The changes that make `new` out of `old`. Raises `Untrackable`."""
    if old is new:
        return NO_CHANGES
    touched, removed = _comparer(shape_of(struct))(old, new)
    return Changes(touched or EMPTY, removed or EMPTY)


_KEPT = 50_000
_made: dict[Shape, _Compare] = {}


def _comparer(shape: Shape) -> _Compare:
    known = _made.get(shape)
    if known is None:
        if len(_made) >= _KEPT:
            _made.clear()
        known = _made[shape] = _make(shape)
    return known


def _make(shape: Shape) -> _Compare:
    if isinstance(shape, Record):
        return _object(shape, {}, None)
    if isinstance(shape, Table):
        return _object(shape, {}, _Part(shape.value))
    if isinstance(shape, Items):
        return _list(shape, shape.indexed, shape.item)
    if isinstance(shape, Values):
        return _list(shape, indexed_values, SINGLE)
    if isinstance(shape, Free):
        return _free
    return _single_free if shape.free else _single


class _Part:
    """How one field of an object, or one item of a list, is compared."""

    __slots__ = ("compare", "exact", "whole")

    def __init__(self, shape: Shape) -> None:
        self.compare: _Compare = _comparer(shape)
        self.whole: Extract = extractor(shape, True, True)
        self.exact = not shape.free


def _single(old: Any, new: Any) -> _Nodes:
    return _TOUCHED if old != new else _SAME


def _single_free(old: Any, new: Any) -> _Nodes:
    return _SAME if equal(old, new) else _TOUCHED


def _object(shape: Shape, parts: dict[str, _Part], same: _Part | None) -> _Compare:
    """Compares objects whose fields are all compared in the `same` way, or each in its own."""
    below = extractor(shape, True, False)

    def part(name: str) -> _Part:
        # Made when first met, because a type may contain itself.
        assert isinstance(shape, Record)
        member = shape.members.get(name)
        if member is None:
            return _UNKNOWN_FREE if shape.open else _UNKNOWN
        made = parts[name] = _Part(member.shape)
        return made

    def compare(old: Any, new: Any) -> _Nodes:
        if not old or not new:
            return _emptied(old, new, below)
        if type(old) is not dict or type(new) is not dict:
            raise Untrackable
        touched: FieldSet = {}
        removed: FieldSet = {}
        for name, value in new.items():
            before = old.get(name)
            if before is value and (value is not None or name in old):
                continue
            known = same or parts.get(name) or part(name)
            if before is None and name not in old:
                touched["f:" + name] = (known.whole(value) or LEAF) if value else LEAF
                continue
            if known.exact and before == value:
                continue
            more, less = known.compare(before, value)
            if more is not None:
                touched["f:" + name] = more
            if less is not None:
                removed["f:" + name] = less
        if not old.keys() <= new.keys():
            for name, value in old.items():
                if name not in new:
                    known = same or parts.get(name) or part(name)
                    removed["f:" + name] = (known.whole(value) or LEAF) if value else LEAF
        if len(touched) > 1:
            touched = level_in_order(touched)
        return touched or None, removed or None

    return compare


def _emptied(old: Any, new: Any, below: Extract) -> _Nodes:
    """Two values that are there on both sides, at least one of them null or empty."""
    if new:
        return below(new), None
    if old:
        return None, below(old)
    return _SAME if old == new else _TOUCHED


def _list(shape: Items | Values, indexed: Index, item_shape: Shape) -> _Compare:
    below = extractor(shape, True, False)
    key, element = (shape.key, shape.element) if isinstance(shape, Items) else ("", value_element)
    item = _Part(item_shape)
    part, whole = item.compare, item.whole

    def compare(old: Any, new: Any) -> _Nodes:
        if not old or not new:
            return _emptied(old, new, below)
        touched: FieldSet = {}
        removed: FieldSet = {}
        if key and type(old) is list and type(new) is list and are_aligned(old, new, key):
            changed = [(b, a) for b, a in zip(old, new, strict=True) if b is not a]
            if len(changed) > 1:
                changed.sort(key=lambda pair: pair[1][key])
            for one, other in changed:
                more, less = part(one, other)
                if more is not None:
                    touched[element(other)] = more
                if less is not None:
                    removed[element(other)] = less
            return touched or None, removed or None
        before, after = indexed(old, False), indexed(new, False)
        for name, value in after.items():
            if name not in before:
                touched[name] = (whole(value) or LEAF) if value else LEAF
            elif before[name] is not value:
                more, less = part(before[name], value)
                if more is not None:
                    touched[name] = more
                if less is not None:
                    removed[name] = less
        for name, value in before.items():
            if name not in after:
                removed[name] = (whole(value) or LEAF) if value else LEAF
        if len(touched) > 1:
            touched = level_in_order(touched)
        return touched or None, removed or None

    return compare


def _free(old: Any, new: Any) -> _Nodes:
    """Values the model does not describe: objects are compared field by field, all else whole."""
    if isinstance(old, _OBJECT) and isinstance(new, _OBJECT):
        return _free_objects(old, new)
    if equal(old, new):
        return _SAME
    # What turns from an object into something else loses its fields, and the other way round.
    touched, removed = LEAF, None
    if isinstance(new, dict) and new:
        touched = {".": LEAF, **(_below_free(new) or LEAF)}
    if isinstance(old, dict) and old:
        removed = _below_free(old)
    return touched, removed


_OBJECT = (dict, type(None))
_below_free = extractor(FREE, True, False)
_UNKNOWN = _Part(SINGLE)
_UNKNOWN_FREE = _Part(FREE)
_free_objects = _object(FREE, {}, _UNKNOWN_FREE)
