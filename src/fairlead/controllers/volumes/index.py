"""Which volumes are free and which claims wait, found without reading them all.

It follows commits and may lag behind what is being written: who acts on it looks again.
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import NamedTuple

from sortedcontainers import SortedList

from fairlead.controllers.volumes.facts import (
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


class _Shelf(NamedTuple):
    """Where free volumes of one sort stand, by size."""

    class_name: str
    volume_mode: str
    modes: frozenset[str]


class FreeVolumes:
    """Volumes that a claim may take, the smallest first."""

    def __init__(self) -> None:
        self._shelves: dict[tuple[str, str], dict[_Shelf, SortedList[tuple[Decimal, str]]]] = {}
        self._places: dict[str, tuple[_Shelf, Decimal]] = {}

    def put(self, name: str, shelf: _Shelf, size: Decimal) -> None:
        self.drop(name)
        sort = shelf.class_name, shelf.volume_mode
        self._shelves.setdefault(sort, {}).setdefault(shelf, SortedList()).add((size, name))
        self._places[name] = shelf, size

    def drop(self, name: str) -> None:
        place = self._places.pop(name, None)
        if place is None:
            return
        shelf, size = place
        sort = shelf.class_name, shelf.volume_mode
        volumes = self._shelves[sort][shelf]
        volumes.remove((size, name))
        if not volumes:
            del self._shelves[sort][shelf]
            if not self._shelves[sort]:
                del self._shelves[sort]

    def matching(self, claim: Object, class_name: str) -> Iterator[str]:
        """The names of those that are large enough and can be used as wanted: those that can do
        nothing else before others, then the smallest. Nothing may be put or dropped meanwhile."""
        modes, least = modes_of(claim), (size_wanted(claim), "")
        shelves = self._shelves.get((class_name, volume_mode_of(claim)), {})
        fitting = [shelf for shelf in shelves if shelf.modes >= modes]
        for shelf in sorted(fitting, key=lambda shelf: (len(shelf.modes), sorted(shelf.modes))):
            for _, name in shelves[shelf].irange(least):
                yield name


class Links:
    """Which of one side name which of the other, found from the other side."""

    def __init__(self) -> None:
        self._named: dict[str, str] = {}
        self._by_name: dict[str, dict[str, None]] = {}

    def set(self, key: str, name: str | None) -> None:
        """Say what a key names now. It keeps its place if that is the same as before."""
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

    def to(self, name: str) -> tuple[str, ...]:
        """The keys that name it, the oldest first."""
        return tuple(self._by_name.get(name, ()))

    def __bool__(self) -> bool:
        return bool(self._named)

    def __contains__(self, key: str) -> bool:
        return key in self._named


class Index:
    """`reserved` leads from a claim to the volumes that are for it, `named` from a volume to the
    claims that name it, `waiting` from a class to the claims that take any volume of it."""

    def __init__(self, names: Annotations) -> None:
        self._names = names
        self.free = FreeVolumes()
        self.reserved = Links()
        self.named = Links()
        self.waiting = Links()

    def take_volume(self, name: str, volume: Object | None) -> None:
        """Take in a volume, or that it is gone."""
        if volume is None:
            self.free.drop(name)
            self.reserved.set(name, None)
            return
        self.reserved.set(name, claim_key_of(volume))
        if claim_key_of(volume) is None and phase_of(volume) == AVAILABLE and not is_going(volume):
            shelf = _Shelf(class_of(volume, self._names), volume_mode_of(volume), modes_of(volume))
            self.free.put(name, shelf, size_of(volume))
        else:
            self.free.drop(name)

    def take_claim(self, key: str, claim: Object | None) -> None:
        """Take in a claim, or that it is gone."""
        named = claim["spec"].get("volumeName") if claim is not None else None
        self.named.set(key, named or None)
        waits = claim is not None and not named and not self._is_bound(claim)
        self.waiting.set(key, class_of(claim, self._names) if claim is not None and waits else None)

    def _is_bound(self, claim: Object) -> bool:
        return self._names.bind_completed in annotations_of(claim)
