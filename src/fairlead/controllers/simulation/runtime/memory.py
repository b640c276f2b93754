"""How much memory simulated containers hold, together and those of each namespace."""

from __future__ import annotations

from typing import ClassVar
from weakref import WeakValueDictionary

MAX_HELD = 512 * 1024 * 1024  # bytes that all containers of this process hold
MAX_HELD_OF_NAMESPACE = 160 * 1024 * 1024


class OutOfMemory(Exception):
    """A program wants more memory than it may have."""


class Memory:
    """How many bytes the containers of one namespace hold."""

    __slots__ = ("__weakref__", "size")

    def __init__(self) -> None:
        self.size = 0


_memories: WeakValueDictionary[str, Memory] = WeakValueDictionary()


def memory_of(namespace: str) -> Memory:
    return _memories.setdefault(namespace, Memory())


class Held:
    """How many bytes of memory something holds, at most `limit`. All of a namespace together hold
    `MAX_HELD_OF_NAMESPACE`, and all together `MAX_HELD`."""

    __slots__ = ("_memory", "limit", "size")
    total: ClassVar[int] = 0

    def __init__(self, limit: int, memory: Memory) -> None:
        self._memory = memory
        self.limit = limit
        self.size = 0

    def grow(self, size: int) -> bool:
        """Whether it may hold so many bytes more."""
        if size > 0 and (
            self.size + size > self.limit
            or self._memory.size + size > MAX_HELD_OF_NAMESPACE
            or Held.total + size > MAX_HELD
        ):
            return False
        self.size += size
        self._memory.size += size
        Held.total += size
        return True

    def __del__(self) -> None:
        self._memory.size -= self.size
        Held.total -= self.size
