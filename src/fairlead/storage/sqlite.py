"""The embedded log: one SQLite file in WAL mode, every commit synced."""

from __future__ import annotations

import fcntl
import os
import sqlite3
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO
from zlib import crc32

from fairlead.storage.log import Record, StorageError

FORMAT = 1
APPLICATION_ID = 0x0FA1_41EA
_ROWS_A_STATEMENT = 200

_SCHEMA = """
CREATE TABLE log (
    revision INTEGER PRIMARY KEY, key TEXT NOT NULL, value BLOB, sum INTEGER NOT NULL
);
CREATE TABLE state (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
INSERT INTO state VALUES ('compacted', 0), ('highest', 0);
"""


class SqliteLog:
    """A directory's log. The directory belongs to one process at a time."""

    def __init__(self, directory: Path) -> None:
        self.path = directory / "fairlead.db"
        self._lock_path = directory / "lock"
        self._lock: BinaryIO | None = None
        self._connection: sqlite3.Connection | None = None

    @property
    def _db(self) -> sqlite3.Connection:
        if self._connection is None:
            raise StorageError(f"{self.path} is not open")
        return self._connection

    def open(self) -> int:
        self._take_lock()
        try:
            self._connection = sqlite3.connect(
                self.path, isolation_level=None, check_same_thread=False, cached_statements=512
            )
            self._prepare()
            row = self._db.execute("SELECT value FROM state WHERE name = 'compacted'").fetchone()
            return int(row[0])
        except sqlite3.DatabaseError as error:
            self.close()
            raise StorageError(f"{self.path} is damaged or not a Fairlead store: {error}") from None
        except StorageError:
            self.close()
            raise

    def _take_lock(self) -> None:
        lock = self._lock_path.open("ab")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            lock.close()
            raise StorageError(
                f"{self.path.parent} is in use by another server (it holds {self._lock_path})"
            ) from None
        self._lock = lock

    def _prepare(self) -> None:
        db = self._db
        is_new = db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0] == 0
        if is_new:
            db.execute("PRAGMA journal_mode = WAL")
            db.executescript(
                f"BEGIN; {_SCHEMA} PRAGMA application_id = {APPLICATION_ID};"
                f" PRAGMA user_version = {FORMAT}; COMMIT;"
            )
            os.chmod(self.path, 0o600)
        if db.execute("PRAGMA application_id").fetchone()[0] != APPLICATION_ID:
            raise StorageError(f"{self.path} is not a Fairlead store")
        version = db.execute("PRAGMA user_version").fetchone()[0]
        if version > FORMAT:
            raise StorageError(
                f"{self.path} has format {version}, written by a newer release;"
                f" this one reads up to {FORMAT}"
            )
        db.execute("PRAGMA synchronous = FULL")

    def records(self) -> Iterator[Record]:
        highest = 0
        try:
            for revision, key, value, checksum in self._db.execute(
                "SELECT revision, key, value, sum FROM log ORDER BY revision"
            ):
                if not _is_sound(key, value) or _checksum(key, value) != checksum:
                    raise StorageError(f"{self.path} is damaged at revision {revision}")
                highest = revision
                yield Record(revision, key, value)
            expected = self._db.execute("SELECT value FROM state WHERE name = 'highest'").fetchone()
        except sqlite3.DatabaseError as error:
            raise StorageError(f"{self.path} is damaged: {error}") from None
        if highest < expected[0]:
            # Only the tail can have been compacted away (deletions); its revision still counts.
            yield Record(expected[0], "", None)

    def append(self, records: list[Record]) -> None:
        try:
            if len(records) <= _ROWS_A_STATEMENT:
                self._insert(records)
                return
            self._db.execute("BEGIN")
            for start in range(0, len(records), _ROWS_A_STATEMENT):
                self._insert(records[start : start + _ROWS_A_STATEMENT])
            self._db.execute("COMMIT")
        except sqlite3.Error as error:
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")
            raise StorageError(f"cannot write {self.path}: {error}") from error

    def _insert(self, records: list[Record]) -> None:
        """One statement for many rows: it lets go of the interpreter lock once, not once a row."""
        values: list[int | str | bytes | None] = []
        for record in records:
            checksum = _checksum(record.key, record.value)
            values += (record.revision, record.key, record.value, checksum)
        rows = ",".join(["(?,?,?,?)"] * len(records))
        self._db.execute(f"INSERT INTO log VALUES {rows}", values)

    def compact(self, revision: int, superseded: Iterable[int]) -> None:
        try:
            self._db.execute("BEGIN")
            self._db.execute(
                "UPDATE state SET value = (SELECT max(revision) FROM log) WHERE name = 'highest'"
                " AND value < (SELECT max(revision) FROM log)"
            )
            self._db.execute("UPDATE state SET value = ? WHERE name = 'compacted'", (revision,))
            self._db.executemany(
                "DELETE FROM log WHERE revision = ?", ((number,) for number in superseded)
            )
            self._db.execute("COMMIT")
        except sqlite3.Error as error:
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")
            raise StorageError(f"cannot compact {self.path}: {error}") from error

    def size(self) -> int:
        total = 0
        for path in (self.path, self.path.with_name(self.path.name + "-wal")):
            try:
                total += path.stat().st_size
            except FileNotFoundError:
                continue
        return total

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None
        if self._lock is not None:
            self._lock.close()
            self._lock = None


def _is_sound(key: object, value: object) -> bool:
    return isinstance(key, str) and (value is None or isinstance(value, bytes))


def _checksum(key: str, value: bytes | None) -> int:
    return crc32(value or b"", crc32(key.encode()))
