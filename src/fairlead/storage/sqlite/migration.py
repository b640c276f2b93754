"""Converts database files between formats, forward and back.

Each conversion is one transaction: a process that is killed leaves the old file or the new one. A
server converts an older file when it opens it (`convert`); `migrate_directory` also goes back, and
keeps a copy of the file as it was.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from zlib import crc32

from fairlead.base.quotes import quote
from fairlead.storage.backend import Row, StorageError
from fairlead.storage.sqlite.directory import Acknowledged, Directory
from fairlead.storage.sqlite.format import (
    COLUMNS,
    Names,
    OldNames,
    State,
    check_kind,
    check_pages,
    checked_row,
    connect,
    create_tables,
    fault_of,
    lost_writes,
    read_state,
    recorded_release,
)

OLDEST = 1
_UNKNOWN = "unknown/"  # resources of format 1 that have no current name


def convert(db: sqlite3.Connection, path: Path, target: int, dialect: str, names: OldNames) -> None:
    """Convert a file to another format in one transaction. Raises StorageError and sqlite3.Error,
    and leaves the file as it was."""
    version = check_kind(db, path)
    db.execute("BEGIN IMMEDIATE")
    try:
        while version < target:
            _FORWARD[version](db, path, dialect, names)
            version += 1
        while version > target:
            _BACK[version](db, path, names)
            version -= 1
        db.execute("COMMIT")
    except BaseException as error:
        if db.in_transaction:
            db.execute("ROLLBACK")
        if isinstance(error, KeyError | ValueError | TypeError):
            raise StorageError(f"{path} is damaged: {error}") from None
        raise


def old_dialect(db: sqlite3.Connection, names: OldNames) -> str:
    """Return the dialect of a file of format 1, judged by its system namespace; "" if unknown."""
    for dialect, namespace in names.system_namespaces.items():
        query = "SELECT 1 FROM log WHERE key = ? LIMIT 1"
        if db.execute(query, (f"namespaces:{namespace}",)).fetchone():
            return dialect
    return ""


# Format 1 stored `PREFIX:KEY` in one column instead of resource, key and apiVersion, and did not
# record the dialect.

_FORMAT_1 = """
CREATE TABLE log (
    revision INTEGER PRIMARY KEY, key TEXT NOT NULL, value BLOB, sum INTEGER NOT NULL
);
CREATE TABLE state (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
"""
# Finishes the compaction: format 1 does not record how far the deletion of old rows has come.
_SWEEP = (
    "DELETE FROM log WHERE revision IN (SELECT previous FROM log WHERE revision <= ?)",
    "DELETE FROM log WHERE revision <= ? AND value IS NULL",
)


def _from_1_to_2(db: sqlite3.Connection, path: Path, dialect: str, old: OldNames) -> None:
    state = read_state(db, path)
    db.execute("ALTER TABLE log RENAME TO old_log")
    db.execute("DROP TABLE state")
    compacted = state.compacted
    create_tables(db, dialect, compacted=compacted, highest=state.highest, swept=compacted)
    names = Names(iter(()))
    insert = "INSERT INTO log VALUES (?,?,?,?,?,?,?)"
    for row in _old_rows(db, path, old):
        if missing := names.missing([row]):
            names.add(missing)
            db.executemany("INSERT INTO names (name, id) VALUES (?, ?)", missing.items())
        db.execute(insert, names.values([row]))
    db.execute("DROP TABLE old_log")


def _old_rows(db: sqlite3.Connection, path: Path, old: OldNames) -> Iterator[Row]:
    live: dict[str, int] = {}
    for revision, old_key, value, stored_checksum in db.execute(
        "SELECT revision, key, value, sum FROM old_log ORDER BY revision"
    ):
        if type(old_key) is not str or _old_checksum(old_key, value) != stored_checksum:
            raise StorageError(f"{path} is damaged at revision {revision}")
        prefix, _, key = old_key.partition(":")
        resource, api_version = old.prefixes.get(prefix) or (f"{_UNKNOWN}{prefix}", "")
        yield Row(revision, resource, key, live.get(old_key, 0), api_version, value)
        if value is None:
            live.pop(old_key, None)
        else:
            live[old_key] = revision


def _old_checksum(old_key: str, value: bytes | None) -> int:
    return crc32(value or b"", crc32(old_key.encode()))


def _from_2_to_1(db: sqlite3.Connection, path: Path, old: OldNames) -> None:
    """Convert a file in which all objects are of resources and versions of format 1."""
    state = read_state(db, path)
    names = Names(db.execute("SELECT id, name FROM names"))
    prefixes = {resource: (prefix, version) for prefix, (resource, version) in old.prefixes.items()}
    for statement in _SWEEP:
        db.execute(statement, (state.compacted,))
    db.execute("ALTER TABLE log RENAME TO new_log")
    db.execute("DROP TABLE state")
    for statement in _FORMAT_1.split(";")[:-1]:
        db.execute(statement)
    for raw in db.execute(f"SELECT {COLUMNS} FROM new_log ORDER BY revision"):
        row = checked_row(names, raw, path)
        old_key = _old_key(row, prefixes, path)
        checksum = _old_checksum(old_key, row.value)
        values = (row.revision, old_key, row.value, checksum)
        db.execute("INSERT INTO log VALUES (?,?,?,?)", values)
    numbers = [("compacted", state.compacted), ("highest", state.highest)]
    db.executemany("INSERT INTO state VALUES (?, ?)", numbers)
    db.execute("DROP TABLE new_log")
    db.execute("DROP TABLE names")
    db.execute("PRAGMA user_version = 1")


def _old_key(row: Row, prefixes: dict[str, tuple[str, str]], path: Path) -> str:
    """Return the text for a row; raises StorageError if format 1 cannot have it."""
    resource, key, api_version = row.resource, row.key, row.api_version
    if resource.startswith(_UNKNOWN):
        return f"{resource.removeprefix(_UNKNOWN)}:{key}"
    prefix, old_version = prefixes.get(resource, ("", ""))
    what = f"{path} cannot go back to format 1: {resource} {key}"
    if not prefix:
        raise StorageError(f"{what} is of a resource that it does not have")
    if row.value is not None and api_version != old_version:
        raise StorageError(f"{what} is stored in version {api_version}, not {old_version}")
    if row.value is not None and not row.is_plain:
        raise StorageError(f"{what} is encrypted, which it does not have")
    return f"{prefix}:{key}"


_FORWARD = {1: _from_1_to_2}
_BACK = {2: _from_2_to_1}


# Conversion of the data directory of a stopped server.


@dataclass(frozen=True, slots=True)
class Migrated:
    """The result of `migrate_directory`. `copy` is the file as it was, None if nothing was done;
    `release` the one that last wrote it, "" if it is not recorded."""

    database: Path
    before: int
    after: int
    release: str
    copy: Path | None


def migrate_directory(
    directory: Path, target: int, dialect: str, names_for: Callable[[str], OldNames]
) -> Migrated:
    """Convert the store of a stopped server. `dialect` may be empty if the file shows its dialect.
    Raises StorageError; the directory is unchanged then."""
    files = Directory(directory)
    if not files.database.is_file():
        raise StorageError(f"{directory} holds no store")
    files.lock()
    try:
        files.drop_unfinished()
        db = connect(files.database)
        try:
            return _migrate(db, files, target, dialect, names_for)
        finally:
            db.close()
    except sqlite3.Error as error:
        raise StorageError(f"cannot migrate {files.database}: {error}", fault_of(error)) from None
    except OSError as error:
        raise StorageError(f"cannot migrate {files.database}: {error.strerror}") from None
    finally:
        files.unlock()


def _migrate(
    db: sqlite3.Connection,
    files: Directory,
    target: int,
    dialect: str,
    names_for: Callable[[str], OldNames],
) -> Migrated:
    path = files.database
    before, release = check_kind(db, path), recorded_release(db)
    if before == target:
        return Migrated(path, before, target, release, None)
    db.execute("PRAGMA synchronous = FULL")
    state = _check_whole(db, path)
    names = names_for(dialect)
    # Format 1 does not record the dialect; its system namespace shows it.
    recorded = old_dialect(db, names) if before == OLDEST else state.dialect
    dialect = _chosen_dialect(path, recorded, dialect, names)
    copy = _copy(db, files, f"format-{before}.revision-{state.revision}")
    try:
        convert(db, path, target, dialect, names_for(dialect))
    except BaseException:
        copy.unlink()
        raise
    return Migrated(path, before, target, release, copy)


def _check_whole(db: sqlite3.Connection, path: Path) -> State:
    """Return the state of a file; raises StorageError if the file is damaged or acknowledged writes
    are missing."""
    check_pages(db, path)
    state = read_state(db, path)
    acknowledged = Acknowledged(path.parent).read()
    if state.revision < acknowledged:
        raise StorageError(lost_writes(path, state.revision, acknowledged))
    return state


def _chosen_dialect(path: Path, recorded: str, dialect: str, names: OldNames) -> str:
    """Return the dialect of a file, or `dialect` if the file does not show it; raises StorageError
    if the two differ or both are empty."""
    if recorded and recorded not in names.system_namespaces:
        raise StorageError(f"{path} is of an unknown dialect, {quote(recorded)}")
    if dialect and recorded and dialect != recorded:
        raise StorageError(f"{path} holds objects of the {recorded} dialect")
    if not recorded and not dialect:
        raise StorageError(f"{path} does not show its dialect: name it with --dialect")
    return recorded or dialect


def _copy(db: sqlite3.Connection, files: Directory, suffix: str) -> Path:
    """Copy the database beside itself. The copy appears under its name when it is complete."""
    path = files.database
    path = path.with_name(f"{path.name}.{suffix}")
    try:
        copy = connect(files.start_database())
        try:
            db.backup(copy)
        finally:
            copy.close()
        files.finish_copy(path)
    except BaseException:
        files.drop_unfinished()
        raise
    return path
