"""Creates the store of a directory from rows of another store."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path

from fairlead.storage.backend import Fault, Row, StorageError
from fairlead.storage.sqlite import format as file_format
from fairlead.storage.sqlite.directory import Acknowledged, Directory
from fairlead.storage.sqlite.format import COLUMN_COUNT, Names, connect, fault_of

_ROWS_PER_COMMIT = 2000
_INSERT = f"INSERT OR IGNORE INTO log VALUES ({','.join('?' * COLUMN_COUNT)})"
_DUPLICATES = (
    "SELECT name, key FROM log JOIN names ON names.id = log.resource"
    " GROUP BY resource, key HAVING count(*) > 1 LIMIT 1"
)


def load(directory: Path, dialect: str, rows: Iterable[Row], above: int, gap: int = 0) -> int:
    """Create a store from live rows, completely or not at all; returns its revision.

    Rows keep their revisions. The store's own revision exceeds `above`, and all revisions ever
    acknowledged in this directory, by `gap`; its history begins there, so clients with older
    revisions get Compacted. Rows of one commit may share a revision; all but one of them get new
    ones. Raises StorageError if a store exists already or cannot be written.
    """
    with _empty(directory) as target:
        path = target.start_database()
        base = max(above, Acknowledged(directory).read()) + gap
        db = connect(path)
        try:
            file_format.create(db, dialect)
            revision = _fill(db, rows, base)
            _check_unique(db)
            _set_revision(db, revision)
            _checkpoint(db)
        except sqlite3.Error as error:
            raise StorageError(f"cannot write {path}: {error}", fault_of(error)) from None
        finally:
            db.close()
        target.finish_database()
    return revision


@contextmanager
def _empty(directory: Path) -> Iterator[Directory]:
    """Yield a locked directory without a store; restores its previous contents if the block
    fails."""
    existed = directory.exists()
    target = Directory(directory)
    target.lock()
    try:
        if target.size():
            raise StorageError(f"{directory} holds a store already", Fault.PASSING)
        try:
            yield target
        except BaseException:
            target.drop_unfinished()
            if not existed:
                target.remove_empty()
            raise
    except OSError as error:
        raise StorageError(f"cannot write {directory}: {error.strerror}") from None
    finally:
        target.unlock()


def _fill(db: sqlite3.Connection, rows: Iterable[Row], revision: int) -> int:
    """Insert all rows; returns the highest revision, at least the given one."""
    names = Names(iter(()))
    rows = iter(rows)
    while group := list(islice(rows, _ROWS_PER_COMMIT)):
        db.execute("BEGIN")
        if missing := names.missing(group):
            names.add(missing)
            db.executemany("INSERT INTO names (name, id) VALUES (?, ?)", missing.items())
        for row in group:
            if not db.execute(_INSERT, names.values([row])).rowcount:
                revision += 1
                db.execute(_INSERT, names.values([row._replace(revision=revision)]))
        db.execute("COMMIT")
    return revision


def _check_unique(db: sqlite3.Connection) -> None:
    duplicate = db.execute(_DUPLICATES).fetchone()
    if duplicate is not None:
        raise StorageError(f"{duplicate[0]} {duplicate[1]} occurs twice", Fault.PASSING)


def _set_revision(db: sqlite3.Connection, revision: int) -> None:
    db.execute(
        "UPDATE state SET value = ? WHERE name IN ('compacted', 'highest', 'swept')", (revision,)
    )


def _checkpoint(db: sqlite3.Connection) -> None:
    """Checkpoint the WAL, so that the file about to be renamed is complete."""
    busy, wal_pages, copied_pages = db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    if busy or wal_pages != copied_pages:
        raise StorageError("the database could not be written to one file")
