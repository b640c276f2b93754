"""Delivers existing objects to a controller without blocking the event loop."""

from __future__ import annotations

from collections.abc import Callable

from fairlead.controllers.pace import Pace
from fairlead.storage.change import Change, existing
from fairlead.storage.collection import Collection


class Replay:
    """Delivers the objects of a collection one by one. Changes that arrive meanwhile are buffered
    and delivered afterwards, so the listener sees every object in order."""

    def __init__(self, collection: Collection, tell: Callable[[Change], None]) -> None:
        self._collection = collection
        self._tell = tell
        self._versions = collection.current("")
        self._held: list[Change] | None = []  # None once all objects are delivered

    def listen(self, change: Change) -> None:
        if self._held is None:
            self._tell(change)
        else:
            self._held.append(change)

    def restart_replay(self) -> None:
        """Changes were lost: deliver all current objects again."""
        self._versions = self._collection.current("")
        if self._held is not None:
            self._held.clear()
            return
        for version in self._versions:
            self._tell(existing(self._collection.resource, version))

    def end(self) -> None:
        """Stop delivering."""
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
        changes, self._held, self._versions = self._held or [], None, []
        for change in changes:
            self._tell(change)
