"""The embedded backend: one SQLite file in WAL mode, every commit synced."""

from __future__ import annotations

import sqlite3
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

from fairlead import __version__
from fairlead.base.logs import Logger
from fairlead.storage.backend import (
    ConditionFailed,
    Conflict,
    Fault,
    Outcome,
    Row,
    Slice,
    Step,
    StorageError,
    Write,
)
from fairlead.storage.sqlite import format as file_format
from fairlead.storage.sqlite import migration
from fairlead.storage.sqlite.directory import Acknowledged, Directory
from fairlead.storage.sqlite.format import (
    COLUMN_COUNT,
    COLUMNS,
    Names,
    OldNames,
    check_pages,
    checked_row,
    connect,
    fault_in_recovery,
    fault_of,
    lost_writes,
    read_state,
    recorded_release,
)
from fairlead.storage.sqlite.history import SqliteHistory

logger = Logger("fairlead.storage")

_DAMAGED = {0, sqlite3.SQLITE_ERROR, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}
_ROWS_PER_STATEMENT = 200
_ROWS_PER_SWEEP = 500
_PAGES_PER_VACUUM = 256
_MAX_WAL_BYTES = 16 << 20


@cache
def _insertion(rows: int) -> str:
    placeholders = "(" + ",".join("?" * COLUMN_COUNT) + ")"
    return f"INSERT INTO log VALUES {','.join([placeholders] * rows)}"


class SqliteBackend:
    """The store in a directory, which one process uses at a time.

    A directory written in another `dialect` is refused. With `accept_lost_writes`, a store that
    lost acknowledged writes is opened as it is. With `records_release`, opening the store records
    the release of this server in it.
    """

    def __init__(
        self,
        directory: Path,
        dialect: str = "",
        old_names: OldNames | None = None,
        *,
        accept_lost_writes: bool = False,
        records_release: bool = False,
    ) -> None:
        self._directory = Directory(directory)
        self._acknowledged = Acknowledged(directory)
        self._dialect = dialect
        self._old_names = old_names or OldNames()
        self._accept_lost_writes = accept_lost_writes
        self._records_release = records_release
        self._connection: sqlite3.Connection | None = None
        self._checked_by: sqlite3.Connection | None = None  # connection of a running check
        self._is_ending = False
        self._history = SqliteHistory(self._directory.database)
        self._names = Names(iter(()))
        self._live: dict[str, dict[str, int]] = defaultdict(dict)  # revisions by resource and key
        self._swept = 0
        self._warned = False
        self.path = self._directory.database
        self.dialect = dialect
        self.revision = 0
        self.floor = 0

    @property
    def _db(self) -> sqlite3.Connection:
        if self._connection is None:
            raise StorageError(f"{self.path} is not open")
        return self._connection

    def lock(self) -> None:
        self._directory.lock()

    def open(self) -> None:
        self.lock()
        self._is_ending = False
        try:
            if not self._directory.holds_database():
                self._create()
            self._directory.make_private()
            with suppress(OSError):  # a killed migration left its unfinished copy
                self._directory.drop_unfinished()
            self._connection = connect(self.path)
            self._prepare()
            self._read_state()
        except (sqlite3.Error, OSError) as error:
            self.close()
            raise self._open_error(error) from None
        except BaseException:
            self.close()
            raise

    def _open_error(self, error: Exception) -> StorageError:
        full_code = getattr(error, "sqlite_errorcode", 0)
        if full_code == sqlite3.SQLITE_IOERR_SHMSIZE:
            return StorageError(f"cannot open {self.path}: the disk is full, its index has no room")
        code = full_code & 0xFF
        if isinstance(error, sqlite3.DatabaseError) and code in _DAMAGED:
            return StorageError(f"{self.path} is damaged or not a Fairlead store: {error}")
        return StorageError(f"cannot open {self.path}: {error}")

    def _create(self) -> None:
        db = connect(self._directory.start_database())
        try:
            file_format.create(db, self._dialect)
        finally:
            db.close()
        self._directory.finish_database()

    def _prepare(self) -> None:
        """Check the file's kind and dialect, and migrate it to the current format."""
        db = self._db
        version = file_format.check_kind(db, self.path)
        if version < file_format.FORMAT:
            self._check_dialect(migration.old_dialect(db, self._old_names))
            logger.info(
                "converting the file to a newer format",
                file=self.path,
                old=version,
                new=file_format.FORMAT,
            )
            migration.convert(db, self.path, file_format.FORMAT, self._dialect, self._old_names)
        db.execute("PRAGMA synchronous = FULL")
        db.execute(f"PRAGMA journal_size_limit = {_MAX_WAL_BYTES}")
        if db.execute("PRAGMA auto_vacuum").fetchone()[0] != file_format.INCREMENTAL:
            db.execute(f"PRAGMA auto_vacuum = {file_format.INCREMENTAL}")
            db.execute("VACUUM")

    def _check_dialect(self, dialect: str) -> None:
        if dialect and self._dialect and dialect != self._dialect:
            raise StorageError(
                f"{self.path.parent} holds a store of the {dialect} dialect: start with"
                f" --dialect {dialect}, or use another directory"
            )

    def _read_state(self) -> None:
        state = read_state(self._db, self.path)
        self.dialect, self.floor, self._swept = state.dialect, state.compacted, state.swept
        self.revision = state.revision
        self._check_dialect(self.dialect)
        self._names = Names(self._db.execute("SELECT id, name FROM names"))
        self._check_complete()
        if self._records_release and recorded_release(self._db) != __version__:
            self._record_release()

    def _record_release(self) -> None:
        """Record this release, unless the file cannot be written for now: it is still served."""
        try:
            file_format.record_release(self._db)
        except sqlite3.Error as error:
            if fault_of(error) is not Fault.PASSING:
                raise

    def _check_complete(self) -> None:
        """Raise StorageError if acknowledged revisions are missing, unless that is accepted."""
        acknowledged = self._acknowledged.read()
        if acknowledged <= self.revision:
            return
        if not self._accept_lost_writes:
            raise StorageError(
                f"{lost_writes(self.path, self.revision, acknowledged)}; restore the missing"
                " files, or continue without those writes with --accept-lost-writes"
            )
        logger.warning("continuing without revisions", first=self.revision + 1, last=acknowledged)
        self._db.execute("UPDATE state SET value = ? WHERE name = 'highest'", (acknowledged,))
        self.revision = acknowledged

    def heads(self) -> Iterator[Row]:
        superseded: set[int] = set()
        live, names = self._live, self._names
        try:
            for raw in self._db.execute(f"SELECT {COLUMNS} FROM log ORDER BY revision DESC"):
                row = checked_row(names, raw, self.path)
                if row.previous:
                    superseded.add(row.previous)
                if row.revision in superseded:
                    superseded.discard(row.revision)
                elif row.value is not None:
                    live[row.resource][row.key] = row.revision
                    yield row
        except sqlite3.Error as error:
            raise StorageError(f"{self.path} is damaged: {error}") from None

    def append(self, writes: Sequence[Write]) -> list[Outcome]:
        rows: list[Row] = []
        outcomes: list[Outcome] = []
        live = self._live
        updated: dict[tuple[str, str], int] = {}  # revisions after this batch's earlier writes
        revision = self.revision
        for write in writes:
            resource, key, value = write.resource, write.key, write.value
            location = (resource, key)
            current = updated.get(location)
            if current is None:
                current = live[resource].get(key, 0)
            if write.requires or write.expected != current:
                refusal = self._refusal(write, current, updated)
                if refusal is not None:
                    outcomes.append(refusal)
                    continue
            revision += 1
            write.revision = revision
            rows.append(Row(revision, resource, key, current, write.api_version, value))
            outcomes.append(revision)
            updated[location] = revision if value is not None else 0
        if rows:
            self._commit(rows)
            self._remember(rows, updated)
        return outcomes

    def _current(self, location: tuple[str, str], updated: dict[tuple[str, str], int]) -> int:
        revision = updated.get(location)
        return self._live[location[0]].get(location[1], 0) if revision is None else revision

    def _refusal(
        self, write: Write, current: int, updated: dict[tuple[str, str], int]
    ) -> Conflict | ConditionFailed | None:
        if write.expected_revision() != current:
            return Conflict(write.key)
        for condition in write.requires:
            if not condition.holds(self._current((condition.resource, condition.key), updated)):
                return ConditionFailed(condition)
        return None

    def _remember(self, rows: list[Row], updated: dict[tuple[str, str], int]) -> None:
        for (resource, key), revision in updated.items():
            if revision:
                self._live[resource][key] = revision
            else:
                self._live[resource].pop(key, None)
        self.revision = rows[-1].revision
        try:
            self._acknowledged.write(self.revision)
        except OSError as error:
            # The writes are durable; only a later loss of them would go unnoticed.
            if not self._warned:
                self._warned = True
                logger.warning("cannot record the acknowledged revision", err=error.strerror)

    def _commit(self, rows: list[Row]) -> None:
        if len(rows) <= _ROWS_PER_STATEMENT and self._names.have_numbers(rows):
            try:
                self._insert(self._names.values(rows))
            except BaseException as error:
                raise self._failure("write", error) from error
            return
        missing = self._names.missing(rows)
        names = Names(iter(self._names.by_number.items()))
        names.add(missing)
        with self._guarded("write"):
            self._db.execute("BEGIN")
            if missing:
                self._db.executemany("INSERT INTO names (name, id) VALUES (?, ?)", missing.items())
            for start in range(0, len(rows), _ROWS_PER_STATEMENT):
                self._insert(names.values(rows[start : start + _ROWS_PER_STATEMENT]))
            self._db.execute("COMMIT")
        self._names = names

    def _insert(self, values: list[int | str | bytes | None]) -> None:
        """Insert many rows with one statement, which releases the GIL once instead of once per
        row."""
        self._db.execute(_insertion(len(values) // COLUMN_COUNT), values)

    @contextmanager
    def _guarded(self, action: str) -> Iterator[None]:
        try:
            yield
        except BaseException as error:
            raise self._failure(action, error) from error

    def _failure(self, action: str, error: BaseException) -> StorageError:
        """Roll back and classify the error."""
        fault = fault_of(error)
        message = f"cannot {action} {self.path}: {error}"
        try:
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")
        except sqlite3.Error as worse:
            message += f"; nor undo that: {worse}"
            fault = Fault.FATAL if Fault.FATAL in (fault, fault_of(worse)) else Fault.DOUBTFUL
        return StorageError(message, fault)

    def probe(self) -> None:
        with self._guarded("write"):
            self._db.execute("UPDATE state SET value = value + 1 WHERE name = 'probe'")

    def recover(self) -> None:
        self._disconnect()
        try:
            self._connection = connect(self.path)
            self._db.execute("PRAGMA synchronous = FULL")
            self.check()
            self._drop_refused_writes()
            self._names = Names(self._db.execute("SELECT id, name FROM names"))
        except sqlite3.Error as error:
            fault = fault_in_recovery(error)
            raise StorageError(f"cannot trust {self.path} again: {error}", fault) from None

    def _drop_refused_writes(self) -> None:
        """Delete rows that a failed commit left behind: they were refused to their writers."""
        if read_state(self._db, self.path).revision < self.revision:
            raise StorageError(f"{self.path} lost writes that were acknowledged", Fault.FATAL)
        self._db.execute("BEGIN")
        self._db.execute("DELETE FROM log WHERE revision > ?", (self.revision,))
        self._db.execute("UPDATE state SET value = value + 1 WHERE name = 'probe'")
        self._db.execute("COMMIT")

    def check(self) -> None:
        db = connect(self.path)
        self._checked_by = db
        try:
            if self._is_ending:
                raise StorageError(f"{self.path} is being closed", Fault.PASSING)
            check_pages(db, self.path)
        except sqlite3.Error as error:
            fault = fault_in_recovery(error)
            raise StorageError(f"cannot check {self.path}: {error}", fault) from None
        finally:
            self._checked_by = None
            db.close()

    def stop_check(self) -> None:
        self._is_ending = True
        while (db := self._checked_by) is not None:
            with suppress(sqlite3.ProgrammingError):  # just closed
                db.interrupt()
            time.sleep(0.01)  # it may have been interrupted before its query began

    def compact(self, floor: int) -> bool:
        with self._guarded("compact"):
            db = self._db
            rows = db.execute(
                "SELECT revision, previous, value IS NULL FROM log"
                " WHERE revision > ? AND revision <= ? ORDER BY revision LIMIT ?",
                (self._swept, floor, _ROWS_PER_SWEEP),
            ).fetchall()
            deleted = [(previous,) for _, previous, _ in rows if previous]
            deleted += [(revision,) for revision, _, is_deletion in rows if is_deletion]
            swept = rows[-1][0] if len(rows) == _ROWS_PER_SWEEP else max(floor, self._swept)
            db.execute("BEGIN")
            state = {"compacted": max(floor, self.floor), "swept": swept, "highest": self.revision}
            db.executemany(
                "UPDATE state SET value = ?2 WHERE name = ?1 AND value < ?2", state.items()
            )
            db.executemany("DELETE FROM log WHERE revision = ?", deleted)
            db.execute("COMMIT")
            self._swept, self.floor = swept, max(floor, self.floor)
            return swept < floor or self._vacuum()

    def _vacuum(self) -> bool:
        """Return free pages to the file system if there are many; True if there are more."""
        free = self._pragma("freelist_count")
        enough = max(_PAGES_PER_VACUUM * 4, self._pragma("page_count") // 4)
        if free <= enough:
            return False
        self._db.execute(f"PRAGMA incremental_vacuum({_PAGES_PER_VACUUM})").fetchall()
        return free - _PAGES_PER_VACUUM > enough

    def _pragma(self, pragma: str) -> int:
        return int(self._db.execute(f"PRAGMA {pragma}").fetchone()[0])

    def changes(self, resource: str, after: int, upto: int, key: str = "") -> list[Step]:
        return self._history.changes(self._names, resource, after, upto, key)

    def feed(self, after: int, upto: int) -> list[Row]:
        return self._history.feed(self._names, after, upto)

    def state(
        self, resource: str, revision: int, after: str, below: str | None, limit: int
    ) -> Slice:
        return self._history.state(self._names, resource, revision, after, below, limit)

    def size(self) -> int:
        return self._directory.size()

    def _disconnect(self) -> None:
        self._history.close()
        if self._connection is not None:
            with suppress(sqlite3.Error):
                self._connection.close()
            self._connection = None

    def close(self) -> None:
        self._disconnect()
        self._acknowledged.close()
        self._directory.unlock()
