"""Type unification: which types are assignable to others, and the bindings of type variables."""

from __future__ import annotations

from collections.abc import Sequence

from fairlead.codec.cel.types import (
    DURATION,
    DYN,
    ERROR,
    NULL,
    TIMESTAMP,
    URL,
    ListType,
    MapType,
    ObjectType,
    Type,
    TypeOf,
    Unknown,
)

_NULLABLE = (NULL, TIMESTAMP, DURATION, URL)


class Unification:
    """The bindings of the type variables of one expression."""

    def __init__(self) -> None:
        self._known: dict[Unknown, Type] = {}
        self._learnt: list[tuple[Unknown, Type | None]] = []  # with the previous binding
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
        return [self._replaced(type_, new) for type_ in types]

    def _replaced(self, type_: Type, new: dict[Unknown, Type]) -> Type:
        if isinstance(type_, Unknown):
            if type_ not in new:
                new[type_] = self.fresh()
            return new[type_]
        if isinstance(type_, ListType):
            return ListType(self._replaced(type_.element, new), type_.most, type_.keys)
        if isinstance(type_, MapType):
            return MapType(self._replaced(type_.key, new), self._replaced(type_.value, new))
        return type_

    def assign(self, given: Sequence[Type], wanted: Sequence[Type]) -> bool:
        """Whether the given types are assignable to the wanted ones; if not, undoes bindings."""
        self._learnt.clear()
        if len(wanted) == len(given) and all(map(self._assign, given, wanted)):
            return True
        for unknown, before in reversed(self._learnt):
            if before is None:
                del self._known[unknown]
            else:
                self._known[unknown] = before
        return False

    def _assign(self, given: Type, wanted: Type) -> bool:
        given, wanted = self._last(given), self._last(wanted)
        if given is wanted:
            return True
        if isinstance(wanted, Unknown):
            is_valid, was_known = self._substitute(given, wanted)
            if is_valid or was_known:
                return is_valid
        if isinstance(given, Unknown):
            return self._substitute(wanted, given)[0]
        if DYN in (wanted, given) or ERROR in (wanted, given):
            return True
        if given == NULL:
            return isinstance(wanted, ObjectType) or wanted in _NULLABLE
        if isinstance(given, ListType) and isinstance(wanted, ListType):
            return self._assign(given.element, wanted.element)
        if isinstance(given, MapType) and isinstance(wanted, MapType):
            return self._assign(given.key, wanted.key) and self._assign(given.value, wanted.value)
        if isinstance(given, TypeOf) and isinstance(wanted, TypeOf):
            return True
        return given == wanted

    def _substitute(self, type_: Type, unknown: Unknown) -> tuple[bool, bool]:
        """Whether a variable can be bound to a type, and whether it was bound before. A bound
        variable is rebound to the more general one of the two types."""
        if type_ == unknown:
            return True, True
        known = self._known.get(unknown)
        if known is None:
            is_free = not self._occurs(unknown, type_)
            if is_free:
                self._set(unknown, type_)
            return is_free, False
        if known is type_:
            return True, True
        if not self._assign(type_, known):
            return False, True
        general = type_ if _is_as_general(type_, known) else known
        if general is not known and not self._occurs(unknown, general):
            self._set(unknown, general)
        return True, True

    def join(self, one: Type, other: Type) -> Type | None:
        """The common type of two types, as of elements of a list; None if they are incompatible."""
        if self.assign([one], [other]):
            return one if _is_as_general(one, other) else other
        return None

    def _set(self, unknown: Unknown, type_: Type) -> None:
        self._learnt.append((unknown, self._known.get(unknown)))
        self._known[unknown] = type_

    def _occurs(self, unknown: Unknown, type_: Type) -> bool:
        type_ = self.known(type_)
        if isinstance(type_, ListType):
            return self._occurs(unknown, type_.element)
        if isinstance(type_, MapType):
            return self._occurs(unknown, type_.key) or self._occurs(unknown, type_.value)
        return type_ == unknown

    def _last(self, type_: Type) -> Type:
        """The last variable in a chain of variables bound to variables; any other type is returned
        as it is. Shortens long chains."""
        passed: list[Unknown] = []
        while isinstance(type_, Unknown):
            known = self._known.get(type_)
            if not isinstance(known, Unknown):
                break
            passed.append(type_)
            type_ = known
        for unknown in passed[:-1]:
            self._set(unknown, type_)
        return type_

    def known(self, type_: Type) -> Type:
        """The binding of a type that may be a variable; does not resolve its parts."""
        type_ = self._last(type_)
        return self._known.get(type_, type_) if isinstance(type_, Unknown) else type_

    def resolved(self, type_: Type, open_as: Type | None = None) -> Type:
        """The type with all bindings substituted; unbound variables become `open_as`."""
        type_ = self.known(type_)
        if isinstance(type_, Unknown):
            return open_as or type_
        if isinstance(type_, ListType):
            element = self.resolved(type_.element, open_as)
            return type_ if element is type_.element else ListType(element, type_.most, type_.keys)
        if isinstance(type_, MapType):
            key, value = self.resolved(type_.key, open_as), self.resolved(type_.value, open_as)
            same = key is type_.key and value is type_.value
            return type_ if same else MapType(key, value, type_.most)
        if isinstance(type_, TypeOf):
            return TypeOf(self.resolved(type_.of, open_as))
        return type_


def _is_as_general(one: Type, other: Type) -> bool:
    """Whether a type is at least as general as another type that is compatible with it."""
    if one is other or one == DYN or isinstance(one, Unknown):
        return True
    if other == DYN or isinstance(other, Unknown):
        return False
    if isinstance(one, ListType) and isinstance(other, ListType):
        return _is_as_general(one.element, other.element)
    if isinstance(one, MapType) and isinstance(other, MapType):
        return _is_as_general(one.key, other.key) and _is_as_general(one.value, other.value)
    if isinstance(one, TypeOf) and isinstance(other, TypeOf):
        return True
    return one == other
