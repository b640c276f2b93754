"""Telling a controller of what exists, without others having to wait for it."""

from __future__ import annotations

from collections.abc import Callable

from fairlead.controllers.pace import Pace
from fairlead.storage.change import Change, existing
from fairlead.storage.collection import Collection


class Replay:
    """Tells of the objects of a collection one by one. What changes meanwhile is held back until
    all of them are known, so that whoever listens sees everything in its order."""

    def __init__(self, collection: Collection, tell: Callable[[Change], None]) -> None:
        self._collection = collection
        self._tell = tell
        self._versions = collection.current("")
        self._held: list[Change] | None = []  # None when all was told

    def listen(self, change: Change) -> None:
        if self._held is None:
            self._tell(change)
        else:
            self._held.append(change)

    def begin_again(self) -> None:
        """Changes were lost: tell of all that there is now."""
        self._versions = self._collection.current("")
        if self._held is not None:
            self._held.clear()
            return
        for version in self._versions:
            self._tell(existing(self._collection.resource, version))

    def end(self) -> None:
        """Nobody listens any more."""
        self._versions = []
        self._held = []

    async def run(self, pace: Pace) -> None:
        versions = None
        while versions is not self._versions:
            versions = self._versions
            for version in versions:
                await pace.keep()
                if versions is not self._versions:
                    break
                self._tell(existing(self._collection.resource, version))
        held, self._held, self._versions = self._held or [], None, []
        for change in held:
            self._tell(change)
