"""Indexes of free volumes and waiting claims.

They follow commits and may lag behind writes in progress, so callers must read the object again
before acting.
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import NamedTuple

from sortedcontainers import SortedList

from fairlead.controllers.volumes.facts import (
    attributes_class_of,
    claim_key_of,
    class_of,
    is_going,
    modes_of,
    size_of,
    size_wanted,
    volume_mode_of,
)
from fairlead.controllers.volumes.names import AVAILABLE, Annotations, annotations_of, phase_of
from fairlead.operations.api import Object

_Sort = tuple[str, str, str]  # storage class, attributes class and volume mode
_Sizes = SortedList[tuple[Decimal, str]]


class FreeVolumes:
    """Available volumes by classes, volume mode, access modes and size."""

    def __init__(self) -> None:
        self._sizes_by_sort: dict[_Sort, dict[frozenset[str], _Sizes]] = {}
        self._positions: dict[str, tuple[_Sort, frozenset[str], Decimal]] = {}

    def put(self, name: str, class_name: str, volume: Object) -> None:
        self.drop(name)
        sort, modes, size = _sort(class_name, volume), modes_of(volume), size_of(volume)
        self._sizes_by_sort.setdefault(sort, {}).setdefault(modes, SortedList()).add((size, name))
        self._positions[name] = sort, modes, size

    def drop(self, name: str) -> None:
        position = self._positions.pop(name, None)
        if position is None:
            return
        sort, modes, size = position
        sizes_by_modes = self._sizes_by_sort[sort]
        sizes_by_modes[modes].remove((size, name))
        if not sizes_by_modes[modes]:
            del sizes_by_modes[modes]
        if not sizes_by_modes:
            del self._sizes_by_sort[sort]

    def matching(self, claim: Object, class_name: str) -> Iterator[str]:
        """Names of the volumes that satisfy a claim: fewest access modes first, then the smallest.
        The index must not change during iteration."""
        claim_modes, minimum = modes_of(claim), (size_wanted(claim), "")
        sizes_by_modes = self._sizes_by_sort.get(_sort(class_name, claim), {})
        fitting = (modes for modes in sizes_by_modes if modes >= claim_modes)
        for modes in sorted(fitting, key=lambda modes: (len(modes), sorted(modes))):
            for _, name in sizes_by_modes[modes].irange(minimum):
                yield name


def _sort(class_name: str, value: Object) -> _Sort:
    return class_name, attributes_class_of(value), volume_mode_of(value)


class Links:
    """A many-to-one mapping with reverse lookup."""

    def __init__(self) -> None:
        self._named: dict[str, str] = {}
        self._by_name: dict[str, dict[str, None]] = {}

    def set(self, key: str, name: str | None) -> None:
        """Set the name that a key refers to. An unchanged name keeps the key's position."""
        before = self._named.get(key)
        if before == name:
            return
        if before is not None:
            del self._named[key]
            keys = self._by_name[before]
            del keys[key]
            if not keys:
                del self._by_name[before]
        if name is not None:
            self._named[key] = name
            self._by_name.setdefault(name, {})[key] = None

    def keys_of(self, name: str) -> tuple[str, ...]:
        """The keys that refer to a name, oldest first."""
        return tuple(self._by_name.get(name, ()))


class _ClaimRequirements(NamedTuple):
    """A claim's requirements without its selector."""

    size: Decimal
    sort: _Sort
    modes: frozenset[str]


class WaitingClaims:
    """Claims without a volume, by class, oldest first."""

    def __init__(self) -> None:
        self._wishes: dict[str, dict[str, _ClaimRequirements]] = {}
        self._classes: dict[str, str] = {}

    def __contains__(self, key: str) -> bool:
        return key in self._classes

    def put(self, key: str, class_name: str, claim: Object) -> None:
        if self._classes.get(key) != class_name:
            self.drop(key)
            self._classes[key] = class_name
        requirements = _ClaimRequirements(
            size_wanted(claim), _sort(class_name, claim), modes_of(claim)
        )
        self._wishes.setdefault(class_name, {})[key] = requirements

    def drop(self, key: str) -> None:
        name = self._classes.pop(key, None)
        if name is not None:
            wishes = self._wishes[name]
            del wishes[key]
            if not wishes:
                del self._wishes[name]

    def of_class(self, class_name: str) -> list[str]:
        return list(self._wishes.get(class_name, ()))

    def fitting(self, volume: Object, class_name: str) -> list[str]:
        """The claims whose size and modes a volume satisfies."""
        size, sort, modes = size_of(volume), _sort(class_name, volume), modes_of(volume)
        return [
            key
            for key, requirements in self._wishes.get(class_name, {}).items()
            if requirements.size <= size
            and requirements.sort == sort
            and requirements.modes <= modes
        ]


class Index:
    """`reserved` maps a claim to the volumes reserved for it, `named` a volume to the claims that
    name it."""

    def __init__(self, names: Annotations) -> None:
        self._names = names
        self.free = FreeVolumes()
        self.reserved = Links()
        self.named = Links()
        self.waiting = WaitingClaims()

    def update_volume(self, name: str, volume: Object | None) -> None:
        """Update a volume, or remove it if None."""
        if volume is None:
            self.free.drop(name)
            self.reserved.set(name, None)
            return
        self.reserved.set(name, claim_key_of(volume))
        if claim_key_of(volume) is None and phase_of(volume) == AVAILABLE and not is_going(volume):
            self.free.put(name, class_of(volume, self._names), volume)
        else:
            self.free.drop(name)

    def update_claim(self, key: str, claim: Object | None) -> None:
        """Update a claim, or remove it if None."""
        named = claim["spec"].get("volumeName") if claim is not None else None
        self.named.set(key, named or None)
        if claim is None or named or self._names.bind_completed in annotations_of(claim):
            self.waiting.drop(key)
        else:
            self.waiting.put(key, class_of(claim, self._names), claim)
