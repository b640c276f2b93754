"""Opens SQLite files, and classifies their errors and rows."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from urllib.parse import quote

from fairlead.storage.backend import Fault, Row, StorageError
from fairlead.storage.sqlite.format import Names, RawRow

_PASSING = {
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_READONLY,
    sqlite3.SQLITE_BUSY,
    sqlite3.SQLITE_LOCKED,
}
_FATAL = {sqlite3.SQLITE_IOERR_FSYNC, sqlite3.SQLITE_IOERR_DIR_FSYNC}


def fault_of(error: BaseException) -> Fault:
    if isinstance(error, StorageError):
        return error.fault
    code = getattr(error, "sqlite_errorcode", 0)
    if code in _FATAL:
        return Fault.FATAL
    if code == sqlite3.SQLITE_READONLY_DBMOVED:
        return Fault.DOUBTFUL
    return Fault.PASSING if code & 0xFF in _PASSING else Fault.DOUBTFUL


def connect(path: Path) -> sqlite3.Connection:
    """Open an existing file. The caller serializes use of the connection between threads."""
    return sqlite3.connect(
        f"file:{quote(str(path))}?mode=rw",
        uri=True,
        isolation_level=None,
        check_same_thread=False,
        cached_statements=512,
    )


def sound(names: Names, raw: RawRow, path: Path) -> Row:
    """Decode a row; raises StorageError if its checksum or types are wrong."""
    row = names.row(raw)
    if row is None:
        raise StorageError(f"{path} is damaged at revision {raw[0]}", Fault.FATAL)
    return row
