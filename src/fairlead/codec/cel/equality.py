"""Equality and addition of values by declared type: lists that are sets or maps, objects that
contain times."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fairlead.codec.cel.data import reader
from fairlead.codec.cel.types import ListType, MapType, ObjectType, Type
from fairlead.codec.cel.values import Frame, equal, work

Equality = Callable[[Any, Any, Frame], bool]


Equalities = dict[str, Equality | None]


def equality(type_: Type, cache: Equalities) -> Equality:
    """The comparison for values of a type; `cache` caches those of objects by their names."""
    return _special(type_, cache) or equal


def _special(type_: Type, cache: Equalities) -> Equality | None:
    """A comparison specific to the type; None if plain equality applies."""
    if isinstance(type_, ListType):
        return _list_equality(type_, cache)
    if isinstance(type_, MapType):
        inner = _special(type_.value, cache)
        return _map_equality(inner) if inner else None
    if isinstance(type_, ObjectType):
        if type_.name not in cache:
            cache[type_.name] = None
            cache[type_.name] = _object_equality(type_, cache)
        return cache[type_.name]
    return None


def _list_equality(type_: ListType, cache: Equalities) -> Equality | None:
    inner = _special(type_.element, cache)
    same = inner or equal
    if type_.keys is not None:
        keys = type_.keys

        def as_set(left: list[Any] | None, right: list[Any] | None, frame: Frame) -> bool:
            if left is None or right is None:
                return left is right
            if len(left) != len(right):
                return False
            index = _Index(right, keys, frame)
            return all(
                (other := index.get(item)) is not _MISSING and same(item, other, frame)
                for item in left
            )

        return as_set
    if inner is None:
        return None

    def same_items(left: list[Any] | None, right: list[Any] | None, frame: Frame) -> bool:
        if left is None or right is None:
            return left is right
        if len(left) != len(right):
            return False
        work(frame, len(left))
        return all(same(item, other, frame) for item, other in zip(left, right, strict=True))

    return same_items


def _map_equality(same: Equality) -> Equality:
    def same_entries(
        left: dict[str, Any] | None, right: dict[str, Any] | None, frame: Frame
    ) -> bool:
        if left is None or right is None:
            return left is right
        if left.keys() != right.keys():
            return False
        work(frame, len(left))
        return all(same(value, right[key], frame) for key, value in left.items())

    return same_entries


_Fields = dict[str, tuple[type | None, Callable[[Any], Any], Equality]]


def _fields(type_: ObjectType, cache: Equalities) -> _Fields:
    """How the fields of an object are converted and compared, by their keys in the data."""
    return {
        type_.properties.get(name, name): (*reader(declared), _special(declared, cache) or equal)
        for name, declared in type_.fields.items()
    }


def _object_equality(type_: ObjectType, cache: Equalities) -> Equality:
    fields: _Fields = {}

    def same(left: dict[str, Any] | None, right: dict[str, Any] | None, frame: Frame) -> bool:
        """A null field equals nothing. Like the reference, ignores undeclared fields that only one
        side has."""
        if left is None or right is None:
            return left is right
        if len(left) != len(right):
            return False
        work(frame, len(left))
        if not fields:  # on first use: most programs never compare objects
            fields.update(_fields(type_, cache))
        for name, value in left.items():
            other = right.get(name)
            if name in fields:
                if value is None or other is None:
                    return False
                kind, read, compare = fields[name]
                value = value if type(value) is kind or kind is None else read(value)
                other = other if type(other) is kind or kind is None else read(other)
                if not compare(value, other, frame):
                    return False
            elif name in right and not equal(value, other, frame):
                return False
        return True

    return same


_MISSING = object()


class _Index:
    """The elements of a set or map list by their value or keys."""

    def __init__(self, items: list[Any], keys: tuple[str, ...], frame: Frame) -> None:
        self._keys = keys
        self._frame = frame
        self._index = {self._key(item): item for item in items}

    def _key(self, item: Any) -> Any:
        if self._keys and type(item) is dict:
            return tuple(frozen(item.get(key), self._frame) for key in self._keys)
        return frozen(item, self._frame)

    def get(self, item: Any) -> Any:
        return self._index.get(self._key(item), _MISSING)

    def merge(self, items: list[Any]) -> list[Any]:
        """The elements, with the new ones in place of equal ones or at the end."""
        for item in items:
            self._index[self._key(item)] = item
        return list(self._index.values())


def frozen(value: Any, frame: Frame) -> Any:
    """A hashable form of a value; true and 1 differ, 1 and 1.0 do not."""
    work(frame, 1)
    if type(value) is list:
        return ("list", *(frozen(item, frame) for item in value))
    if type(value) is dict:
        return ("map", frozenset((key, frozen(item, frame)) for key, item in value.items()))
    return ("bool", value) if type(value) is bool else value


def addition(keys: tuple[str, ...]) -> Callable[[list[Any], list[Any], Frame], list[Any]]:
    """The function that adds another list to a set or map list."""
    return lambda left, right, frame: _Index(left, keys, frame).merge(right)
