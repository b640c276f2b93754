"""Remembering what is known about content, whatever object it stands in.

Objects are often made from one template: the pods of a ReplicaSet differ in their names only. What
follows from the content alone is worked out once for all of them.
"""

from __future__ import annotations

from typing import Any, Generic, TypeVar

import orjson

from fairlead.base.caches import Bounded

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
    again. Its name is that of its metrics.
    """

    def __init__(self, name: str) -> None:
        self._kept: Bounded[bytes, T] = Bounded(MOST_KEPT, MOST_BYTES, LONGEST, name=name)
        self._missed = 0

    def key(self, content: Any) -> bytes | None:
        """What a content is known by; None if it is not looked at."""
        if self._missed >= MISSES:
            self._missed += 1
            if self._missed % RESTING:
                return None
        try:
            return orjson.dumps(content)
        except TypeError:  # nested deeper than any type is
            return None

    def get(self, key: bytes | None) -> T | None:
        if key is None:
            return None
        found = self._kept.get(key)
        self._missed = self._missed + 1 if found is None else 0
        return found

    def keep(self, key: bytes | None, value: T) -> None:
        if key is not None:
            self._kept.keep(key, value, len(key))
