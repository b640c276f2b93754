"""Type unification: which types are assignable to others, and the bindings of type variables."""

from __future__ import annotations

from collections.abc import Sequence

from fairlead.codec.cel.types import (
    CIDR,
    DURATION,
    DYN,
    ERROR,
    IP,
    NULL,
    STRUCTS,
    TIMESTAMP,
    ListType,
    MapType,
    ObjectType,
    OptionalType,
    Type,
    TypeOf,
    Unknown,
)

_NULLABLE = (NULL, TIMESTAMP, DURATION, IP, CIDR, *STRUCTS)


class Unification:
    """The bindings of the type variables of one expression."""

    def __init__(self, null_both_ways: bool = False) -> None:
        self._null_both_ways = null_both_ways  # null is assignable from nullable types too
        self._bindings: dict[Unknown, Type] = {}
        self._new_bindings: list[tuple[Unknown, Type | None]] = []  # with the previous binding
        self._count = 0

    def fresh(self) -> Unknown:
        self._count += 1
        return Unknown(f"_var{self._count - 1}")

    def skip(self, count: int) -> None:
        """Skip this many numbers of type variables."""
        self._count += count

    def instantiate(self, types: Sequence[Type]) -> list[Type]:
        """The types with fresh type variables for their parameters."""
        new: dict[Unknown, Type] = {}
        return [self._replace(type_, new) for type_ in types]

    def _replace(self, type_: Type, new: dict[Unknown, Type]) -> Type:
        if isinstance(type_, Unknown):
            if type_ not in new:
                new[type_] = self.fresh()
            return new[type_]
        if isinstance(type_, ListType):
            return ListType(self._replace(type_.element, new), type_.maximum, type_.keys)
        if isinstance(type_, MapType):
            return MapType(self._replace(type_.key, new), self._replace(type_.value, new))
        if isinstance(type_, OptionalType):
            return OptionalType(self._replace(type_.of, new))
        return type_

    def assign(self, actual: Sequence[Type], expected: Sequence[Type]) -> bool:
        """Whether the given types are assignable to the wanted ones; if not, undoes bindings."""
        self._new_bindings.clear()
        if len(expected) == len(actual) and all(map(self._assign, actual, expected)):
            return True
        for unknown, before in reversed(self._new_bindings):
            if before is None:
                del self._bindings[unknown]
            else:
                self._bindings[unknown] = before
        return False

    def _assign(self, actual: Type, expected: Type) -> bool:
        actual, expected = self._last(actual), self._last(expected)
        if actual is expected:
            return True
        if isinstance(expected, Unknown):
            is_valid, was_known = self._substitute(actual, expected)
            if is_valid or was_known:
                return is_valid
        if isinstance(actual, Unknown):
            return self._substitute(expected, actual)[0]
        if DYN in (expected, actual) or ERROR in (expected, actual):
            return True
        if actual == NULL:
            return _is_nullable(expected)
        if expected == NULL and self._null_both_ways:
            return _is_nullable(actual)
        if isinstance(actual, ListType) and isinstance(expected, ListType):
            return self._assign(actual.element, expected.element)
        if isinstance(actual, MapType) and isinstance(expected, MapType):
            return self._assign(actual.key, expected.key) and self._assign(
                actual.value, expected.value
            )
        if isinstance(actual, OptionalType) and isinstance(expected, OptionalType):
            return self._assign(actual.of, expected.of)
        if isinstance(actual, TypeOf) and isinstance(expected, TypeOf):
            return True
        return actual == expected

    def _substitute(self, type_: Type, unknown: Unknown) -> tuple[bool, bool]:
        """Whether a variable can be bound to a type, and whether it was bound before. A bound
        variable is rebound to the more general one of the two types."""
        if type_ == unknown:
            return True, True
        assigned = self._bindings.get(unknown)
        if assigned is None:
            is_free = not self._occurs(unknown, type_)
            if is_free:
                self._set(unknown, type_)
            return is_free, False
        if assigned is type_:
            return True, True
        if not self._assign(type_, assigned):
            return False, True
        general = type_ if _is_as_general(type_, assigned) else assigned
        if general is not assigned and not self._occurs(unknown, general):
            self._set(unknown, general)
        return True, True

    def join(self, type_: Type, other: Type) -> Type | None:
        """The common type of two types, as of elements of a list; None if they are incompatible."""
        if self.assign([type_], [other]):
            return type_ if _is_as_general(type_, other) else other
        return None

    def _set(self, unknown: Unknown, type_: Type) -> None:
        self._new_bindings.append((unknown, self._bindings.get(unknown)))
        self._bindings[unknown] = type_

    def _occurs(self, unknown: Unknown, type_: Type) -> bool:
        type_ = self.binding_of(type_)
        if isinstance(type_, ListType):
            return self._occurs(unknown, type_.element)
        if isinstance(type_, MapType):
            return self._occurs(unknown, type_.key) or self._occurs(unknown, type_.value)
        if isinstance(type_, OptionalType):
            return self._occurs(unknown, type_.of)
        return type_ == unknown

    def _last(self, type_: Type) -> Type:
        """The last variable in a chain of variables bound to variables; any other type is returned
        as it is. Shortens long chains."""
        passed: list[Unknown] = []
        while isinstance(type_, Unknown):
            assigned = self._bindings.get(type_)
            if not isinstance(assigned, Unknown):
                break
            passed.append(type_)
            type_ = assigned
        for unknown in passed[:-1]:
            self._set(unknown, type_)
        return type_

    def binding_of(self, type_: Type) -> Type:
        """The binding of a type that may be a variable; does not resolve its parts."""
        type_ = self._last(type_)
        return self._bindings.get(type_, type_) if isinstance(type_, Unknown) else type_

    def resolved(self, type_: Type, open_as: Type | None = None) -> Type:
        """The type with all bindings substituted; unbound variables become `open_as`."""
        type_ = self.binding_of(type_)
        if isinstance(type_, Unknown):
            return open_as or type_
        if isinstance(type_, ListType):
            element = self.resolved(type_.element, open_as)
            return (
                type_ if element is type_.element else ListType(element, type_.maximum, type_.keys)
            )
        if isinstance(type_, MapType):
            key, value = self.resolved(type_.key, open_as), self.resolved(type_.value, open_as)
            same = key is type_.key and value is type_.value
            return type_ if same else MapType(key, value, type_.maximum)
        if isinstance(type_, OptionalType):
            return OptionalType(self.resolved(type_.of, open_as))
        if isinstance(type_, TypeOf):
            return TypeOf(self.resolved(type_.of, open_as))
        return type_


def _is_nullable(type_: Type) -> bool:
    return isinstance(type_, ObjectType | OptionalType) or type_ in _NULLABLE


def _is_as_general(type_: Type, other: Type) -> bool:
    """Whether a type is at least as general as another type that is compatible with it."""
    if type_ is other or type_ == DYN or isinstance(type_, Unknown):
        return True
    if other == DYN or isinstance(other, Unknown):
        return False
    if isinstance(type_, ListType) and isinstance(other, ListType):
        return _is_as_general(type_.element, other.element)
    if isinstance(type_, MapType) and isinstance(other, MapType):
        return _is_as_general(type_.key, other.key) and _is_as_general(type_.value, other.value)
    if isinstance(type_, OptionalType) and isinstance(other, OptionalType):
        return _is_as_general(type_.of, other.of)
    if isinstance(type_, TypeOf) and isinstance(other, TypeOf):
        return True
    return type_ == other
