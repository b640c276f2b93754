"""Objects whose lists have several items with one key. Ownership treats such items as one, which
has no fields of its own: they are replaced by an item with only the key fields, and put back."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable
from typing import Any

from fairlead.codec.types.model import Object, Struct
from fairlead.fields.entries import Identity, ManagedEntry, fields_of, identity_of, ordered
from fairlead.fields.field_sets import (
    LEAF,
    FieldSet,
    Path,
    contains,
    difference,
    of,
    ordered_union,
)
from fairlead.fields.shapes import Items, KeySteps, Record, Shape, Steps, Table, shape_of


class Duplicates:
    """An object without duplicates (`value`), and the items that were replaced, by their path.
    Raises `Untrackable` if an item has no key."""

    def __init__(self, struct: Struct, value: Object) -> None:
        self._shape = shape_of(struct)
        self._replaced: dict[Path, list[Any]] = {}
        self.value: Object = self._without(self._shape, value, ())

    def __bool__(self) -> bool:
        return bool(self._replaced)

    def _without(self, shape: Shape, value: Any, path: Path) -> Any:
        if isinstance(shape, Items) and isinstance(value, list):
            return self._list_without(shape, value, path)
        if not isinstance(value, dict) or not isinstance(shape, Record | Table):
            return value
        result = {}
        for name, item in value.items():
            inner = _member(shape, name)
            result[name] = (
                item if inner is None else self._without(inner, item, (*path, f"f:{name}"))
            )
        return result

    def _list_without(self, shape: Items, items: list[Any], path: Path) -> list[Any]:
        by_step: dict[str, list[Any]] = {}
        for item in items:
            by_step.setdefault(shape.steps.element(item), []).append(item)
        result = []
        for step, group in by_step.items():
            if len(group) == 1:
                result.append(self._without(shape.item, group[0], (*path, step)))
            else:
                self._replaced[*path, step] = group
                result.append(_key_of(shape.steps, group[0]))
        return result

    def set_by(self, config: Object) -> list[Path]:
        """The paths of items that a configuration sets."""
        return [path for path in self._replaced if _find(self._shape, config, path) is not None]

    def changed_since(self, old: Duplicates | None) -> list[Path]:
        """The paths of items here that an older object has not, or with another content."""
        return [
            path
            for path, items in self._replaced.items()
            if old is None or old._replaced.get(path) != items
        ]

    def with_owned_keys(self, taken: list[Path]) -> Object:
        """The object; managers of replaced items own the key fields that stand for them, and lose
        those at `taken`."""
        metadata = self.value.get("metadata") or {}
        entries = metadata.get("managedFields")
        if not entries:
            return self.value
        paths = [path for path in self._replaced if path not in taken]
        owned = [
            self._with_nodes(left, self._key_fields, paths)
            for entry in entries
            if fields_of(left := _without_paths(entry, taken))
        ]
        return {**self.value, "metadata": {**metadata, "managedFields": owned}}

    def entries_without_keys(
        self, entries: list[ManagedEntry], taken: Collection[Path] = ()
    ) -> list[ManagedEntry]:
        """Entries in which the items, except those at `taken`, have no fields."""
        paths = [path for path in self._replaced if path not in taken]
        return [self._with_nodes(entry, lambda _: LEAF, paths) for entry in entries]

    def _key_fields(self, path: Path) -> FieldSet:
        first = self._replaced[path][0]
        names = json.loads(path[-1][2:]) if isinstance(first, dict) else ()
        return {".": LEAF, **{f"f:{name}": LEAF for name in sorted(names) if name in first}}

    def _with_nodes(
        self, entry: ManagedEntry, node: Callable[[Path], FieldSet], paths: Iterable[Path]
    ) -> ManagedEntry:
        fields = before = fields_of(entry)
        for path in paths:
            fields = _with_node(fields, path, node(path))
        return entry if fields is before else {**entry, "fieldsV1": fields}

    def put_back(self, result: Object, taken: list[Path]) -> Object:
        """An object with the items again, except those at `taken`."""
        for path, items in self._replaced.items():
            if path not in taken:
                result = _expanded(self._shape, result, path, items)
        return result


def _member(shape: Record | Table, name: str) -> Shape | None:
    if isinstance(shape, Table):
        return shape.value
    part = shape.members.get(name)
    return part.shape if part is not None else None


def _key_of(steps: Steps, item: Any) -> Any:
    if not isinstance(steps, KeySteps):
        return item
    return {name: item[name] for name in steps.names if name in item}


def _without_paths(entry: ManagedEntry, paths: list[Path]) -> ManagedEntry:
    fields = fields_of(entry)
    if not any(contains(fields, path) for path in paths):
        return entry
    return {**entry, "fieldsV1": difference(fields, of(*paths))}


def taken_over(
    entries: list[ManagedEntry], identity: Identity, new_entry: ManagedEntry, paths: list[Path]
) -> list[ManagedEntry]:
    """The entries after a manager has written the items at the paths."""
    result = []
    for item in entries:
        if identity_of(item) == identity:
            fields = ordered_union(fields_of(item), fields_of(new_entry))
            new_entry = {**new_entry, "fieldsV1": fields}
        elif fields_of(remaining := _without_paths(item, paths)):
            result.append(remaining)
    return ordered([*result, new_entry])


def _with_node(fields: FieldSet, path: Path, node: FieldSet) -> FieldSet:
    """A set with another node at a path, if it has one there."""
    if path[0] not in fields:
        return fields
    if len(path) > 1:
        node = _with_node(fields[path[0]], path[1:], node)
    return fields if node is fields[path[0]] else {**fields, path[0]: node}


def _find(shape: Shape, value: Any, path: Path) -> Any:
    """The value at a path; None if there is none."""
    if not path:
        return value
    step = path[0]
    if isinstance(shape, Items):
        for item in value if isinstance(value, list) else ():
            if shape.steps.element(item) == step:
                return _find(shape.item, item, path[1:])
        return None
    inner = _member(shape, step[2:]) if isinstance(shape, Record | Table) else None
    if inner is None or not isinstance(value, dict) or value.get(step[2:]) is None:
        return None
    return _find(inner, value[step[2:]], path[1:])


def _expanded(shape: Shape, value: Any, path: Path, items: list[Any]) -> Any:
    """A value with the item at a path replaced by several."""
    step = path[0]
    if isinstance(shape, Items):
        result: list[Any] = []
        for item in value if isinstance(value, list) else ():
            if shape.steps.element(item) != step:
                result.append(item)
            elif len(path) == 1:
                result += items
            else:
                result.append(_expanded(shape.item, item, path[1:], items))
        return result
    inner = _member(shape, step[2:]) if isinstance(shape, Record | Table) else None
    if inner is None or not isinstance(value, dict) or value.get(step[2:]) is None:
        return value
    return {**value, step[2:]: _expanded(inner, value[step[2:]], path[1:], items)}
