"""Who wrote which revision, as far as this process knows."""

from __future__ import annotations

from typing import NamedTuple

from fairlead.base import clock
from fairlead.base.metrics import REGISTRY
from fairlead.operations.operation import Operation

_A_GENERATION = 16_384  # revisions; the newest of these are known, and up to as many before them
_LONGEST_NAME = 256

REVISIONS = REGISTRY.gauge(
    "fairlead_history_known_actors", "Revisions of which it is remembered who wrote them."
)


class Actor(NamedTuple):
    """Whose rights a write was made with, who really asked if that was another, under which name
    as a field manager (empty for deletions), and when."""

    user: str
    impersonator: str
    manager: str
    seconds: float  # since the epoch


class Actors:
    """The writers of the newest revisions. What is too old goes a whole generation at a time, so
    that noting one costs next to nothing."""

    def __init__(self) -> None:
        self._newer: dict[int, tuple[str, str, str, float]] = {}
        self._older: dict[int, tuple[str, str, str, float]] = {}
        REVISIONS.read = self.__len__

    def __len__(self) -> int:
        return len(self._newer) + len(self._older)

    def note(self, revision: int, operation: Operation) -> None:
        """A write was committed."""
        other = operation.impersonator
        self._newer[revision] = (
            operation.user.name[:_LONGEST_NAME],
            other.name[:_LONGEST_NAME] if other is not None else "",
            operation.manager,
            clock.time(),
        )
        if len(self._newer) >= _A_GENERATION:
            self._older, self._newer = self._newer, {}

    def find(self, revision: int) -> Actor | None:
        found = self._newer.get(revision) or self._older.get(revision)
        return Actor._make(found) if found is not None else None
