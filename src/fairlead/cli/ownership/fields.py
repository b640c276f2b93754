"""An object as a tree of fields with their owners."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import orjson

from fairlead.cli.ownership.managers import Manager, shape_of
from fairlead.fields.field_sets import EMPTY, FieldSet, element_text, key_element, value_element

Owners = tuple[Manager, ...]
_HIDDEN = ".metadata.managedFields"


@dataclass(frozen=True, slots=True)
class Field:
    """A value with its path and owners. `step` is the last path element, as in fieldsV1."""

    path: str
    step: str
    value: Any
    owners: Owners
    children: tuple[Field, ...] = ()
    mark: str = ""

    @property
    def is_leaf(self) -> bool:
        return not self.children

    def marked(self, mark: str) -> Field:
        return replace(self, mark=mark)


def field_tree(
    value: Mapping[str, Any], managers: Sequence[Manager], shape: FieldSet | None = None
) -> Field:
    """The tree of an object, without managedFields. A `shape` with more fields than those of the
    managers makes the trees of two versions comparable."""
    nodes = [(manager, manager.fields) for manager in managers if manager.fields]
    known_shape = shape_of(managers) if shape is None else shape
    return Field("", "", value, (), tuple(_children("", value, nodes, known_shape, ())))


def _children(
    path: str,
    value: Any,
    nodes: Sequence[tuple[Manager, FieldSet]],
    shape: FieldSet,
    outer: Owners,
) -> Iterator[Field]:
    for step, item in _steps(value, shape):
        where = path + element_text(step)
        if where == _HIDDEN:
            continue
        below = [(manager, node[step]) for manager, node in nodes if step in node]
        part = shape.get(step, EMPTY)
        own = tuple(manager for manager, node in below if not node or "." in node) or outer
        # A field that is owned as a whole has no path elements below: its owner owns all of it.
        inner = () if any(name != "." for name in part) else own
        yield Field(where, step, item, own, tuple(_children(where, item, below, part, inner)))


def _steps(value: Any, shape: FieldSet) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        for name, item in sorted(value.items()):
            yield f"f:{name}", item
    elif isinstance(value, list):
        keys = sorted({tuple(orjson.loads(step[2:])) for step in shape if step[:2] == "k:"})
        by_value = any(step[:2] == "v:" for step in shape)
        for index, item in enumerate(value):
            yield _item_step(item, keys, by_value, shape) or f"i:{index}", item


def _item_step(
    item: Any, keys: Sequence[tuple[str, ...]], by_value: bool, shape: FieldSet
) -> str | None:
    if not isinstance(item, dict):
        return value_element(item) if by_value else None
    possible = [
        key_element({name: item[name] for name in names})
        for names in keys
        if all(name in item for name in names)
    ]
    return next((step for step in possible if step in shape), next(iter(possible), None))
