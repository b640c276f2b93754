"""The interface between the store in memory and the log that keeps it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol


class StorageError(Exception):
    """The store cannot do its work: damaged, locked, full, or written by a newer release."""


@dataclass(frozen=True, slots=True)
class Record:
    """One row of the log; `value` is None when the key was deleted."""

    revision: int
    key: str
    value: bytes | None


class Log(Protocol):
    """An append-only log of revisions. All calls but `open` and `close` come from one thread."""

    def open(self) -> int:
        """Take hold of the log; gives the revision up to which history is gone."""

    def records(self) -> Iterator[Record]:
        """Every record that is kept, in the order of revisions."""

    def append(self, records: list[Record]) -> None:
        """Keep these records for good, all or none."""

    def compact(self, revision: int, superseded: Iterable[int]) -> None:
        """Forget the history up to `revision`, which are the `superseded` revisions."""

    def size(self) -> int:
        """Bytes on disk."""

    def close(self) -> None: ...
