"""What the parts of a store share: all collections, and which revisions they are at."""

from __future__ import annotations

from typing import Final

from fairlead.storage.collection import Collection
from fairlead.storage.history import History

# Where others write as well nothing can be foreseen: such numbers are no real revision's.
UNFORESEEN: Final = 1 << 62


class State:
    """All collections at one revision. `foresees` as of the log; `floor` is the oldest revision
    whose state can be told, by the log if not from memory."""

    def __init__(self, history: History, *, foresees: bool) -> None:
        self.history = history
        self.foresees = foresees
        self.collections: dict[str, Collection] = {}
        self.revision = 0
        self.floor = 0
        self._next_revision = 1

    def collection(self, resource: str) -> Collection:
        found = self.collections.get(resource)
        if found is None:
            found = self.collections[resource] = Collection(resource, self.history.floor)
        return found

    def begin(self, revision: int, floor: int) -> None:
        """This is what there is, before anything happens."""
        self.revision, self.floor = revision, floor
        self._next_revision = revision + 1 if self.foresees else UNFORESEEN

    @property
    def next_revision(self) -> int:
        """What the next write is foreseen to get. All that are under way have lower ones, if that
        can be foreseen."""
        return self._next_revision if self.foresees else self.revision + 1

    def foresee(self) -> int:
        """A revision for a write that goes to the log now."""
        revision = self._next_revision
        self._next_revision = revision + 1
        return revision

    def foresee_above(self) -> None:
        """No write can get a revision any more that was given."""
        if self._next_revision <= self.revision:
            self._next_revision = self.revision + 1

    def foresee_anew(self) -> None:
        """What was foreseen for writes that did not happen is free again."""
        if self.foresees:
            self._next_revision = self.revision + 1

    def forget_in_memory(self, floor: int) -> None:
        """Let go of the history up to a revision; the log can still tell it."""
        self.history.floor = floor
        for collection in self.collections.values():
            collection.forget(floor)
