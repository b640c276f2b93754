"""The data directory: locked by one process, private, and with a complete database."""

from __future__ import annotations

import fcntl
import os
from contextlib import suppress
from pathlib import Path
from zlib import crc32

from fairlead.storage.backend import StorageError

PRIVATE = 0o600
_WAL_SUFFIXES = ("-wal", "-shm")


class Directory:
    """The files of a store in a directory."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.database = path / "fairlead.db"
        self.unfinished = path / "fairlead.db.new"  # a database under construction
        self._lock_path = path / "lock"
        self._lock: int | None = None

    def lock(self) -> None:
        """Take the lock; raises StorageError if another server holds it or the directory is not
        writable."""
        if self._lock is not None:
            return
        try:
            self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
            lock = os.open(self._lock_path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, PRIVATE)
        except OSError as error:
            raise StorageError(f"cannot use {self.path}: {error.strerror}") from None
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(lock)
            raise StorageError(
                f"{self.path} is in use by another server (it holds {self._lock_path})"
            ) from None
        self._lock = lock
        with suppress(OSError):
            os.fchmod(lock, PRIVATE)

    def remove_empty(self) -> None:
        """Remove a directory that holds nothing but the lock."""
        with suppress(OSError):
            self._lock_path.unlink()
            self.path.rmdir()

    def unlock(self) -> None:
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def holds_database(self) -> bool:
        """Whether there is a database; raises StorageError if other files show that one is
        missing."""
        try:
            size = self.database.stat().st_size
        except FileNotFoundError:
            size = 0
        except OSError as error:
            raise StorageError(f"cannot use {self.database}: {error.strerror}") from None
        if size:
            return True
        wal = self._database_file("-wal")
        problem = "empty" if self.database.exists() else "missing"
        if wal.exists() and wal.stat().st_size:
            raise StorageError(
                f"{self.database} is {problem}, but {wal.name} beside it holds writes:"
                " put the database back, or use another directory"
            )
        pki = self.path / "pki"
        if pki.is_dir() and any(pki.iterdir()):
            raise StorageError(
                f"{self.database} is {problem}, but {pki} shows that this directory was in use:"
                " put the database back, or use another directory"
            )
        return False

    def start_database(self) -> Path:
        """Create an empty private file for a new database."""
        self.drop_unfinished()
        os.close(os.open(self.unfinished, os.O_CREAT | os.O_EXCL | os.O_WRONLY, PRIVATE))
        return self.unfinished

    def drop_unfinished(self) -> None:
        for suffix in ("", "-journal", *_WAL_SUFFIXES):
            self._with_suffix(self.unfinished, suffix).unlink(missing_ok=True)

    def finish_database(self) -> None:
        """Rename the new database into place, so that an incomplete one is never visible."""
        os.replace(self.unfinished, self.database)
        for suffix in _WAL_SUFFIXES:
            self._database_file(suffix).unlink(missing_ok=True)
        _sync(self.path)

    def finish_copy(self, path: Path) -> None:
        """Sync the unfinished database and rename it to `path`, another name in this directory."""
        _sync(self.unfinished)
        os.replace(self.unfinished, path)
        _sync(self.path)

    def make_private(self) -> None:
        """Make files of older releases private. SQLite creates new ones with the mode of the
        database."""
        for suffix in ("", *_WAL_SUFFIXES):
            path = self._database_file(suffix)
            with suppress(OSError):
                if path.stat().st_mode & 0o077:
                    path.chmod(PRIVATE)

    def size(self) -> int:
        total = 0
        for suffix in ("", "-wal"):
            with suppress(FileNotFoundError):
                total += self._database_file(suffix).stat().st_size
        return total

    def _database_file(self, suffix: str) -> Path:
        return self._with_suffix(self.database, suffix)

    @staticmethod
    def _with_suffix(path: Path, suffix: str) -> Path:
        return path.with_name(path.name + suffix)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


class Acknowledged:
    """The highest acknowledged revision, in its own file, to detect writes lost from a damaged
    database. Written after each commit, not synced."""

    def __init__(self, directory: Path) -> None:
        self._path = directory / "acknowledged"
        self._file: int | None = None

    def read(self) -> int:
        """Return the revision, 0 if the file is missing or torn."""
        try:
            number, _, checksum = self._path.read_bytes().partition(b" ")
            return int(number) if crc32(number) == int(checksum, 16) else 0
        except (OSError, ValueError):
            return 0

    def write(self, revision: int) -> None:
        if self._file is None:
            self._file = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, PRIVATE)
        number = b"%020d" % revision
        os.pwrite(self._file, b"%b %08x\n" % (number, crc32(number)), 0)

    def close(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None
