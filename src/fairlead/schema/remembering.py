"""Remembering what is known about content, whatever object it stands in.

Objects are often made from one template: the pods of a ReplicaSet differ in their names only. What
follows from the content alone is worked out once for all of them (`ContentMemory`). What follows
from which fields there are, and not from what they hold, is worked out once for all objects of the
same shape (`ShapeMemory`).
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Any, Generic, TypeVar
from weakref import WeakSet

import orjson

from fairlead.bounded import Bounded

T = TypeVar("T")

MOST_KEPT = 512
LONGEST = 32 * 1024
MOST_BYTES = 8 * 1024 * 1024
MISSES = 32  # in a row, after which a memory rests
RESTING = 16  # of so many contents that come to a resting memory one is looked at


class ContentMemory(Generic[T]):
    """Values by content, the newest few. What is kept must never be changed.

    Where contents do not come again it would be all cost and no use: a memory that has found
    nothing for a while rests, which is to say that it looks at a few of them only until one comes
    again.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.kept: Bounded[bytes, T] = Bounded(MOST_KEPT, MOST_BYTES, LONGEST)
        self._missed = 0
        _content_memories.add(self)

    def key(self, content: Any) -> bytes | None:
        """What a content is known by; None if it is not looked at."""
        if self._missed >= MISSES:
            self._missed += 1
            if self._missed % RESTING:
                return None
        return orjson.dumps(content)

    def get(self, key: bytes | None) -> T | None:
        if key is None:
            return None
        found = self.kept.get(key)
        self._missed = self._missed + 1 if found is None else 0
        return found

    def keep(self, key: bytes | None, value: T) -> None:
        if key is not None:
            self.kept.keep(key, value, len(key))


Names = tuple[str | type, ...]

MOST_SHAPES = 20_000
MOST_SHAPE_BYTES = 8 * 1024 * 1024
_SHAPE = 400  # bytes that a shape costs
_NAME = 150  # and each of its fields


class ShapeMemory(Generic[T]):
    """Values by the names of the fields that are there, in their order, and perhaps the classes of
    what they hold. Only names that a type declares may be kept, so that an entry is never large;
    all memories together have a bound, beyond which everything is forgotten."""

    def __init__(self) -> None:
        self._kept: dict[Names, T] = {}
        self.get = self._kept.get
        _shape_memories.add(self)

    def keep(self, names: Names, value: T) -> None:
        size = _SHAPE + _NAME * len(names)
        if _held.shapes >= MOST_SHAPES or _held.bytes + size > MOST_SHAPE_BYTES:
            for memory in list(_shape_memories):
                memory.forget()
            _held.shapes = _held.bytes = 0
        self._kept[names] = value
        _held.shapes += 1
        _held.bytes += size

    def forget(self) -> None:
        self._kept.clear()


class _Held:
    """What all memories of shapes hold together."""

    shapes = 0
    bytes = 0


_held = _Held()
_content_memories: WeakSet[ContentMemory[Any]] = WeakSet()
_shape_memories: WeakSet[ShapeMemory[Any]] = WeakSet()


def remembered_bytes() -> Iterator[tuple[str, int]]:
    """The names of what is remembered and the bytes that it takes."""
    found: dict[str, int] = {}
    for memory in list(_content_memories):
        found[memory.name] = found.get(memory.name, 0) + memory.kept.bytes
    return chain(found.items(), [("shapes", _held.bytes)])
