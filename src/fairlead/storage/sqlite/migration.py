"""Converts database files of older formats."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from zlib import crc32

from fairlead.storage.backend import Row, StorageError
from fairlead.storage.sqlite.format import Names, OldNames, create_tables


def old_dialect(db: sqlite3.Connection, names: OldNames) -> str:
    """Return the dialect of a file of format 1, judged by its system namespace; "" if unknown."""
    for dialect, namespace in names.system_namespaces.items():
        query = "SELECT 1 FROM log WHERE key = ? LIMIT 1"
        if db.execute(query, (f"namespaces:{namespace}",)).fetchone():
            return dialect
    return ""


def migrate(db: sqlite3.Connection, path: object, dialect: str, old: OldNames) -> None:
    """Migrate a file from format 1 to the current one, in one transaction."""
    db.execute("BEGIN")
    state = dict(db.execute("SELECT name, value FROM state"))
    db.execute("ALTER TABLE log RENAME TO old_log")
    db.execute("DROP TABLE state")
    compacted = int(state["compacted"])
    create_tables(db, dialect, compacted=compacted, highest=int(state["highest"]), swept=compacted)
    names = Names(iter(()))
    insert = "INSERT INTO log VALUES (?,?,?,?,?,?,?)"
    for row in _old_rows(db, path, old):
        if missing := names.missing([row]):
            names.add(missing)
            db.executemany("INSERT INTO names (name, id) VALUES (?, ?)", missing.items())
        db.execute(insert, names.values([row]))
    db.execute("DROP TABLE old_log")
    db.execute("COMMIT")


def _old_rows(db: sqlite3.Connection, path: object, old: OldNames) -> Iterator[Row]:
    live: dict[str, int] = {}
    for revision, old_key, value, stored_checksum in db.execute(
        "SELECT revision, key, value, sum FROM old_log ORDER BY revision"
    ):
        if (
            type(old_key) is not str
            or crc32(value or b"", crc32(old_key.encode())) != stored_checksum
        ):
            raise StorageError(f"{path} is damaged at revision {revision}")
        prefix, _, key = old_key.partition(":")
        resource, api_version = old.prefixes.get(prefix) or (f"unknown/{prefix}", "")
        yield Row(revision, resource, key, live.get(old_key, 0), api_version, value)
        if value is None:
            live.pop(old_key, None)
        else:
            live[old_key] = revision
