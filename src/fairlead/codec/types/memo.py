"""A cache of results that depend on content alone, whatever object contains it.

Many objects come from one template: the pods of a ReplicaSet differ only in their names. Results
that depend on the content alone are computed once for all of them.
"""

from __future__ import annotations

from typing import Any, Final, Generic, TypeVar

import orjson

from fairlead.base.caches import BoundedCache

T = TypeVar("T")

MAX_CACHED: Final = 512
MAX_ENTRY_BYTES: Final = 32 * 1024
MAX_BYTES: Final = 8 * 1024 * 1024
MISSES_BEFORE_SAMPLING: Final = 32  # in a row, after which the cache is sampled
SAMPLING_INTERVAL: Final = 16  # of this many contents one is looked up while the cache is sampled


class ContentCache(Generic[T]):
    """Caches values by content, the newest few. Cached values must never be changed.

    If contents do not repeat, the cache only costs time: after `MISSES_BEFORE_SAMPLING` misses in a
    row it looks up only one of `SAMPLING_INTERVAL` contents, until a lookup hits again. `name` is
    the name of its metrics.
    """

    def __init__(self, name: str) -> None:
        self._cache: BoundedCache[bytes, T] = BoundedCache(
            MAX_CACHED, MAX_BYTES, MAX_ENTRY_BYTES, name=name
        )
        self._missed = 0

    def key(self, content: Any) -> bytes | None:
        """The key of a content; None if this content is not looked up."""
        if self._missed >= MISSES_BEFORE_SAMPLING:
            self._missed += 1
            if self._missed % SAMPLING_INTERVAL:
                return None
        try:
            return orjson.dumps(content)
        except TypeError:  # nested deeper than the encoder supports
            return None

    def get(self, key: bytes | None) -> T | None:
        if key is None:
            return None
        cached = self._cache.get(key)
        self._missed = self._missed + 1 if cached is None else 0
        return cached

    def keep(self, key: bytes | None, value: T) -> None:
        if key is not None:
            self._cache.keep(key, value, len(key))
