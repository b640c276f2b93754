"""Which types go where others are asked for, and what unknown types turn out to be."""

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
    """What is known so far of the unknown types of one expression."""

    def __init__(self) -> None:
        self._known: dict[Unknown, Type] = {}
        self._learnt: list[tuple[Unknown, Type | None]] = []  # with what was known before
        self._count = 0

    def fresh(self) -> Unknown:
        self._count += 1
        return Unknown(f"_var{self._count - 1}")

    def skip(self, count: int) -> None:
        """Leaves out so many numbers of unknown types."""
        self._count += count

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

    def assign(self, given: Sequence[Type], wanted: Sequence[Type]) -> bool:
        """Whether all types given can be taken for those wanted; if not, nothing is learnt."""
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
        """Whether an unknown type can be the other one, and whether it was known before. A type
        that is known already becomes the more general one of the two."""
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
        """The type of both, as two elements of a list have it; None if they do not mix."""
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
        """An unknown type that is another unknown one is the latter; else it is itself. Long ways
        from one to the next are cut short."""
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
        """What is known of a type that may be unknown, without looking inside."""
        type_ = self._last(type_)
        return self._known.get(type_, type_) if isinstance(type_, Unknown) else type_

    def resolved(self, type_: Type, open_as: Type | None = None) -> Type:
        """The type with all that is known put in; `open_as` for what is not."""
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
    """Whether a type says as little as another one, which goes together with it, or less."""
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
