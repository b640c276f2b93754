"""The one walk over values and their shapes, for the visitors of this package.

A `Walker` walks one value (to check, extract or prune it), a `PairWalker` two values of one shape
side by side (to compare or merge them). Both know what the shapes mean: which parts a value has,
which fields and items of two values belong together, and which need no look because they are the
same. A visitor is a subclass. It handles a value that has a single owner, and for each object or
list it creates a collector. The walk passes each part to the collector and then takes its result.

All of it is compiled: visitors and collectors are native classes, and a hook is a call in C.
"""

from __future__ import annotations

from typing import Any

from fairlead.codec.types.model import names_in
from fairlead.fields.shapes import (
    Free,
    Items,
    Plan,
    Record,
    Shape,
    Single,
    Table,
    Untrackable,
    are_aligned,
    field_shape,
)


class Parts:
    """Collects the results of the parts of one object or list. A part is named by its path step."""

    def leaf(self, element: str, shape: Single, value: Any) -> None:
        """A field of a struct with a single owner. Only called if the walker `sees_leaves`."""

    def part(self, element: str, shape: Shape, value: Any) -> None:
        """A field, a map entry or a list item."""
        raise NotImplementedError

    def result(self) -> Any:
        raise NotImplementedError


class Walker:
    """Walks one value. `sees_leaves`: collectors get the single-owner fields of structs.
    `in_order`: parts come in the order of a set of fields, else in that of the value."""

    def __init__(self, *, sees_leaves: bool, in_order: bool) -> None:
        self.sees_leaves = sees_leaves
        self.in_order = in_order

    # The hooks of a visitor:

    def single(self, shape: Shape, value: Any) -> Any:
        """The result for a value with a single owner, or one that the model does not describe."""
        raise NotImplementedError

    def fields(self, shape: Record, plan: Plan, value: dict[str, Any]) -> Parts:
        """The collector for a struct."""
        raise NotImplementedError

    def entries(self, shape: Shape, value: Any) -> Parts:
        """The collector for a map, a list or an object that the model does not describe."""
        raise NotImplementedError

    def leaves(self, plan: Plan) -> Any:
        """The result for a struct whose fields all have a single owner, without a collector. Only
        called unless the walker `sees_leaves`."""
        raise NotImplementedError

    def mismatch(self, shape: Shape, value: Any) -> Any:
        """The result for a value that is not of the type."""
        raise Untrackable

    # The walk:

    def walk(self, shape: Shape, value: Any) -> Any:
        if isinstance(shape, Record):
            return self.walk_fields(shape, value)
        if isinstance(shape, Items):
            return self.walk_items(shape, value)
        if isinstance(shape, Table) or (isinstance(shape, Free) and isinstance(value, dict)):
            return self.walk_entries(shape, value)
        return self.single(shape, value)

    def walk_fields(self, shape: Record, value: Any) -> Any:
        if not isinstance(value, dict):
            return self.mismatch(shape, value)
        fields: dict[str, Any] = value
        plan = shape.plan(names_in(fields))
        if not self.sees_leaves:
            if not plan.nested:
                return self.leaves(plan)
            parts = self.fields(shape, plan, fields)
            for nested in plan.nested:
                parts.part(nested.element, nested.shape, fields[nested.name])
            return parts.result()
        parts = self.fields(shape, plan, fields)
        for field in plan.parts:
            below = field.shape
            if isinstance(below, Single):
                parts.leaf(field.element, below, fields[field.name])
            else:
                parts.part(field.element, below, fields[field.name])
        return parts.result()

    def walk_entries(self, shape: Shape, value: Any) -> Any:
        if not isinstance(value, dict):
            return self.mismatch(shape, value)
        entries: dict[str, Any] = value
        below = field_shape(shape, "")
        parts = self.entries(shape, entries)
        for name in sorted(entries) if self.in_order and len(entries) > 1 else list(entries):
            parts.part("f:" + name, below, entries[name])
        return parts.result()

    def walk_items(self, shape: Items, value: Any) -> Any:
        below = shape.item
        parts = self.entries(shape, value)
        index: dict[str, Any] = shape.steps.indexed(value, self.in_order)
        for element, item in index.items():
            parts.part(element, below, item)
        return parts.result()


class Pairs:
    """Collects the results of the parts of two objects or lists. `step` is the name of a field or
    the path step of an item."""

    def both(self, step: str, shape: Shape, left: Any, right: Any) -> None:
        """A part of both, where it is not the same."""
        raise NotImplementedError

    def both_at(self, place: int, left: Any, right: Any) -> None:
        """An item of two lists with the same items in the same order, where it is not the same."""
        raise NotImplementedError

    def index(self, left: dict[str, Any], right: dict[str, Any]) -> None:
        """The items of two other lists by their path steps, before any of them."""

    def left_only(self, step: str, value: Any) -> None:
        """Only called if the walker `sees_left`."""

    def right_only(self, step: str, value: Any) -> None:
        raise NotImplementedError

    def result(self) -> Any:
        raise NotImplementedError


class PairWalker:
    """Walks two values of one shape, skipping parts that are the same on both sides. `sees_left`:
    collectors get the parts that only the left value has. `trusts_equality`: both values match
    their type, so that parts are the same if they are equal; else `1` and `true` may meet."""

    def __init__(self, *, sees_left: bool, trusts_equality: bool = True) -> None:
        self._sees_left = sees_left
        self._trusts_equality = trusts_equality

    # The hooks of a visitor:

    def single(self, shape: Single, left: Any, right: Any) -> Any:
        """The result for two values with a single owner, which may be equal."""
        raise NotImplementedError

    def undescribed(self, left: Any, right: Any) -> Any:
        """The result for two values that the model does not describe, not both objects."""
        raise NotImplementedError

    def emptied(self, shape: Shape, left: Any, right: Any) -> Any:
        """The result for two objects or lists of which at least one is null or empty."""
        raise NotImplementedError

    def fields(self, shape: Shape, left: dict[str, Any]) -> Pairs:
        """The collector for two objects."""
        raise NotImplementedError

    def items(self, shape: Items, left: list[Any], right: list[Any]) -> Pairs:
        """The collector for two lists."""
        raise NotImplementedError

    # The walk:

    def walk(self, shape: Shape, left: Any, right: Any) -> Any:
        if isinstance(shape, Single):
            return self.single(shape, left, right)
        if isinstance(shape, Free) and not (
            isinstance(left, (dict, type(None))) and isinstance(right, (dict, type(None)))
        ):
            return self.undescribed(left, right)
        if not left or not right:
            return self.emptied(shape, left, right)
        if isinstance(shape, Items):
            return self._walk_items(shape, left, right)
        return self._walk_fields(shape, left, right)

    def _walk_fields(self, shape: Shape, left: Any, right: Any) -> Any:
        if not isinstance(left, dict) or not isinstance(right, dict):
            raise Untrackable
        before: dict[str, Any] = left
        after: dict[str, Any] = right
        pairs = self.fields(shape, before)
        shared = 0
        for name, value in after.items():
            old_value = before.get(name)
            if old_value is None and name not in before:
                pairs.right_only(name, value)
                continue
            shared += 1
            if old_value is not value:
                below = field_shape(shape, name)
                is_exact = not below.free and (self._trusts_equality or type(value) is str)
                if not is_exact or old_value != value:
                    pairs.both(name, below, old_value, value)
        if self._sees_left and shared < len(before):
            for name, value in before.items():
                if name not in after:
                    pairs.left_only(name, value)
        return pairs.result()

    def _walk_items(self, shape: Items, left: Any, right: Any) -> Any:
        if type(left) is not list or type(right) is not list:
            raise Untrackable
        pairs = self.items(shape, left, right)
        if are_aligned(left, right, shape.steps.key):
            for place in range(len(left)):
                if left[place] is not right[place]:
                    pairs.both_at(place, left[place], right[place])
            return pairs.result()
        before: dict[str, Any] = shape.steps.indexed(left, False)
        after: dict[str, Any] = shape.steps.indexed(right, False)
        pairs.index(before, after)
        for element, value in after.items():
            if element not in before:
                pairs.right_only(element, value)
            elif before[element] is not value:
                pairs.both(element, shape.item, before[element], value)
        if self._sees_left:
            for element, value in before.items():
                if element not in after:
                    pairs.left_only(element, value)
        return pairs.result()
