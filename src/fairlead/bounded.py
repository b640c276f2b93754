"""Caches that nobody can make large: bounded by count and by bytes, long keys never kept."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from hashlib import blake2b
from os import urandom
from threading import Lock
from typing import Any, Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")
Text = TypeVar("Text", str, bytes)

LONGEST_KEY = 256  # bytes; what people and programs send again and again is shorter
MOST_BYTES = 4 * 1024 * 1024
_ENTRY = 200  # bytes that an entry costs beside what its key and value hold
_MISSING: Any = object()


class Bounded(Generic[K, V]):
    """Values by key, the oldest dropped first. `get` costs as much as that of a dict.

    The caller says how many bytes a key has; with its value it is taken to weigh `per_byte` times
    as much. What is longer than `longest` is not kept at all.
    """

    def __init__(
        self,
        most: int = 1024,
        most_bytes: int = MOST_BYTES,
        longest: int = LONGEST_KEY,
        per_byte: int = 4,
    ) -> None:
        self._values: OrderedDict[K, V] = OrderedDict()
        self._sizes: dict[K, int] = {}
        self._most, self._most_bytes = most, most_bytes
        self._longest, self._per_byte = longest, per_byte
        self._lock = Lock()  # long bodies are read in threads
        self.bytes = 0
        self.get = self._values.get

    def __len__(self) -> int:
        return len(self._values)

    def __contains__(self, key: K) -> bool:
        return key in self._values

    def keep(self, key: K, value: V, length: int) -> None:
        if length > self._longest:
            return
        size = length * self._per_byte + _ENTRY
        values, sizes = self._values, self._sizes
        with self._lock:
            before = sizes.get(key)
            if before is not None:
                self.bytes -= before
                values.move_to_end(key)
            values[key], sizes[key] = value, size
            self.bytes += size
            while len(values) > self._most or self.bytes > self._most_bytes:
                oldest, _ = values.popitem(last=False)
                self.bytes -= sizes.pop(oldest)

    def drop(self, key: K) -> V | None:
        """The value that was kept under a key, now forgotten."""
        with self._lock:
            self.bytes -= self._sizes.pop(key, 0)
            return self._values.pop(key, None)

    def clear(self) -> None:
        with self._lock:
            self._values.clear()
            self._sizes.clear()
            self.bytes = 0


def remembered(
    most: int = 1024, *, longest: int = LONGEST_KEY, per_byte: int = 4
) -> Callable[[Callable[[Text], V]], Callable[[Text], V]]:
    """Remember what a function of one text gives; what it raises is not remembered."""

    def decorate(function: Callable[[Text], V]) -> Callable[[Text], V]:
        kept: Bounded[Text, V] = Bounded(most, longest=longest, per_byte=per_byte)
        get = kept.get

        def known(text: Text) -> V:
            found: V = get(text, _MISSING)
            if found is _MISSING:
                found = function(text)
                kept.keep(text, found, len(text))
            return found

        known.__doc__, known.__name__ = function.__doc__, function.__name__
        known.__wrapped__ = function  # type: ignore[attr-defined]
        known.kept = kept  # type: ignore[attr-defined]
        return known

    return decorate


_secret = urandom(32)


def hashed(text: str) -> bytes:
    """What a secret is kept under: short, and of no use to who reads this process's memory."""
    return blake2b(_secret + text.encode("utf-8", "surrogatepass"), digest_size=24).digest()
