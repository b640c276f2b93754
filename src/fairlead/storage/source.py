"""What a store follows where others write as well: etcd, or the log of another process.

`FollowedLog` keeps a cache current from one. All methods are called on the event loop.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import NamedTuple, Protocol

from fairlead.storage.backend import Row, Slice, Step, Write


class Snapshot(NamedTuple):
    """Every live key's newest row at a revision, in any order."""

    revision: int
    rows: list[Row]


class Reached(NamedTuple):
    """The feed has come to a revision: all rows after the one that was reached before, in the order
    of their revisions. Rows of one commit may share a revision and are never parted."""

    revision: int
    rows: Sequence[Row]


class Source(Protocol):
    """Orders the writes of all and tells all of them. Whatever cannot be done for want of the other
    side raises StorageError with Fault.PASSING."""

    has_epoch: bool  # `Write.since` counts

    @property
    def floor(self) -> int:
        """The oldest revision whose state can be told, as far as is known here."""

    async def open(self) -> None:
        """Connect; raises StorageError where only a person can help."""

    async def snapshot(self) -> Snapshot: ...

    def feed(self, after: int) -> AsyncIterator[Reached]:
        """Everything that happens after a revision, without end. Raises Compacted if that is no
        longer known, StorageError if the connection was lost."""

    def newest(self) -> int | None:
        """The newest revision that anybody may have been told of, where that can be told without
        asking; None where not."""

    async def ask_newest(self) -> int:
        """The same, asked of the other side: no revision acknowledged before the call is newer."""

    async def write(self, group: Sequence[Write]) -> list[int]:
        """Take all of these or none, in one commit; gives their revisions. The keys are different
        ones, and what they build upon (`Write.expected_revision()`, `Precondition.revision`) is
        known. Raises Conflict if the first one's key moved on, ConditionFailed if another one's did
        or a condition does not hold (`at` says when that was found), EpochMoved if it rests on what
        is no longer so, StorageError: then it may have happened all the same."""

    async def changes(self, resource: str, after: int, upto: int, key: str = "") -> list[Step]:
        """As `Backend.changes`."""

    async def state(
        self, resource: str, revision: int, after: str, below: str | None, limit: int
    ) -> Slice:
        """As `Backend.state`."""

    async def is_stale(self, resource: str, key: str, revision: int) -> bool:
        """As `Log.is_stale`."""

    async def compact(self, floor: int) -> None:
        """Forget what the state at `floor` and the changes after it do not need; one of all who
        use the store does so, for the others this does nothing."""

    async def size(self) -> int:
        """Bytes that the data takes on the other side, 0 if that is not known."""

    async def close(self) -> None: ...
