"""Drops the fields of disabled features (`gate=` in the `.types` tables) from written objects.

A field stays if the object already uses it: what was stored while the feature was on is not lost.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from fairlead.codec.types.model import Field, ListOf, MapOf, Object, Struct, Type
from fairlead.resources.gates import Gates

# Fields whose removal also removes the object that holds them: always, or if nothing else is left.
_WITH_HOLDER: Final = frozenset({("TypedObjectReference", "namespace")})
_WITH_EMPTY_HOLDER: Final = frozenset({("Lifecycle", "stopSignal")})

# The steps from a kind to a field: the names of fields, and EACH for the items of a list or map.
Path = tuple[str, ...]
EACH: Final = ""


class GatedField(NamedTuple):
    """A field of a disabled feature, with all its places in a kind."""

    name: str
    holders: tuple[Path, ...]  # paths to the objects that have the field
    with_holder: bool
    with_empty_holder: bool


class _Place:
    """A place in a kind at or below which there are fields of disabled features: the names of the
    fields at the place itself, and the places below."""

    __slots__ = ("below", "items", "names")

    def __init__(self) -> None:
        self.names: list[str] = []
        self.below: dict[str, _Place] = {}
        self.items: _Place | None = None  # the items of a list or map

    def add(self, path: Path, name: str) -> None:
        if not path:
            self.names.append(name)
        elif path[0] == EACH:
            if self.items is None:
                self.items = _Place()
            self.items.add(path[1:], name)
        else:
            self.below.setdefault(path[0], _Place()).add(path[1:], name)

    def has_any(self, value: Any) -> bool:
        """Whether a value has any of the fields."""
        if isinstance(value, list):
            items = self.items
            if items is not None:
                for item in value:
                    if items.has_any(item):
                        return True
            return False
        if not isinstance(value, dict):
            return False
        for name in self.names:
            if name in value:
                return True
        for name, place in self.below.items():
            child = value.get(name)
            if child and place.has_any(child):
                return True
        if self.items is not None:
            for item in value.values():
                if self.items.has_any(item):
                    return True
        return False


class DisabledFields:
    """The fields of a kind whose features are off."""

    def __init__(self, fields: tuple[GatedField, ...]) -> None:
        self.fields = fields
        self._root = _Place()
        for field in fields:
            for path in field.holders:
                self._root.add(path, field.name)

    def drop(self, value: Object, old: Object | None) -> None:
        """Drop those from `value` that `old` does not use."""
        if not self._root.has_any(value):
            return
        for field in self.fields:
            if old is not None and _is_used(field, old):
                continue
            for path in field.holders:
                _drop(field, value, path)


NO_FIELDS: Final = DisabledFields(())


def disabled_fields(root: Struct, gates: Gates) -> DisabledFields:
    """The fields below `root` whose gate is off; none for most kinds."""
    places: dict[tuple[str, str], list[Path]] = {}
    relevant: dict[int, bool] = {}
    for struct, path in _places(root, (), frozenset(), gates, relevant):
        for field in struct.fields.values():
            if _is_off(field, gates):
                places.setdefault((struct.name, field.name), []).append(path)
    return DisabledFields(
        tuple(
            GatedField(key[1], tuple(paths), key in _WITH_HOLDER, key in _WITH_EMPTY_HOLDER)
            for key, paths in places.items()
        )
    )


def _is_off(field: Field, gates: Gates) -> bool:
    return bool(field.gate) and not gates[field.gate]


def _places(
    node: Type, path: Path, around: frozenset[int], gates: Gates, relevant: dict[int, bool]
) -> Iterator[tuple[Struct, Path]]:
    """Every struct with a disabled field below `node`. `around` are the structs on the way: types
    that contain themselves are followed once. `relevant` caches whether a struct leads to any."""
    while isinstance(node, (ListOf, MapOf)):
        node, path = node.element, (*path, EACH)
    if not isinstance(node, Struct) or id(node) in around or relevant.get(id(node)) is False:
        return
    is_relevant = False
    if any(_is_off(field, gates) for field in node.fields.values()):
        is_relevant = True
        yield node, path
    inner = around | {id(node)}
    for field in node.fields.values():
        for place in _places(field.type, (*path, field.name), inner, gates, relevant):
            is_relevant = True
            yield place
    relevant[id(node)] = is_relevant


def _is_used(field: GatedField, value: Object) -> bool:
    for path in field.holders:
        for _, _, holder in _holders(value, path):
            if field.name in holder:
                return True
    return False


def _drop(field: GatedField, value: Object, path: Path) -> None:
    for parent, key, holder in list(_holders(value, path)):
        if field.name not in holder:
            continue
        del holder[field.name]
        if field.with_holder or (field.with_empty_holder and not holder):
            del parent[key]


def _holders(value: Object, path: Path) -> Iterator[tuple[Any, Any, Object]]:
    """The objects at a path, each with its parent and its key there."""
    places: list[tuple[Any, Any, Any]] = [(None, None, value)]
    for step in path:
        inner: list[tuple[Any, Any, Any]] = []
        for _, _, node in places:
            if step != EACH:
                child = node.get(step)
                if child is not None:
                    inner.append((node, step, child))
            elif isinstance(node, dict):
                inner += [(node, key, child) for key, child in node.items() if child is not None]
            else:
                inner += [(node, index, child) for index, child in enumerate(node)]
        places = inner
    return iter(places)
