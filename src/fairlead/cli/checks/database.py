"""Checks the SQLite store of a data directory. Reads only, also while a server writes to it."""

from __future__ import annotations

import shlex
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

from fairlead.base.dialect import DIALECTS
from fairlead.cli.checks.findings import Finding, error, note
from fairlead.storage.backend import Row, StorageError
from fairlead.storage.sqlite import format as file_format
from fairlead.storage.sqlite.directory import Acknowledged, Directory
from fairlead.storage.sqlite.format import Names

_LARGE_WAL = 64 << 20
_MB = 1 << 20
_RESTORE = "Restore a backup into another directory"


class Contents(NamedTuple):
    """What a store holds: its state, and the newest row of each object."""

    state: file_format.State
    rows: list[Row]


class DatabaseCheck:
    """One look at a store. `contents` is None if the store cannot be read."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._files = Directory(directory)
        self._path = self._files.database
        self.contents: Contents | None = None

    def findings(self) -> Iterator[Finding]:
        try:
            if not self._files.holds_database():
                yield note(self._path, "there is no store yet", "The first start creates it")
                return
            with closing(self._open()) as db:
                yield from self._check(db)
        except StorageError as problem:
            yield error(self._path, str(problem), _RESTORE)
        except sqlite3.Error as problem:
            yield error(self._path, f"SQLite cannot read it: {problem}", _RESTORE)

    def _open(self) -> sqlite3.Connection:
        """Open the file read-only: then SQLite writes no checkpoint, either."""
        place = f"file:{quote(str(self._path))}?mode=ro"
        return sqlite3.connect(place, uri=True, isolation_level=None)

    def _check(self, db: sqlite3.Connection) -> Iterator[Finding]:
        # Read first: a server that writes meanwhile acknowledges more than the store has here.
        acknowledged = Acknowledged(self._directory).read()
        db.execute("BEGIN")  # one state of the store for all checks
        number = file_format.check_kind(db, self._path)
        if number < file_format.FORMAT:
            where = shlex.quote(str(self._directory))
            yield note(
                self._path,
                f"has format {number}, this release writes {file_format.FORMAT}",
                f"A start converts it, and so does: fairlead migrate --data-dir {where}",
            )
        file_format.check_pages(db, self._path)
        state = file_format.read_state(db, self._path)
        if state.dialect and state.dialect not in DIALECTS:
            yield error(self._path, f"is damaged: {state.dialect!r} is no dialect", _RESTORE)
        if acknowledged > state.revision:
            text = file_format.lost_writes(self._path, state.revision, acknowledged)
            yield error(self._path, text, "Put back the newest copy of the store, or a backup")
        yield from self._check_rows(db, state)
        yield from self._check_wal()

    def _check_rows(self, db: sqlite3.Connection, state: file_format.State) -> Iterator[Finding]:
        """Compare the checksum of every row, also of the history."""
        names = Names(db.execute("SELECT id, name FROM names"))
        newest: dict[tuple[str, str], Row] = {}
        damaged: list[int] = []
        for raw in db.execute(f"SELECT {file_format.COLUMNS} FROM log ORDER BY revision"):
            row = names.row(raw)
            if row is None:
                damaged.append(raw[0])
            elif row.value is None:
                newest.pop((row.resource, row.key), None)
            else:
                newest[row.resource, row.key] = row
        if damaged:
            text = f"{len(damaged)} rows are damaged, the first at revision {damaged[0]}"
            yield error(self._path, text, _RESTORE)
        self.contents = Contents(state, list(newest.values()))

    def _check_wal(self) -> Iterator[Finding]:
        wal = self._path.with_name(self._path.name + "-wal")
        size = wal.stat().st_size if wal.exists() else 0
        if size > _LARGE_WAL:
            yield note(wal, f"has {size // _MB:,} MB that are not in the database yet")
