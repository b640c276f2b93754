"""Remembering what is known about content, whatever object it stands in.

Objects are often made from one template: the pods of a ReplicaSet differ in their names only. What
follows from the content alone is worked out once for all of them.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Any, Generic, TypeVar

import orjson

T = TypeVar("T")

MOST_KEPT = 512
MOST_BYTES = 32 * 1024


class ContentMemory(Generic[T]):
    """Values by content, the newest few. What is kept must never be changed."""

    def __init__(self) -> None:
        self._kept: OrderedDict[bytes, T] = OrderedDict()

    @staticmethod
    def key(content: Any) -> bytes:
        return orjson.dumps(content)

    def get(self, key: bytes) -> T | None:
        return self._kept.get(key)

    def keep(self, key: bytes, value: T) -> None:
        if len(key) > MOST_BYTES:
            return
        self._kept[key] = value
        if len(self._kept) > MOST_KEPT:
            self._kept.popitem(last=False)
