"""Delivers existing objects to a controller without blocking the event loop."""

from __future__ import annotations

from collections.abc import Callable

from fairlead.base.slices import TimeSlices
from fairlead.storage.change import Change, existing
from fairlead.storage.collection import Collection


class Replay:
    """Delivers the objects of a collection one by one. Changes that arrive meanwhile are buffered
    and delivered afterwards, so the listener sees every object in order."""

    def __init__(self, collection: Collection, tell: Callable[[Change], None]) -> None:
        self._collection = collection
        self._deliver = tell
        self._versions = collection.current("")
        self._buffered: list[Change] | None = []  # None once all objects are delivered

    def listen(self, change: Change) -> None:
        if self._buffered is None:
            self._deliver(change)
        else:
            self._buffered.append(change)

    def restart_replay(self) -> None:
        """Changes were lost: deliver all current objects again."""
        self._versions = self._collection.current("")
        if self._buffered is not None:
            self._buffered.clear()
            return
        for version in self._versions:
            self._deliver(existing(self._collection.resource, version))

    def end(self) -> None:
        """Stop delivering."""
        self._versions = []
        self._buffered = []

    async def run(self, slices: TimeSlices) -> None:
        versions = None
        while versions is not self._versions:
            versions = self._versions
            for version in versions:
                await slices.pause()
                if versions is not self._versions:
                    break
                self._deliver(existing(self._collection.resource, version))
        changes, self._buffered, self._versions = self._buffered or [], None, []
        for change in changes:
            self._deliver(change)
