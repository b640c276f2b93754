"""What a store works on: a log that orders the writes of all who use it, and what it tells.

There are two: `EmbeddedLog` over the file of this process, where nobody else writes, and
`FollowedLog` over a `Source` that others write to as well.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from typing import NamedTuple, Protocol

from fairlead.storage.backend import Outcome, Row, Slice, Step, StorageError, Write
from fairlead.storage.pending import Pending

logger = logging.getLogger("fairlead.storage")


class Cache(Protocol):
    """Who is told on the loop what happened, in the order of revisions."""

    @property
    def revision(self) -> int:
        """Up to where it has taken in what happened."""

    def load(self, rows: Iterable[Row], revision: int, floor: int) -> None:
        """Take in everything that there is at a revision, before anything else."""

    def committed(self, batch: Sequence[Pending], outcomes: Sequence[Outcome]) -> None:
        """Writes of this process ended, and nobody else's came before them."""

    def followed(self, rows: Sequence[Row], revision: int) -> None:
        """These rows, of anybody, are all that happened up to a revision."""

    def answered(self, group: Sequence[Pending], revisions: Sequence[int]) -> None:
        """Writes of this process got revisions that were followed already."""

    def refused(self, group: Sequence[Pending], error: Exception) -> None:
        """Writes of this process did not happen, or nobody knows whether they did."""

    def rebuild(self, rows: Iterable[Row], revision: int) -> None:
        """What happened up to a revision can no longer be told, only what there is now."""

    async def wait_for(self, revision: int, timeout: float) -> bool:
        """Wait until it has come to a revision; False if that took too long."""


class Log(Protocol):
    """Compares, swaps and orders. `alone` says that nobody else writes, `foresees` that revisions
    are given in this process: one after the other, to what the cache is told first."""

    foresees: bool

    @property
    def has_epoch(self) -> bool:
        """Whether a write can rest on what is known here, though others write (`Write.since`)."""

    @property
    def alone(self) -> bool: ...

    @property
    def floor(self) -> int:
        """The oldest revision whose state can be told."""

    @property
    def healthy(self) -> bool: ...

    on_fatal: Callable[[str], None]

    async def open(self, cache: Cache) -> None:
        """Load the cache and keep it current from now on; raises StorageError."""

    def write(self, pending: Pending) -> None:
        """Take a write; the cache is told how it ended. Raises StorageError where it is known
        already that it cannot."""

    def write_together(self, group: Sequence[Pending]) -> None:
        """Take all of these writes in one commit, or none."""

    def is_current(self) -> bool:
        """Whether it is certain that the cache has everything that was acknowledged."""

    async def catch_up(self) -> None:
        """Wait until the cache has everything that was acknowledged before; raises
        StorageError."""

    async def changes(self, resource: str, after: int, upto: int, key: str = "") -> list[Step]:
        """As `Backend.changes`."""

    async def state(
        self, resource: str, revision: int, after: str, below: str | None, limit: int
    ) -> Slice:
        """As `Backend.state`."""

    async def is_stale(self, resource: str, key: str, revision: int) -> bool:
        """Whether the newest value of a key, which has this revision, would be kept in another way
        if it were written now: then a write that changes nothing has to be done all the same."""

    async def compact(self, floor: int) -> None:
        """Forget what the state at `floor` and the changes after it do not need."""

    def give_up(self, message: str) -> None:
        """Nothing can be trusted any more: the process has to stop."""

    def size(self) -> int:
        """Bytes on disk."""

    async def flush(self) -> None:
        """Finish what is under way; nothing may be written afterwards."""

    async def close(self) -> None: ...


def say_fatal(message: str) -> None:
    """What a log does in the end if nobody said what to do."""
    logger.critical("the server must stop: %s", message)


def storage_error(raised: BaseException) -> StorageError:
    """Whatever a log may meet, as the error that its callers expect."""
    if isinstance(raised, StorageError):
        return raised
    return StorageError(f"the store failed: {type(raised).__name__}: {raised}")


# What a store follows where others write as well: etcd, or the log of another process.
#
# `FollowedLog` keeps a cache current from one. All methods are called on the event loop.


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
