"""What is written together with another write."""

from __future__ import annotations

from typing import Any

from fairlead.storage.collection import Collection
from fairlead.storage.version import Version


class Companion:
    """A change of another object that goes with a write: if that is refused, so is this. `over` is
    what it was made from, None for a new one, which has to name its key. `version` is what it
    became when it was written."""

    __slots__ = ("collection", "key", "over", "value", "version")

    def __init__(
        self, collection: Collection, value: dict[str, Any], over: Version | None, key: str = ""
    ) -> None:
        self.collection = collection
        self.value = value
        self.over = over
        self.key = over.key if over is not None else key
        self.version: Version | None = None
