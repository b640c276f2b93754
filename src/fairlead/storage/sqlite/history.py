"""Reads older states and changes of a SQLite store, concurrently with the writer."""

from __future__ import annotations

import sqlite3
import threading
from bisect import bisect_left, bisect_right
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from fairlead.storage.backend import Compacted, Fault, Row, Slice, Step, StorageError
from fairlead.storage.sqlite.format import COLUMNS, Names, connect, fault_of, sound

_ROWS_A_PIECE = 500
_BYTES_A_PIECE = 4 << 20
_MAX_LISTINGS = 4


class SqliteHistory:
    """Reads through its own connection, opened on first use. Each result comes from one read
    transaction and is bounded in size. `names` is the backend's table at the time of the call."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None
        self._listings: OrderedDict[tuple[str, int], list[tuple[str, int]]] = OrderedDict()

    def close(self) -> None:
        with self._lock:
            if self._connection is not None:
                with suppress(sqlite3.Error):
                    self._connection.close()
                self._connection = None

    @contextmanager
    def _snapshot(self, oldest: int) -> Iterator[sqlite3.Connection]:
        """Yield a connection in a read transaction that has everything after a revision; raises
        Compacted if the floor is higher."""
        with self._lock:
            try:
                if self._connection is None:
                    self._connection = connect(self._path)
                db = self._connection
                db.execute("BEGIN")
                try:
                    query = "SELECT value FROM state WHERE name = 'compacted'"
                    if oldest < db.execute(query).fetchone()[0]:
                        raise Compacted(oldest)
                    yield db
                finally:
                    db.execute("ROLLBACK")
            except sqlite3.Error as error:
                raise StorageError(f"cannot read {self._path}: {error}", fault_of(error)) from None

    def changes(
        self, names: Names, resource: str, after: int, upto: int, key: str = ""
    ) -> list[Step]:
        """See `Backend.changes`."""
        found: list[Step] = []
        held = 0
        narrowed = ""
        wanted: list[int | str] = []
        if resource:
            narrowed, wanted = " AND resource = ?", [names.numbers.get(resource, 0)]
        if key:
            narrowed, wanted = f"{narrowed} AND key = ?", [*wanted, key]
        with self._snapshot(after) as db:
            for raw in db.execute(
                f"SELECT {COLUMNS} FROM log WHERE revision > ? AND revision <= ?"
                f"{narrowed} ORDER BY revision LIMIT ?",
                (after, upto, *wanted, _ROWS_A_PIECE),
            ):
                row = sound(names, raw, self._path)
                before = self._at(db, names, row.previous) if row.previous else None
                found.append(Step(row, before))
                held += len(row.value or b"") + (len(before.value or b"") if before else 0)
                if held > _BYTES_A_PIECE:
                    break
        return found

    def feed(self, names: Names, after: int, upto: int) -> list[Row]:
        """See `Backend.feed`."""
        found: list[Row] = []
        held = 0
        with self._snapshot(after) as db:
            for raw in db.execute(
                f"SELECT {COLUMNS} FROM log WHERE revision > ? AND revision <= ?"
                " ORDER BY revision LIMIT ?",
                (after, upto, _ROWS_A_PIECE),
            ):
                found.append(sound(names, raw, self._path))
                held += len(found[-1].value or b"")
                if held > _BYTES_A_PIECE:
                    break
        return found

    def _at(self, db: sqlite3.Connection, names: Names, revision: int) -> Row:
        raw = db.execute(f"SELECT {COLUMNS} FROM log WHERE revision = ?", (revision,)).fetchone()
        if raw is None:
            raise StorageError(
                f"{self._path} is damaged: revision {revision} is missing", Fault.FATAL
            )
        return sound(names, raw, self._path)

    def state(
        self,
        names: Names,
        resource: str,
        revision: int,
        after: str,
        below: str | None,
        limit: int,
    ) -> Slice:
        """See `Backend.state`."""
        with self._snapshot(revision) as db:
            listing = self._listing(db, names, resource, revision)
            start = bisect_right(listing, after, key=_key)
            end = bisect_left(listing, below, key=_key) if below is not None else len(listing)
            most = min(limit or _ROWS_A_PIECE, _ROWS_A_PIECE)
            rows: list[Row] = []
            held = 0
            for _, found in listing[start : min(start + most, end)]:
                row = self._at(db, names, found)
                rows.append(row)
                held += len(row.value or b"")
                if held > _BYTES_A_PIECE:
                    break
        return Slice(rows, max(end - start - len(rows), 0))

    def _listing(
        self, db: sqlite3.Connection, names: Names, resource: str, revision: int
    ) -> list[tuple[str, int]]:
        """Return the sorted keys of a resource at a revision with their row revisions; cached for
        the following pages."""
        wanted = (resource, revision)
        listing = self._listings.get(wanted)
        if listing is None:
            superseded: set[int] = set()
            listing = []
            for found, previous, key, is_deletion in db.execute(
                "SELECT revision, previous, key, value IS NULL FROM log"
                " WHERE revision <= ? AND resource = ? ORDER BY revision DESC",
                (revision, names.numbers.get(resource, 0)),
            ):
                if previous:
                    superseded.add(previous)
                if found in superseded:
                    superseded.discard(found)
                elif not is_deletion:
                    listing.append((key, found))
            listing.sort()
            while len(self._listings) >= _MAX_LISTINGS:
                self._listings.popitem(last=False)
            self._listings[wanted] = listing
        self._listings.move_to_end(wanted)
        return listing


def _key(item: tuple[str, int]) -> str:
    return item[0]
