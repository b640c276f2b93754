"""The interface between a store and its log: the log orders writes and notifies the cache.

There are two logs: `EmbeddedLog` over a file that only this process writes, and `FollowedLog` over
a `Source` with other writers (etcd, or the process that owns the file).
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

from fairlead.base.logs import Logger
from fairlead.storage.backend import Outcome, Row, Slice, Step, StorageError, Write

if TYPE_CHECKING:
    from fairlead.storage.writes import Pending

logger = Logger("fairlead.storage")


class Cache(Protocol):
    """Receives commits from the log on the event loop, in the order of revisions. Implemented by
    `delivery.CommitApplier`."""

    @property
    def revision(self) -> int:
        """The revision up to which commits are applied."""

    def load(self, rows: Iterable[Row], revision: int, floor: int) -> None:
        """Load the complete state at a revision. Called once, before all other methods."""

    def apply_batch(self, batch: Sequence[Pending], outcomes: Sequence[Outcome]) -> None:
        """Apply the outcomes of a batch of this process; no other commit lies between."""

    def apply_feed(self, rows: Sequence[Row], revision: int) -> None:
        """Apply rows of any writer: these are all commits up to a revision."""

    def acknowledge(self, group: Sequence[Pending], revisions: Sequence[int]) -> None:
        """Acknowledge writes of this process whose revisions were already applied by
        `apply_feed`."""

    def fail(self, group: Sequence[Pending], error: Exception) -> None:
        """Fail writes of this process: they were not committed, or their outcome is unknown."""

    def rebuild(self, rows: Iterable[Row], revision: int) -> None:
        """Replace the state by a snapshot: the changes up to its revision are compacted."""

    def wait_for(self, revision: int, timeout: float) -> Awaitable[bool]:
        """Wait until a revision is applied; False on timeout."""


class Log(Protocol):
    """Compares, swaps and orders writes.

    `is_sole_writer`: this process is the only writer. `predicts_revisions`: revisions are assigned
    in this process, consecutively, so the cache can predict them.
    """

    predicts_revisions: bool

    @property
    def has_epoch(self) -> bool:
        """Whether writes may rely on the cached state (`Write.since`) despite other writers."""

    @property
    def is_sole_writer(self) -> bool: ...

    @property
    def floor(self) -> int:
        """The oldest revision whose state can be read."""

    @property
    def healthy(self) -> bool: ...

    on_fatal: Callable[[str], None]

    async def open(self, cache: Cache) -> None:
        """Load the cache and keep it current from then on; raises StorageError."""

    def write(self, pending: Pending) -> None:
        """Accept a write; its outcome goes to the cache. Raises StorageError if it is already known
        to be impossible."""

    def write_together(self, group: Sequence[Pending]) -> None:
        """Accept writes that are committed together or not at all."""

    def is_current(self) -> bool:
        """Whether the cache certainly has all acknowledged writes."""

    async def catch_up(self) -> None:
        """Wait until the cache has all writes acknowledged before the call; raises StorageError."""

    async def changes(self, resource: str, after: int, upto: int, key: str = "") -> list[Step]:
        """As `Backend.changes`."""

    async def state(
        self, resource: str, revision: int, after: str, below: str | None, limit: int
    ) -> Slice:
        """As `Backend.state`."""

    async def is_stale(self, resource: str, key: str, revision: int) -> bool:
        """Whether the newest value of a key, which is at this revision, would be stored differently
        today (another encryption key). Then even a write without changes must be done."""

    async def compact(self, floor: int) -> None:
        """Delete history that neither the state at `floor` nor the changes after it need."""

    def give_up(self, message: str) -> None:
        """Report a fatal failure: the data can no longer be trusted and the process must stop."""

    def size(self) -> int:
        """Bytes on disk."""

    async def flush(self) -> None:
        """Finish pending writes; nothing may be written afterwards."""

    async def close(self) -> None: ...


def log_fatal(message: str) -> None:
    """The default `on_fatal` callback."""
    logger.critical("the server must stop", err=message)


def storage_error(raised: BaseException) -> StorageError:
    """Convert any exception of a log to the StorageError that callers expect."""
    if isinstance(raised, StorageError):
        return raised
    return StorageError(f"the store failed: {type(raised).__name__}: {raised}")


# Sources: stores with several writers, such as etcd or the log of another process. `FollowedLog`
# keeps a cache current from a source. All methods are called on the event loop.


class Snapshot(NamedTuple):
    """The newest row of every live key at a revision, in any order."""

    revision: int
    rows: list[Row]


class Reached(NamedTuple):
    """Progress of the feed: all rows up to `revision` after the previously reached revision, in
    order. Rows of one commit may share a revision and are never split."""

    revision: int
    rows: Sequence[Row]


class Source(Protocol):
    """Orders the writes of all processes and feeds them back to each. Methods raise StorageError
    with Fault.PASSING when the other side is unreachable."""

    has_epoch: bool  # `Write.since` is checked

    @property
    def floor(self) -> int:
        """The oldest revision whose state can be read, as far as known here."""

    async def open(self) -> None:
        """Connect; raises StorageError if only an operator can fix the failure."""

    async def snapshot(self) -> Snapshot: ...

    def feed(self, after: int) -> AsyncIterator[Reached]:
        """Yield all commits after a revision, without end. Raises Compacted if they are no longer
        kept, StorageError if the connection is lost."""

    def newest(self) -> int | None:
        """The newest revision that may have been acknowledged to any client, if known without a
        request; else None."""

    async def fetch_newest(self) -> int:
        """Request the newest revision from the shared log. Revisions that any server acknowledged
        before the call are not newer."""

    async def write(self, group: Sequence[Write]) -> list[int]:
        """Commit all of these writes or none; returns their revisions.

        The keys are distinct, and the revisions they build on (`Write.expected_revision()`,
        `Precondition.revision`) are known. Raises Conflict if the key of the first write moved on,
        ConditionFailed if another key did or a precondition does not hold (`visible_at` is the
        revision at which that was found), EpochMoved if the epoch is newer than `Write.since`,
        StorageError: then the writes may still have been committed.
        """

    async def changes(self, resource: str, after: int, upto: int, key: str = "") -> list[Step]:
        """As `Backend.changes`."""

    async def state(
        self, resource: str, revision: int, after: str, below: str | None, limit: int
    ) -> Slice:
        """As `Backend.state`."""

    async def is_stale(self, resource: str, key: str, revision: int) -> bool:
        """As `Log.is_stale`."""

    async def compact(self, floor: int) -> None:
        """Delete history that neither the state at `floor` nor the changes after it need. One
        process does it for all; in the others this does nothing."""

    async def size(self) -> int:
        """Bytes of the data on the other side, 0 if unknown."""

    async def close(self) -> None: ...
