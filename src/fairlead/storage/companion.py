"""A write to another object in the same commit."""

from __future__ import annotations

from typing import Any

from fairlead.storage.collection import Collection
from fairlead.storage.version import Version


class Companion:
    """A write to another object that is committed together with the main write, or refused with it.
    `over` is the version it was made from, None for a new object, which needs `key`. `version` is
    set when the write is sent."""

    __slots__ = ("collection", "key", "over", "value", "version")

    def __init__(
        self, collection: Collection, value: dict[str, Any], over: Version | None, key: str = ""
    ) -> None:
        self.collection = collection
        self.value = value
        self.over = over
        self.key = over.key if over is not None else key
        self.version: Version | None = None
