"""Reading the data directory of a server that does not run."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from fairlead.base.dialect import DIALECTS
from fairlead.base.records import dataclass
from fairlead.process.backup.archive import Header
from fairlead.storage.backend import Row, StorageError
from fairlead.storage.sqlite import format as file_format
from fairlead.storage.sqlite.backend import SqliteBackend
from fairlead.storage.sqlite.directory import Directory
from fairlead.storage.sqlite.files import connect


@dataclass(frozen=True, slots=True)
class StoppedStore:
    """What a data directory holds."""

    header: Header
    backend: SqliteBackend

    def rows(self) -> Iterator[Row]:
        return self.backend.heads()


@contextmanager
def stopped_store(directory: Path) -> Iterator[StoppedStore]:
    """The store of a directory, which belongs to the caller while the block runs. Nothing in it is
    changed. Raises StorageError, where a server runs on it as well."""
    database = Directory(directory).database
    if not database.is_file():
        raise StorageError(f"{directory} holds no store")
    backend = SqliteBackend(directory)
    backend.lock()
    try:
        _check_format(database)
        backend.open()
        if backend.dialect not in DIALECTS:
            raise StorageError(f"{database} is damaged: {backend.dialect!r} is no dialect")
        yield StoppedStore(Header.of(backend.dialect, backend.revision), backend)
    finally:
        backend.close()


def _check_format(database: Path) -> None:
    """An older file would be brought to this format by looking at it."""
    try:
        db = connect(database)
        try:
            found = file_format.check_kind(db, database)
        finally:
            db.close()
    except sqlite3.Error as error:
        raise StorageError(f"{database} is damaged or not a Fairlead store: {error}") from None
    if found < file_format.FORMAT:
        raise StorageError(
            f"{database} has format {found} of an older release: start a server on it once, which"
            " brings it up to date"
        )
