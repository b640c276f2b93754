"""Merges an applied configuration into the live object."""

from __future__ import annotations

from collections.abc import Iterable
from operator import is_
from typing import Any

from fairlead.codec.types.model import Object as Object
from fairlead.codec.types.model import Struct
from fairlead.fields.shapes import Items, Shape, Single, shape_of
from fairlead.fields.values import equal
from fairlead.fields.walk import Pairs, PairWalker


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
        same = equal(left, right) if shape.free else left == right
        return left if same else right

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


_MERGER = _Merger(sees_left=False)


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
