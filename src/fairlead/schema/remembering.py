"""Remembering what is known about content, whatever object it stands in.

Objects are often made from one template: the pods of a ReplicaSet differ in their names only. What
follows from the content alone is worked out once for all of them.
"""

from __future__ import annotations

from typing import Any, Generic, TypeVar

import orjson

from fairlead.bounded import Bounded

T = TypeVar("T")

MOST_KEPT = 512
LONGEST = 32 * 1024
MOST_BYTES = 8 * 1024 * 1024


class ContentMemory(Generic[T]):
    """Values by content, the newest few. What is kept must never be changed."""

    def __init__(self) -> None:
        self._kept: Bounded[bytes, T] = Bounded(MOST_KEPT, MOST_BYTES, LONGEST)
        self.get = self._kept.get

    @staticmethod
    def key(content: Any) -> bytes:
        return orjson.dumps(content)

    def keep(self, key: bytes, value: T) -> None:
        self._kept.keep(key, value, len(key))
