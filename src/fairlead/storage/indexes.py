"""Indexes of objects by a label or a field, which save scans."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Collection as Keys
from collections.abc import Iterable

from fairlead.storage.selection import Fact, IndexHint, Selection
from fairlead.storage.version import Version

MAX_INDEXES = 8  # per resource
FEW = 500  # scanned without an index


class Index:
    """Object keys by the value of one fact. A value with a single object takes no set."""

    __slots__ = ("_by_value", "_size", "fact", "ready")

    def __init__(self, fact: Fact) -> None:
        self.fact = fact
        self.ready = asyncio.Event()
        self._by_value: dict[str, str | set[str]] = {}
        self._size = 0

    def put(self, version: Version) -> None:
        value = self.fact.of(version)
        if value is None:
            return
        known = self._by_value.get(value)
        if known is None:
            self._by_value[value] = version.key
        elif version.key in self._of(value):
            return
        elif isinstance(known, set):
            known.add(version.key)
        else:
            self._by_value[value] = {known, version.key}
        self._size += 1

    def drop(self, version: Version) -> None:
        value = self.fact.of(version)
        if value is None or version.key not in self._of(value):
            return
        known = self._by_value[value]
        if isinstance(known, set) and len(known) > 1:
            known.remove(version.key)
        else:
            del self._by_value[value]
        self._size -= 1

    def count(self, values: Iterable[str] | None) -> int:
        if values is None:
            return self._size
        return sum(len(self._of(value)) for value in values)

    def keys(self, values: Iterable[str] | None) -> list[str]:
        wanted = self._by_value if values is None else values
        return [key for value in wanted for key in self._of(value)]

    def _of(self, value: str) -> Keys[str]:
        known = self._by_value.get(value, ())
        return (known,) if isinstance(known, str) else known


class Indexes:
    """The indexes of one resource, built on demand for selectors. Above the limit, the least
    recently used one is dropped."""

    def __init__(self) -> None:
        self.built: OrderedDict[Fact, Index] = OrderedDict()
        self.building: dict[Fact, Index] = {}

    def __bool__(self) -> bool:
        return bool(self.built or self.building)

    def changed(self, before: Version | None, after: Version | None) -> None:
        """Apply a change of a key to all indexes."""
        for index in (*self.built.values(), *self.building.values()):
            if before is not None:
                index.drop(before)
            if after is not None:
                index.put(after)

    def clear(self) -> None:
        """Drop all indexes, including those being built."""
        self.built.clear()
        self.building.clear()

    def best(self, selection: Selection) -> tuple[Index, IndexHint] | None:
        """Return the index with the fewest candidates for a selection, None if there is none."""
        made = self.built
        usable = [(made[clue.fact], clue) for clue in selection.clues if clue.fact in made]
        if not usable:
            return None
        index, clue = min(usable, key=lambda one: one[0].count(one[1].values))
        self.built.move_to_end(index.fact)
        return index, clue

    def begin(self, fact: Fact) -> Index:
        """Start an index that `build_index` fills; changes are added to it from now on."""
        index = self.building[fact] = Index(fact)
        return index

    def end(self, index: Index, *, complete: bool) -> None:
        """Use an index from now on, or drop it if it is incomplete."""
        if complete:
            self.built[index.fact] = index
            if len(self.built) > MAX_INDEXES:
                self.built.popitem(last=False)
        if self.building.get(index.fact) is index:
            del self.building[index.fact]
        index.ready.set()
