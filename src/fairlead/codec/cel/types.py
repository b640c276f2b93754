"""Declared types, against which expressions are checked, and the maximum size of their values.

`maximum` is the greatest number of elements (items, entries, characters, bytes) of a value, by
which the cost estimator multiplies; None is unknown. It is not part of a type's identity.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple


class Type:
    """A type; `str()` is its name in messages."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Scalar(Type):
    name: str
    maximum: int | None = field(default=0, compare=False)

    def sized(self, maximum: int | None) -> Scalar:
        """The same type with values of at most this many characters or bytes."""
        return replace(self, maximum=maximum)

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class ListType(Type):
    """A list. `keys` determines how lists compare and add: None by position, () as a set of values,
    names as a map keyed by those fields of the elements."""

    element: Type
    maximum: int | None = field(default=None, compare=False)
    keys: tuple[str, ...] | None = field(default=None, compare=False)

    def __str__(self) -> str:
        return f"list({self.element})"


@dataclass(frozen=True, slots=True)
class MapType(Type):
    key: Type
    value: Type
    maximum: int | None = field(default=None, compare=False)

    def __str__(self) -> str:
        return f"map({self.key}, {self.value})"


@dataclass(frozen=True, slots=True)
class ObjectType(Type):
    """An object with declared fields, by their names in expressions; `properties` has the data keys
    of fields whose names differ in the data. Object types with the same name are equal."""

    name: str
    fields: Mapping[str, Type] = field(compare=False)
    properties: Mapping[str, str] = field(default_factory=dict, compare=False)
    maximum: int | None = field(default=0, compare=False)

    def __str__(self) -> str:
        return self.name


class LazyType(ObjectType):
    """An object whose fields are computed when they are first read, see `values.LazyObject`."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class TypeOf(Type):
    """The type of a type, as of `type(1)` and `int`."""

    of: Type

    def __str__(self) -> str:
        return f"type({self.of})"


@dataclass(frozen=True, slots=True)
class OptionalType(Type):
    """A value that may be absent, as of `optional.of(1)`."""

    of: Type

    def __str__(self) -> str:
        return f"optional_type({self.of})"


@dataclass(frozen=True, slots=True)
class Unknown(Type):
    """A type variable: the type parameter of a function, the element type of an empty list."""

    name: str

    def __str__(self) -> str:
        return self.name


class Overload(NamedTuple):
    """One signature of a function; for a method the first type is that of the target."""

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
QUANTITY = Scalar("kubernetes.Quantity")
SEMVER = Scalar("kubernetes.Semver")
NAMED_FORMAT = Scalar("kubernetes.NamedFormat")
IP = Scalar("net.IP")
CIDR = Scalar("net.CIDR")
SCALARS = (BOOL, INT, UINT, DOUBLE, TIMESTAMP, DURATION)  # of the size 1
STRUCTS = frozenset((URL, QUANTITY, SEMVER, NAMED_FORMAT))  # objects without fields
ERROR = Scalar("!error!")  # the type of a node with a reported problem
UNTYPED = Scalar("<nil>")  # the same for undeclared names; compatible with no other type


def maximum_of(type_: Type) -> int | None:
    """The maximum number of elements of a value of this type."""
    return getattr(type_, "maximum", None)
