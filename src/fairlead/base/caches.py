"""Caches bounded by count and by bytes, so that no client can make them grow. Entries with long
keys are not kept."""

import hashlib
from collections import OrderedDict
from collections.abc import Callable, Hashable
from os import urandom
from threading import Lock
from typing import Any, Generic, NamedTuple, TypeVar
from weakref import WeakSet

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")
Text = TypeVar("Text", str, bytes)

MAX_KEY_BYTES = 256  # bytes; texts that clients send repeatedly are shorter
MAX_BYTES = 4 * 1024 * 1024
_ENTRY_BYTES = 200  # overhead per entry
_MISSING: Any = object()


class BoundedCache(Generic[K, V]):
    """Maps keys to values and evicts the oldest entry first. `get` is as fast as that of a dict.

    The caller gives the length of a key. An entry counts as `per_byte` bytes for each byte of its
    key; entries with keys longer than `longest` are not kept. Metrics report the cache by its name.
    """

    def __init__(
        self,
        maximum: int = 1024,
        max_bytes: int = MAX_BYTES,
        longest: int = MAX_KEY_BYTES,
        per_byte: int = 4,
        *,
        name: str = "others",
    ) -> None:
        self.name = name
        self._values: OrderedDict[K, V] = OrderedDict()
        self._sizes: dict[K, int] = {}
        self._maximum, self.max_bytes = maximum, max_bytes
        self._longest, self._per_byte = longest, per_byte
        self._lock = Lock()  # long bodies are decoded in threads
        self.bytes = 0
        self.get = self._values.get
        with _registry_lock:
            _caches.add(self)

    def __len__(self) -> int:
        return len(self._values)

    def __contains__(self, key: K) -> bool:
        return key in self._values

    def keep(self, key: K, value: V, length: int) -> None:
        if length > self._longest:
            return
        size = length * self._per_byte + _ENTRY_BYTES
        values, sizes = self._values, self._sizes
        with self._lock:
            before = sizes.get(key)
            if before is not None:
                self.bytes -= before
                self._on_removed(key, values.pop(key))
            values[key], sizes[key] = value, size
            self.bytes += size
            while len(values) > self._maximum or self.bytes > self.max_bytes:
                oldest, gone = values.popitem(last=False)
                self.bytes -= sizes.pop(oldest)
                self._on_removed(oldest, gone)

    def drop(self, key: K) -> V | None:
        """Remove a key and return its value."""
        with self._lock:
            if key not in self._values:
                return None
            self.bytes -= self._sizes.pop(key)
            gone = self._values.pop(key)
            self._on_removed(key, gone)
            return gone

    def _on_removed(self, key: K, value: V) -> None:
        """Hook for subclasses that keep more data for a value; runs when it is removed, except by
        `clear`."""

    def clear(self) -> None:
        with self._lock:
            self._values.clear()
            self._sizes.clear()
            self.bytes = 0


def memoized(
    maximum: int = 1024, *, longest: int = MAX_KEY_BYTES, per_byte: int = 4
) -> Callable[[Callable[[Text], V]], Callable[[Text], V]]:
    """Cache the results of a function of one text. Exceptions are not cached."""

    def decorate(function: Callable[[Text], V]) -> Callable[[Text], V]:
        name = function.__name__.lstrip("_").replace("_", " ")
        cache: BoundedCache[Text, V] = BoundedCache(
            maximum, longest=longest, per_byte=per_byte, name=name
        )
        get = cache.get

        def lookup(text: Text) -> V:
            value: V = get(text, _MISSING)
            if value is _MISSING:
                value = function(text)
                cache.keep(text, value, len(text))
            return value

        lookup.__doc__, lookup.__name__ = function.__doc__, function.__name__
        lookup.__wrapped__ = function  # type: ignore[attr-defined]
        lookup.kept = cache  # type: ignore[attr-defined]
        return lookup

    return decorate


MAX_SHAPES = 20_000
MAX_SHAPE_BYTES = 8 * 1024 * 1024
_SHAPE_BYTES, _FIELD_BYTES = 400, 150  # estimated, per shape and per field of it


class Shapes(Generic[V]):
    """Maps the field names of an object, in their order, to a value that depends on them alone, so
    that it is computed once for all objects with the same fields.

    Keep only names that a type declares, so that an entry is never large. All instances share one
    bound; exceeding it clears all of them.
    """

    def __init__(self) -> None:
        self.values: dict[tuple[str, ...], V] = {}  # for lookups only
        self.get = self.values.get
        with _registry_lock:
            _shapes.add(self)

    def keep(self, names: tuple[str, ...], value: V) -> None:
        size = _SHAPE_BYTES + _FIELD_BYTES * len(names)
        with _registry_lock:
            if _totals.number >= MAX_SHAPES or _totals.bytes + size > MAX_SHAPE_BYTES:
                for cache in _shapes:
                    cache.forget()
                _totals.number = _totals.bytes = 0
            self.values[names] = value
            _totals.number += 1
            _totals.bytes += size

    def forget(self) -> None:
        self.values.clear()


class CacheSize(NamedTuple):
    """Total size of the caches of one name."""

    entries: int = 0
    bytes: int = 0
    max_bytes: int = 0


def cache_sizes() -> dict[str, CacheSize]:
    """Return the size and the limit of every cache of this process, by name."""
    with _registry_lock:
        caches = list(_caches)
        sizes = {"shapes of objects": CacheSize(_totals.number, _totals.bytes, MAX_SHAPE_BYTES)}
    for cache in caches:
        entries, size, maximum = sizes.get(cache.name, CacheSize())
        sizes[cache.name] = CacheSize(
            entries + len(cache), size + cache.bytes, maximum + cache.max_bytes
        )
    return sizes


class _ShapeTotals:
    """Number and bytes of the entries in all caches of shapes."""

    number = 0
    bytes = 0


_totals = _ShapeTotals()
_registry_lock = Lock()
_caches: WeakSet[BoundedCache[Any, Any]] = WeakSet()
_shapes: WeakSet[Shapes[Any]] = WeakSet()
_secret = urandom(32)


def hashed(text: str) -> bytes:
    """Return the key under which to cache a secret: a short hash, so that a memory dump of this
    process does not show the secret."""
    content = _secret + text.encode("utf-8", "surrogatepass")
    return hashlib.blake2b(content, digest_size=24).digest()
