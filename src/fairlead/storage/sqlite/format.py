"""The format of the database file: tables, checksums, creation, and the release that wrote it."""

from __future__ import annotations

import re
import shlex
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote
from zlib import crc32

from fairlead import __version__
from fairlead.storage.backend import Fault, Row, StorageError, newer_format

FORMAT = 2
APPLICATION_ID = 0x0FA1_41EA
INCREMENTAL = 2

COLUMNS = "revision, resource, key, previous, version, sum, value"
COLUMN_COUNT = 7
_SCHEMA = """
CREATE TABLE names (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE log (
    revision INTEGER PRIMARY KEY, resource INTEGER NOT NULL, key TEXT NOT NULL,
    previous INTEGER NOT NULL, version INTEGER NOT NULL, sum INTEGER NOT NULL, value BLOB
);
"""
_RELEASE = re.compile(r"[0-9A-Za-z.+-]{1,64}")
_STATE = "CREATE TABLE state (name TEXT PRIMARY KEY, value NOT NULL) WITHOUT ROWID"

RawRow = tuple[int, int, str, int, int, int, bytes | None]


@dataclass(frozen=True, slots=True)
class OldNames:
    """Names missing in files of format 1: the resource and apiVersion of each key prefix, and the
    system namespace of each dialect."""

    prefixes: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    system_namespaces: Mapping[str, str] = field(default_factory=dict)


def checksum(row: Row) -> int:
    """Return a checksum over all columns, so that a changed or moved value is detected."""
    revision, resource, key, previous, api_version, value = row
    if value is None:
        return crc32(f"{revision} {previous} {resource} {api_version} -{key}".encode())
    head = f"{revision} {previous} {resource} {api_version} ={key}"
    return crc32(value, crc32(head.encode()))


class Names:
    """The table of resources and apiVersions, which rows refer to by small numbers."""

    def __init__(self, rows: Iterator[tuple[int, str]]) -> None:
        self.by_number: dict[int, str] = dict(rows)
        self.numbers: dict[str, int] = {name: number for number, name in self.by_number.items()}

    def have_numbers(self, rows: list[Row]) -> bool:
        """Whether all names in these rows have numbers."""
        numbers = self.numbers
        for row in rows:
            if row.resource not in numbers or row.api_version not in numbers:
                return False
        return True

    def missing(self, rows: list[Row]) -> dict[str, int]:
        """Return new numbers for the names in these rows that have none."""
        missing: dict[str, int] = {}
        numbers = self.numbers
        for row in rows:
            for name in (row.resource, row.api_version):
                if name not in numbers and name not in missing:
                    missing[name] = max(self.by_number, default=0) + len(missing) + 1
        return missing

    def add(self, numbers: Mapping[str, int]) -> None:
        for name, number in numbers.items():
            self.numbers[name] = number
            self.by_number[number] = name

    def row(self, raw: RawRow) -> Row | None:
        """Decode a row; None if its types or checksum are wrong."""
        revision, resource, key, previous, version, stored_checksum, value = raw
        names = self.by_number
        if resource not in names or version not in names or type(key) is not str:
            return None
        if value is not None and type(value) is not bytes:
            return None
        row = Row(revision, names[resource], key, previous, names[version], value)
        return row if checksum(row) == stored_checksum else None

    def values(self, rows: Iterable[Row]) -> list[int | str | bytes | None]:
        """Return the parameters to insert these rows; all names must have numbers."""
        numbers = self.numbers
        parameters: list[int | str | bytes | None] = []
        for row in rows:
            revision, resource, key, previous, api_version, value = row
            version = numbers[api_version]
            parameters += (
                revision,
                numbers[resource],
                key,
                previous,
                version,
                checksum(row),
                value,
            )
        return parameters


def create(db: sqlite3.Connection, dialect: str) -> None:
    """Create the tables in an empty file."""
    db.execute(f"PRAGMA auto_vacuum = {INCREMENTAL}")
    db.execute("PRAGMA journal_mode = WAL")
    db.execute("BEGIN")
    create_tables(db, dialect)
    db.execute("COMMIT")


def create_tables(db: sqlite3.Connection, dialect: str, **state: int) -> None:
    for statement in _SCHEMA.split(";")[:-1]:
        db.execute(statement)
    db.execute(_STATE)
    numbers = {"compacted": 0, "highest": 0, "swept": 0, "probe": 0, **state}
    texts = {"dialect": dialect, "release": __version__}
    db.executemany("INSERT INTO state VALUES (?, ?)", [*numbers.items(), *texts.items()])
    db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    db.execute(f"PRAGMA user_version = {FORMAT}")


def check_kind(db: sqlite3.Connection, path: Path) -> int:
    """Return the format of a database; raises StorageError if this release cannot read it."""
    if _pragma(db, "application_id") != APPLICATION_ID:
        raise StorageError(f"{path} is not a Fairlead store")
    version = _pragma(db, "user_version")
    if version < 1:
        raise StorageError(f"{path} is damaged: it has format {version}")
    if version > FORMAT:
        directory = shlex.quote(str(path.parent))
        raise StorageError(
            f"{path} {newer_format(version, FORMAT, recorded_release(db))}, or go back with its"
            f" command `fairlead migrate --data-dir {directory} --to-format {FORMAT}`"
        )
    return version


def recorded_release(db: sqlite3.Connection) -> str:
    """Return the release that last wrote a file of any format; "" if it is not recorded."""
    with suppress(sqlite3.Error):
        row = db.execute("SELECT value FROM state WHERE name = 'release'").fetchone()
        if row is not None and _RELEASE.fullmatch(str(row[0])):
            return str(row[0])
    return ""


def record_release(db: sqlite3.Connection) -> None:
    """Record that this release writes the file."""
    db.execute("INSERT OR REPLACE INTO state VALUES ('release', ?)", (__version__,))


def _pragma(db: sqlite3.Connection, pragma: str) -> int:
    return int(db.execute(f"PRAGMA {pragma}").fetchone()[0])


# Opening files, and the classification of their errors and rows.

_PASSING = {
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_READONLY,
    sqlite3.SQLITE_BUSY,
    sqlite3.SQLITE_LOCKED,
}
_FATAL = {sqlite3.SQLITE_IOERR_FSYNC, sqlite3.SQLITE_IOERR_DIR_FSYNC}
_UNWRITABLE = {
    sqlite3.SQLITE_IOERR_WRITE,
    sqlite3.SQLITE_IOERR_TRUNCATE,
    sqlite3.SQLITE_IOERR_SHMOPEN,
    sqlite3.SQLITE_IOERR_SHMSIZE,
}


def fault_of(error: BaseException) -> Fault:
    if isinstance(error, StorageError):
        return error.fault
    code = getattr(error, "sqlite_errorcode", 0)
    if code in _FATAL:
        return Fault.FATAL
    if code == sqlite3.SQLITE_READONLY_DBMOVED:
        return Fault.DOUBTFUL
    return Fault.PASSING if code & 0xFF in _PASSING else Fault.DOUBTFUL


def fault_in_recovery(error: BaseException) -> Fault:
    """As `fault_of`, for a step of a recovery. That is repeated as a whole, so a disk that refuses
    writes (mounted read-only, over a quota) may accept them at the next try."""
    code = getattr(error, "sqlite_errorcode", 0)
    return Fault.PASSING if code in _UNWRITABLE else fault_of(error)


def connect(path: Path) -> sqlite3.Connection:
    """Open an existing file. The caller serializes use of the connection between threads."""
    return sqlite3.connect(
        f"file:{quote(str(path))}?mode=rw",
        uri=True,
        isolation_level=None,
        check_same_thread=False,
        cached_statements=512,
    )


def check_pages(db: sqlite3.Connection, path: Path) -> None:
    """Raise StorageError if SQLite finds a damaged page."""
    result = str(db.execute("PRAGMA quick_check(1)").fetchone()[0])
    if result != "ok":
        raise StorageError(f"{path} is damaged: {' '.join(result.split())}", Fault.FATAL)


class State(NamedTuple):
    """The state of a store. Format 1 has no dialect and does not record how far compaction
    swept."""

    dialect: str
    compacted: int
    swept: int
    highest: int  # the store's revision at the last compaction, which may have deleted its row
    revision: int  # the store's revision: that of the last row in the log, at least `highest`


def read_state(db: sqlite3.Connection, path: Path) -> State:
    """Read the state of a file of any format; raises StorageError if values are missing or of
    another type."""
    rows = dict(db.execute("SELECT name, value FROM state"))
    if _pragma(db, "user_version") == 1:
        rows |= {"dialect": "", "swept": 0}
    dialect = rows.get("dialect")
    numbers: list[Any] = [rows.get(name) for name in ("compacted", "swept", "highest")]
    if not isinstance(dialect, str) or not all(isinstance(number, int) for number in numbers):
        raise StorageError(f"{path} is damaged: its table `state` is not whole", Fault.FATAL)
    compacted, swept, highest = numbers
    last = db.execute("SELECT ifnull(max(revision), 0) FROM log").fetchone()[0]
    return State(dialect, compacted, swept, highest, max(last, highest))


def lost_writes(path: Path, revision: int, acknowledged: int) -> str:
    return (
        f"{path} lost writes that were acknowledged: it ends at revision {revision}, but"
        f" {acknowledged} was reached"
    )


def checked_row(names: Names, raw: RawRow, path: Path) -> Row:
    """Decode a row; raises StorageError if its checksum or types are wrong."""
    row = names.row(raw)
    if row is None:
        raise StorageError(f"{path} is damaged at revision {raw[0]}", Fault.FATAL)
    return row
