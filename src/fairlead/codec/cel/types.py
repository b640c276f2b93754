"""Declared types: what an expression is checked against and how large its values may be.

`most` is the most elements (items, entries, characters, bytes) a value can have, which the cost
estimator multiplies by; None is unknown. It is no part of a type's identity.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple


class Type:
    """A type as messages print it with str()."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Scalar(Type):
    name: str
    most: int | None = field(default=0, compare=False)

    def sized(self, most: int | None) -> Scalar:
        """The same type with values of at most so many characters or bytes."""
        return replace(self, most=most)

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class ListType(Type):
    """A list; `keys` says how it compares and adds: None as it stands, () as a set of its
    values, names as a map by those fields of its elements."""

    element: Type
    most: int | None = field(default=None, compare=False)
    keys: tuple[str, ...] | None = field(default=None, compare=False)

    def __str__(self) -> str:
        return f"list({self.element})"


@dataclass(frozen=True, slots=True)
class MapType(Type):
    key: Type
    value: Type
    most: int | None = field(default=None, compare=False)

    def __str__(self) -> str:
        return f"map({self.key}, {self.value})"


@dataclass(frozen=True, slots=True)
class ObjectType(Type):
    """An object with known fields, by the names that expressions use; `properties` has the names
    in the data of the fields whose names differ there. Two are the same if their names are."""

    name: str
    fields: Mapping[str, Type] = field(compare=False)
    properties: Mapping[str, str] = field(default_factory=dict, compare=False)
    most: int | None = field(default=0, compare=False)

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class TypeOf(Type):
    """The type of a type, as `type(1)` and `int` have it."""

    of: Type

    def __str__(self) -> str:
        return f"type({self.of})"


@dataclass(frozen=True, slots=True)
class Unknown(Type):
    """A type to be found out: the parameter of a function, the element of an empty list."""

    name: str

    def __str__(self) -> str:
        return self.name


class Overload(NamedTuple):
    """One way to call a function; of a method the first type is its target's."""

    types: tuple[Type, ...]
    result: Type
    method: bool = False


BOOL = Scalar("bool")
INT = Scalar("int")
UINT = Scalar("uint")
DOUBLE = Scalar("double")
STRING = Scalar("string", None)
BYTES = Scalar("bytes", None)
TIMESTAMP = Scalar("timestamp")
DURATION = Scalar("duration")
NULL = Scalar("null")
DYN = Scalar("dyn", None)
URL = Scalar("kubernetes.URL")
ERROR = Scalar("!error!")  # what has no type because a problem was reported
UNTYPED = Scalar("<nil>")  # the same, of what is not even declared: it goes together with nothing


def most_of(type_: Type) -> int | None:
    """The most elements of a value of this declared type."""
    return getattr(type_, "most", None)
