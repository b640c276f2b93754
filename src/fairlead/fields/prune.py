"""Removes fields that a manager applied before and no longer applies."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from fairlead.codec.types.model import Object as Object
from fairlead.codec.types.model import Struct
from fairlead.fields.entries import Versions
from fairlead.fields.field_sets import EMPTY, LEAF, FieldSet, difference, intersection, union
from fairlead.fields.shapes import (
    Items,
    Plan,
    Record,
    Shape,
    Single,
    shape_of,
    step_shape,
)
from fairlead.fields.typed_values import applied_fields
from fairlead.fields.walk import Parts, Walker


def pruned(
    versions: Versions,
    merged: Object,
    api_version: str,
    last: tuple[str, FieldSet],
    owned: Iterable[tuple[str, FieldSet]],
) -> Object:
    """The merged object without the fields of `last` (a version and a set) that have no owner now.

    `owned` holds the versions and fields of all managers, with the new set of the applying manager.
    Unowned fields below a removed field are removed with it; fields of other managers stay, and so
    do all their parents.
    """
    last_version, last_fields = last
    struct = versions.struct(last_version)
    if struct is None:
        return merged
    merged = versions.convert(merged, last_version)
    given_up = with_parents(struct, last_fields)
    everything = _all_fields(struct, merged)
    remaining = without(struct, merged, given_up)

    by_version: dict[str, FieldSet] = {last_version: EMPTY}
    for version, fields in owned:
        by_version[version] = union(by_version.get(version, EMPTY), fields)
    # `last_version` comes first: converting `remaining` may need the fields that are owned in it.
    for version, fields in by_version.items():
        kind = versions.struct(version)
        if kind is None:
            continue
        converted = versions.convert(merged, version)
        needed = union(
            _all_fields(kind, versions.convert(remaining, version)), with_parents(kind, fields)
        )
        present = everything if converted is merged else _all_fields(kind, converted)
        remaining = without(kind, converted, difference(present, needed))

    removed = difference(everything, _all_fields(struct, versions.convert(remaining, last_version)))
    return versions.convert(without(struct, merged, intersection(removed, given_up)), api_version)


def _all_fields(struct: Struct, value: Object) -> FieldSet:
    return with_parents(struct, applied_fields(struct, value))


def without(struct: Struct, value: Object, fields: FieldSet) -> Object:
    """The object without the fields of a set and everything below them.

    A map or list that loses all its entries becomes null: decoding the object later decides whether
    it stays as an empty one or is dropped.
    """
    return _Remover(fields).walk(shape_of(struct), value) or {}


class _Remover(Walker):
    """Returns a value without the fields of a node of a set."""

    def __init__(self, node: FieldSet) -> None:
        super().__init__(sees_leaves=True, in_order=False)
        self.node = node

    def single(self, shape: Shape, value: Any) -> Any:
        return value

    def mismatch(self, shape: Shape, value: Any) -> Any:
        return value

    def fields(self, shape: Record, plan: Plan, value: Object) -> Parts:
        return _RemainingFields(self.node)

    def entries(self, shape: Shape, value: Any) -> Parts:
        return (
            _RemainingItems(self.node) if isinstance(shape, Items) else _RemainingFields(self.node)
        )

    def walk_items(self, shape: Items, value: Any) -> Any:
        return super().walk_items(shape, value) if isinstance(value, list) else value


class _RemainingFields(Parts):
    """Collects the fields of an object that stay."""

    def __init__(self, node: FieldSet) -> None:
        self._node = node
        self._remaining: Object = {}

    def leaf(self, element: str, shape: Single, value: Any) -> None:
        self.part(element, shape, value)

    def part(self, element: str, shape: Shape, value: Any) -> None:
        node: FieldSet | None = self._node.get(element)
        if node is None:
            self._remaining[element[2:]] = value
        elif node and "." not in node:
            self._remaining[element[2:]] = _Remover(node).walk(shape, value)

    def result(self) -> Any:
        return self._remaining or None


class _RemainingItems(Parts):
    """Collects the items of a list that stay."""

    def __init__(self, node: FieldSet) -> None:
        self._node = node
        self._remaining: list[Any] = []

    def part(self, element: str, shape: Shape, value: Any) -> None:
        node: FieldSet | None = self._node.get(element)
        if node is None:
            self._remaining.append(value)
        elif node and "." not in node:
            self._remaining.append(_Remover(node).walk(shape, value))

    def result(self) -> Any:
        return self._remaining or None


def with_parents(struct: Struct, fields: FieldSet) -> FieldSet:
    """Add every declared field on the way to a path of the set.

    Owning `.spec.replicas` does not include owning `.spec`. Pruning needs the structs around an
    owned field too, so it counts them as owned.
    """
    return _with_parent_nodes(shape_of(struct), fields)


def _with_parent_nodes(shape: Shape, fields: FieldSet) -> FieldSet:
    result: FieldSet = {}
    for element, node in fields.items():
        if node:
            node = _with_parent_nodes(step_shape(shape, element), node)
            if "." not in node and isinstance(shape, Record) and element[2:] in shape.members:
                node = {".": LEAF, **node}
        result[element] = node
    return result
