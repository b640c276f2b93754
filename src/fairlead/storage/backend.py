"""The interface between the cache in memory and durable storage.

A backend orders writes: it compares and swaps, assigns revisions, and returns committed rows in the
order of revisions. Keys and values are opaque to it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import Enum
from typing import Final, NamedTuple, Protocol

from fairlead import __version__
from fairlead.base.compiled import mypyc_attr


class Fault(Enum):
    """How far a failure puts the stored data in doubt."""

    PASSING = "passing"  # nothing was written and the data is intact, e.g. a full disk
    DOUBTFUL = "doubtful"  # the backend must pass `recover` before the next write
    FATAL = "fatal"  # acknowledged writes may be lost; only a restart can check


@mypyc_attr(allow_interpreted_subclasses=True)
class StorageError(Exception):
    """The store is damaged, locked, full, unreachable, or was written by a newer release."""

    def __init__(self, message: str, fault: Fault = Fault.DOUBTFUL) -> None:
        super().__init__(message)
        self.fault = fault


def newer_format(version: int, readable: int, release: str) -> str:
    """Say why a store is refused that `release`, "" if unknown, wrote in a newer format."""
    newer = f"a newer release, {release}" if release else "a newer release"
    return (
        f"has format {version}, written by {newer}; this one, {__version__}, reads formats up to"
        f" {readable}: start the newer one"
    )


class Unanswered(StorageError):
    """A write was sent and no answer came: it may have been committed."""


class Conflict(Exception):
    """The revision of the key is not the expected one. `visible_at` is a revision at which the
    cache shows the newer version, 0 if it shows it already."""

    visible_at = 0


class EpochMoved(Conflict):
    """The epoch key was written after the revision in `Write.since`."""


class Compacted(Exception):
    """The requested revision is older than the kept history."""


_NEVER: Final = -1  # no key ever has this revision


class Precondition(NamedTuple):
    """A condition on another key: that it exists (None), has a given revision, or has the revision
    that a pending write will get."""

    resource: str
    key: str
    revision: int | Write | None = None

    def required_revision(self) -> int | None:
        """Return the revision the key must have; None accepts any."""
        if not isinstance(self.revision, Write):
            return self.revision
        revision = self.revision.revision
        if revision is None:
            return _NEVER
        return revision if self.revision.value is not None else 0  # deleted: no key

    def holds(self, revision: int) -> bool:
        """Whether the condition holds if the key has this revision; 0 means it does not exist."""
        required = self.revision
        if required.__class__ is not int:
            required = self.required_revision()
        return revision != 0 if required is None else revision == required


class ConditionFailed(Exception):
    """A precondition on another key does not hold. `condition` is that precondition; `visible_at`
    has the meaning of `Conflict.visible_at`."""

    visible_at = 0

    def __init__(self, condition: Precondition) -> None:
        super().__init__(f"{condition.resource} {condition.key} is not as required")
        self.condition = condition


class Write:
    """A write to one key: store `value` (None deletes) if the key's revision is `expected`, 0 for a
    key that does not exist.

    `expected` may be a pending write whose revision is not assigned yet; if that write is refused,
    this one is refused too. `since` is the revision on which the request based its decisions: the
    write fails with EpochMoved if the epoch moved after it; 0 skips the check.
    """

    __slots__ = (
        *("api_version", "expected", "key", "requires", "resource", "revision", "since", "value"),
    )

    def __init__(
        self,
        resource: str,
        key: str,
        api_version: str,
        value: bytes | None,
        expected: int | Write,
        requires: Sequence[Precondition] = (),
    ) -> None:
        self.resource = resource
        self.key = key
        self.api_version = api_version
        self.value = value
        self.expected = expected
        self.requires = requires
        self.since = 0
        self.revision: int | None = None  # assigned by the backend on commit

    def expected_revision(self) -> int | None:
        """Return None if `expected` is a write that was refused."""
        return self.expected if isinstance(self.expected, int) else self.expected.revision


Outcome = int | Conflict | ConditionFailed


class Row(NamedTuple):
    """One version of one key as stored. `previous` is the revision it superseded, 0 for none."""

    revision: int
    resource: str
    key: str
    previous: int
    api_version: str
    value: bytes | None

    @property
    def is_plain(self) -> bool:
        """Whether it has a value that is not encrypted: a plain one is a JSON object."""
        return self.value is not None and self.value.startswith(b"{")


class Step(NamedTuple):
    """A row and the row it superseded."""

    row: Row
    before: Row | None


class Slice(NamedTuple):
    """Part of a state in key order, and the number of keys that follow it."""

    rows: list[Row]
    more: int


class Backend(Protocol):
    """Durable storage under a store.

    `append`, `compact`, `probe` and `recover` are called from one thread, `changes`, `feed`,
    `state` and `check` from another; `open`, `heads` and `close` while neither runs. All may raise
    StorageError.
    """

    @property
    def revision(self) -> int:
        """The newest revision ever assigned."""

    @property
    def floor(self) -> int:
        """The oldest revision whose state, and the changes after it, can still be read."""

    def lock(self) -> None:
        """Take exclusive use of the data, before anything is read or written."""

    def open(self) -> None:
        """Open the data; locks it unless `lock` was called before."""

    def heads(self) -> Iterator[Row]:
        """Return the newest row of every live key, in any order."""

    def append(self, writes: Sequence[Write]) -> list[Outcome]:
        """Apply writes in order, all accepted ones in one commit. Returns for each its revision or
        the reason of refusal. If it raises, nothing was written."""

    def changes(self, resource: str, after: int, upto: int, key: str = "") -> list[Step]:
        """Return the next steps after a revision, of one resource (empty: all) or of one key: a
        bounded number, empty if there are none up to `upto`. Raises Compacted."""

    def feed(self, after: int, upto: int) -> list[Row]:
        """Return the next rows of all resources after a revision: a bounded number, empty if there
        are none up to `upto`. Raises Compacted."""

    def state(
        self, resource: str, revision: int, after: str, below: str | None, limit: int
    ) -> Slice:
        """Return the next rows of the state at a revision, with keys above `after` and below
        `below`: up to `limit` (0: no limit), at least one if any is left. Raises Compacted."""

    def compact(self, floor: int) -> bool:
        """Delete a bounded part of the rows that neither the state at `floor` nor the changes after
        it need. Returns True while there is more to do."""

    def probe(self) -> None:
        """Commit a small write durably, to test that writing works."""

    def recover(self) -> None:
        """After a DOUBTFUL failure: verify that every acknowledged write and no other is stored,
        and that writing works."""

    def check(self) -> None:
        """Check all of the data for damage."""

    def stop_check(self) -> None:
        """Interrupt a check that runs in another thread and wait until it ends; later checks raise
        at once."""

    def size(self) -> int:
        """Bytes on disk."""

    def close(self) -> None: ...
