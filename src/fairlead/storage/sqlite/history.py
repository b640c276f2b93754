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
from fairlead.storage.sqlite.format import COLUMNS, Names, checked_row, connect, fault_of

_ROWS_PER_PAGE = 500
_BYTES_PER_PAGE = 4 << 20
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
        steps: list[Step] = []
        bytes_read = 0
        condition = ""
        parameters: list[int | str] = []
        if resource:
            condition, parameters = " AND resource = ?", [names.numbers.get(resource, 0)]
        if key:
            condition, parameters = f"{condition} AND key = ?", [*parameters, key]
        with self._snapshot(after) as db:
            for raw in db.execute(
                f"SELECT {COLUMNS} FROM log WHERE revision > ? AND revision <= ?"
                f"{condition} ORDER BY revision LIMIT ?",
                (after, upto, *parameters, _ROWS_PER_PAGE),
            ):
                row = checked_row(names, raw, self._path)
                before = self._row_at(db, names, row.previous) if row.previous else None
                steps.append(Step(row, before))
                bytes_read += len(row.value or b"") + (len(before.value or b"") if before else 0)
                if bytes_read > _BYTES_PER_PAGE:
                    break
        return steps

    def feed(self, names: Names, after: int, upto: int) -> list[Row]:
        """See `Backend.feed`."""
        rows: list[Row] = []
        bytes_read = 0
        with self._snapshot(after) as db:
            for raw in db.execute(
                f"SELECT {COLUMNS} FROM log WHERE revision > ? AND revision <= ?"
                " ORDER BY revision LIMIT ?",
                (after, upto, _ROWS_PER_PAGE),
            ):
                rows.append(checked_row(names, raw, self._path))
                bytes_read += len(rows[-1].value or b"")
                if bytes_read > _BYTES_PER_PAGE:
                    break
        return rows

    def _row_at(self, db: sqlite3.Connection, names: Names, revision: int) -> Row:
        raw = db.execute(f"SELECT {COLUMNS} FROM log WHERE revision = ?", (revision,)).fetchone()
        if raw is None:
            raise StorageError(
                f"{self._path} is damaged: revision {revision} is missing", Fault.FATAL
            )
        return checked_row(names, raw, self._path)

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
            page_size = min(limit or _ROWS_PER_PAGE, _ROWS_PER_PAGE)
            rows: list[Row] = []
            bytes_read = 0
            for _, row_revision in listing[start : min(start + page_size, end)]:
                row = self._row_at(db, names, row_revision)
                rows.append(row)
                bytes_read += len(row.value or b"")
                if bytes_read > _BYTES_PER_PAGE:
                    break
        return Slice(rows, max(end - start - len(rows), 0))

    def _listing(
        self, db: sqlite3.Connection, names: Names, resource: str, revision: int
    ) -> list[tuple[str, int]]:
        """Return the sorted keys of a resource at a revision with their row revisions; cached for
        the following pages."""
        listing_key = (resource, revision)
        listing = self._listings.get(listing_key)
        if listing is None:
            superseded: set[int] = set()
            listing = []
            for row_revision, previous, key, is_deletion in db.execute(
                "SELECT revision, previous, key, value IS NULL FROM log"
                " WHERE revision <= ? AND resource = ? ORDER BY revision DESC",
                (revision, names.numbers.get(resource, 0)),
            ):
                if previous:
                    superseded.add(previous)
                if row_revision in superseded:
                    superseded.discard(row_revision)
                elif not is_deletion:
                    listing.append((key, row_revision))
            listing.sort()
            while len(self._listings) >= _MAX_LISTINGS:
                self._listings.popitem(last=False)
            self._listings[listing_key] = listing
        self._listings.move_to_end(listing_key)
        return listing


def _key(item: tuple[str, int]) -> str:
    return item[0]
