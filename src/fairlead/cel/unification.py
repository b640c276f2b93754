"""Which types go where others are asked for, and what unknown types turn out to be."""

from __future__ import annotations

from collections.abc import Sequence

from fairlead.cel.types import (
    DURATION,
    DYN,
    ERROR,
    NULL,
    TIMESTAMP,
    ListType,
    MapType,
    ObjectType,
    Type,
    TypeOf,
    Unknown,
)

_NULLABLE = (TIMESTAMP, DURATION)


class Unification:
    """What is known so far of the unknown types of one expression."""

    def __init__(self) -> None:
        self._known: dict[Unknown, Type] = {}
        self._learnt: list[tuple[Unknown, Type | None]] = []  # with what was known before
        self._count = 0

    def fresh(self) -> Unknown:
        self._count += 1
        return Unknown(f"_var{self._count}")

    def instantiate(self, types: Sequence[Type]) -> list[Type]:
        """The types with new unknowns for their parameters."""
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

    def accepts(self, wanted: Sequence[Type], given: Sequence[Type]) -> bool:
        """Whether all types given can be taken for those wanted; if not, nothing is learnt."""
        self._learnt.clear()
        if len(wanted) == len(given) and all(map(self._accept, wanted, given)):
            return True
        for unknown, before in reversed(self._learnt):
            if before is None:
                del self._known[unknown]
            else:
                self._known[unknown] = before
        return False

    def _accept(self, wanted: Type, given: Type) -> bool:
        if isinstance(wanted, Unknown) and wanted in self._known:
            known = self._found(wanted)
            if not isinstance(known, Unknown):
                if not self._accept(known, given):
                    return False
                self._set(wanted, self._general(known, given))
                return True
        wanted, given = self._found(wanted), self._found(given)
        if wanted is given:
            return True
        if isinstance(given, Unknown):
            return self._learn(given, wanted)
        if isinstance(wanted, Unknown):
            return self._learn(wanted, given)
        if DYN in (wanted, given) or ERROR in (wanted, given):
            return True
        if NULL in (wanted, given):
            other = given if wanted == NULL else wanted
            return other == NULL or isinstance(other, ObjectType) or other in _NULLABLE
        if isinstance(wanted, ListType) and isinstance(given, ListType):
            return self._accept(wanted.element, given.element)
        if isinstance(wanted, MapType) and isinstance(given, MapType):
            return self._accept(wanted.key, given.key) and self._accept(wanted.value, given.value)
        if isinstance(wanted, TypeOf) and isinstance(given, TypeOf):
            return True
        return wanted == given

    def _general(self, one: Type, other: Type) -> Type:
        """Of two types that go together the one that says less."""
        one, other = self._found(one), self._found(other)
        if DYN in (one, other):
            return DYN
        if isinstance(one, ListType) and isinstance(other, ListType):
            element = self._general(one.element, other.element)
            return one if element is one.element else ListType(element, one.most, one.keys)
        if isinstance(one, MapType) and isinstance(other, MapType):
            key = self._general(one.key, other.key)
            value = self._general(one.value, other.value)
            same = key is one.key and value is one.value
            return one if same else MapType(key, value, one.most)
        return other if one == NULL else one

    def join(self, one: Type, other: Type) -> Type | None:
        """The type of both, as two elements of a list have it; None if they do not mix."""
        if self.accepts([one], [other]):
            return self._general(one, other)
        return None

    def _learn(self, unknown: Unknown, type_: Type) -> bool:
        if self._occurs(unknown, type_):
            return False
        self._set(unknown, type_)
        return True

    def _set(self, unknown: Unknown, type_: Type) -> None:
        self._learnt.append((unknown, self._known.get(unknown)))
        self._known[unknown] = type_

    def _occurs(self, unknown: Unknown, type_: Type) -> bool:
        type_ = self._found(type_)
        if isinstance(type_, ListType):
            return self._occurs(unknown, type_.element)
        if isinstance(type_, MapType):
            return self._occurs(unknown, type_.key) or self._occurs(unknown, type_.value)
        return type_ == unknown

    def _found(self, type_: Type) -> Type:
        while isinstance(type_, Unknown) and type_ in self._known:
            type_ = self._known[type_]
        return type_

    def resolved(self, type_: Type, open_as: Type | None = None) -> Type:
        """The type with all that is known put in; `open_as` for what is not."""
        type_ = self._found(type_)
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
