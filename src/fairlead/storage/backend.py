"""The interface between the cache in memory and what keeps the data for good.

A backend orders writes: it compares and swaps, assigns revisions, and gives back what it took in
the order of revisions. It knows keys and bytes, nothing of what they mean.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import Enum
from typing import NamedTuple, Protocol


class Fault(Enum):
    """What a failure says about the data."""

    PASSING = "passing"  # nothing was written and nothing is wrong with what was: a full disk
    DOUBTFUL = "doubtful"  # the backend must prove itself sound before it is written again
    FATAL = "fatal"  # what was acknowledged may be lost; only a new start can tell


class StorageError(Exception):
    """The store cannot do its work: damaged, locked, full, or written by a newer release."""

    def __init__(self, message: str, fault: Fault = Fault.DOUBTFUL) -> None:
        super().__init__(message)
        self.fault = fault


class Unanswered(StorageError):
    """A write was sent, and nobody told what became of it: it may have happened."""


class Conflict(Exception):
    """The key moved on: its revision is no longer the expected one. `at` is a revision at which
    that can be seen, 0 if it can be already."""

    at = 0


class EpochMoved(Conflict):
    """What decisions rest on was written after the revision that a write rests on."""


class Compacted(Exception):
    """The revision asked for is older than the kept history."""


_NEVER = -1  # no key has this revision


class Precondition(NamedTuple):
    """What must hold of another key for a write to happen: that it exists, or exactly which
    revision it has. That may be the one that an earlier write is still to get."""

    resource: str
    key: str
    revision: int | Write | None = None

    def wanted(self) -> int | None:
        """The revision that it must have; None if any will do."""
        if not isinstance(self.revision, Write):
            return self.revision
        given = self.revision.revision
        if given is None:
            return _NEVER
        return given if self.revision.value is not None else 0  # a deletion leaves no key

    def holds(self, revision: int) -> bool:
        """Whether it holds of a key at this revision, 0 if the key does not exist."""
        wanted = self.revision
        if wanted.__class__ is not int:
            wanted = self.wanted()
        return revision != 0 if wanted is None else revision == wanted


class ConditionFailed(Exception):
    """A precondition on another key did not hold; `condition` is which, `at` as of a Conflict."""

    at = 0

    def __init__(self, condition: Precondition) -> None:
        super().__init__(f"{condition.resource} {condition.key} is not as required")
        self.condition = condition


class Write:
    """One step that is wanted: `value` (None deletes) in place of the revision `expected`, 0 for
    none. `expected` may be an earlier write whose revision is not known yet; what builds on a
    write that was refused is refused too. `since` is the revision that it rests on where others
    write as well, 0 if it need not be compared.
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
        self.revision: int | None = None  # given by the backend that took it

    def expected_revision(self) -> int | None:
        """None if the write that this one builds on was refused."""
        return self.expected if isinstance(self.expected, int) else self.expected.revision


Outcome = int | Conflict | ConditionFailed


class Row(NamedTuple):
    """One kept step of one key. `previous` is the revision that it superseded, 0 for none."""

    revision: int
    resource: str
    key: str
    previous: int
    api_version: str
    value: bytes | None


class Step(NamedTuple):
    """A row and the row that it superseded."""

    row: Row
    before: Row | None


class Slice(NamedTuple):
    """A part of a state, in the order of keys, and how many keys come behind it."""

    rows: list[Row]
    more: int


class Backend(Protocol):
    """What a store can be built upon.

    `append`, `compact`, `probe` and `recover` are called from one thread, `changes`, `feed`,
    `state` and `check` from another one, `open`, `heads` and `close` while neither runs. All may
    raise StorageError.
    """

    @property
    def revision(self) -> int:
        """The newest revision that was ever given out."""

    @property
    def floor(self) -> int:
        """The oldest revision whose state can be told; changes after it can be, too."""

    def lock(self) -> None:
        """Make sure that nobody else uses the data, before anything is read or written."""

    def open(self) -> None:
        """Take hold of the data; locks if that was not done."""

    def heads(self) -> Iterator[Row]:
        """Every live key's newest row, in any order."""

    def append(self, writes: Sequence[Write]) -> list[Outcome]:
        """Take these writes in their order, all that can be in one commit; gives the revision of
        each, or why it was refused. When it raises, none of them happened."""

    def changes(self, resource: str, after: int, upto: int, key: str = "") -> list[Step]:
        """The next steps after a revision, of a resource (of all if it is empty) or of one of its
        keys: some, or none if there are no more up to `upto`. Raises Compacted."""

    def feed(self, after: int, upto: int) -> list[Row]:
        """The next steps of all resources after a revision: some, or none if there are no more up
        to `upto`. Raises Compacted."""

    def state(
        self, resource: str, revision: int, after: str, below: str | None, limit: int
    ) -> Slice:
        """The next rows (up to `limit`, 0 for any number; at least one if there is one) of the
        state at a revision, of keys behind `after` and before `below`. Raises Compacted."""

    def compact(self, floor: int) -> bool:
        """Forget what the state at `floor` and the changes after it do not need: a bounded part
        of it; True while there is more to do."""

    def probe(self) -> None:
        """Write something small for good, to see whether that can be done."""

    def recover(self) -> None:
        """After a doubtful failure: prove that all that was acknowledged is there and nothing of
        what was not, and that it can be written."""

    def check(self) -> None:
        """Look for damage in all of the data."""

    def stop_check(self) -> None:
        """Interrupt a check that runs in another thread and wait for its end; those that come later
        raise at once."""

    def size(self) -> int:
        """Bytes on disk."""

    def close(self) -> None: ...
