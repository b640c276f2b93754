"""Log files with rotation, written by one or by several processes. Backups are named as lumberjack
names them: `audit.log` is the current file, `audit-2024-05-06T07-08-09.123.log` a former one."""

from __future__ import annotations

import fcntl
import gzip
import os
import re
import shutil
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

from fairlead.base import clock
from fairlead.base.logs import Logger

logger = Logger("fairlead.api.audit")

_MODE = 0o600
_MEGABYTE = 1024 * 1024
_STAMP = "%Y-%m-%dT%H-%M-%S"
_STAMPED = re.compile(r"(\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d)\.(\d{3})\Z", re.ASCII)
_COMPRESSED = ".gz"


class Rotation(NamedTuple):
    """From `--audit-log-max…`: 0 means no limit; for the size it means 100."""

    max_megabytes: int = 0
    max_backups: int = 0
    max_days: int = 0
    compress: bool = False


class RotatingFile:
    """A log file that rotates at a size. Not thread-safe. `write` raises OSError if it cannot write
    all; it then removes the partial line, so that the file has whole lines only."""

    def __init__(self, path: Path, rotation: Rotation) -> None:
        self.path = path
        self._rotation = rotation
        self._maximum = (rotation.max_megabytes or 100) * _MEGABYTE
        self._tidying = threading.Lock()
        self._descriptor = -1
        self._free_bytes = -1  # bytes until the file is full; -1 if it is closed
        self._is_full = False  # and not renamed yet
        self._open()
        if self._rotation[1:] != (0, 0, False):
            self._tidy_later()

    def _open(self) -> None:
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
        self._descriptor = os.open(self.path, flags, _MODE)
        self._free_bytes = self._maximum - os.fstat(self._descriptor).st_size

    def write(self, data: bytes) -> None:
        size = len(data)
        if size > self._free_bytes:
            self._make_room(size)
        written = os.write(self._descriptor, data)
        if written != size:
            self._write_rest(data, written)
        self._free_bytes -= size

    def _make_room(self, size: int) -> None:
        if size > self._maximum:
            raise OSError(f"an event of {size} bytes is larger than the maximum size of a log file")
        if self._descriptor >= 0:
            self._is_full = True
            self._close_file()
        if self._is_full:
            self._rename()
        self._open()

    def _write_rest(self, data: bytes, written: int) -> None:
        try:
            while written < len(data):
                written += os.write(self._descriptor, data[written:])
        except OSError:
            with suppress(OSError):
                os.ftruncate(self._descriptor, os.fstat(self._descriptor).st_size - written)
            raise

    def _close_file(self) -> None:
        descriptor, self._descriptor, self._free_bytes = self._descriptor, -1, -1
        os.close(descriptor)

    def _rename(self) -> None:
        with suppress(FileNotFoundError):  # another process has moved it
            os.rename(self.path, self._free_name())
        self._is_full = False
        self._tidy_later()

    def _free_name(self) -> Path:
        moment = clock.now()
        while True:
            stamp = f"{moment:{_STAMP}}.{moment.microsecond // 1000:03d}"
            name = self.path.with_name(f"{self.path.stem}-{stamp}{self.path.suffix}")
            if not name.exists() and not _compressed_path(name).exists():
                return name
            moment += timedelta(milliseconds=1)

    def close(self) -> None:
        with self._tidying:  # wait for compression
            if self._descriptor >= 0:
                self._close_file()

    def _tidy_later(self) -> None:
        threading.Thread(target=self._tidy, name="audit log backups", daemon=True).start()

    def _tidy(self) -> None:
        with self._tidying:
            try:
                self._drop_backups()
            except OSError as error:
                logger.warning("cannot delete old audit files", file=self.path, err=error)

    def _drop_backups(self) -> None:
        _, maximum, days, compress = self._rotation
        backups = self._backups()
        dropped = backups[maximum:] if maximum else []
        if days:
            oldest = clock.now() - timedelta(days=days)
            dropped += [backup for backup in backups if backup[0] < oldest]
        for _, path in dropped:
            path.unlink(missing_ok=True)
        if compress:
            for _, path in backups:
                if path.suffix != _COMPRESSED and path.exists():
                    _compress_file(path)

    def _backups(self) -> list[tuple[datetime, Path]]:
        """The backups, newest first."""
        backups = []
        prefix, suffix = f"{self.path.stem}-", self.path.suffix
        for path in self.path.parent.iterdir():
            name = path.name.removesuffix(_COMPRESSED)
            if not name.startswith(prefix) or not name.endswith(suffix):
                continue
            matched = _STAMPED.match(name[len(prefix) : len(name) - len(suffix)])
            if matched is None:
                continue
            with suppress(ValueError):
                moment = datetime.strptime(matched[1], _STAMP).replace(tzinfo=UTC)
                backups.append((moment + timedelta(milliseconds=int(matched[2])), path))
        return sorted(backups, reverse=True)


def _compressed_path(path: Path) -> Path:
    return path.with_name(path.name + _COMPRESSED)


def _compress_file(path: Path) -> None:
    new_path = path.with_name(f"{path.name}{_COMPRESSED}.new")
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC
    with path.open("rb") as source:
        fcntl.flock(source, fcntl.LOCK_EX)  # wait for processes that still append, see SharedFile
        with (
            os.fdopen(os.open(new_path, flags, _MODE), "wb") as file,
            gzip.GzipFile(fileobj=file, mode="wb") as packed,
        ):
            shutil.copyfileobj(source, packed)
        os.replace(new_path, _compressed_path(path))
        path.unlink()


# A log file that several processes write to, any of which may rotate it


class SharedFile(RotatingFile):
    """Writes each line with one call to the current file of that name. Processes lock the file for
    writing, so that none writes to a file that another has just rotated; a process that cannot get
    the lock in time appends its line anyway. `locks` is a directory that the processes share."""

    def __init__(self, path: Path, rotation: Rotation, locks: Path) -> None:
        self._lock = FileLock(locks / "audit-write")
        self._tidy_lock = FileLock(locks / "audit-tidy")
        super().__init__(path, rotation)

    def write(self, data: bytes) -> None:
        with self._lock.try_lock() as is_locked:
            if is_locked:
                self._check_current()
                super().write(data)
            else:
                self._append(data)

    def _append(self, data: bytes) -> None:
        """Write without the lock, to a file that another process may be rotating. A shared lock on
        the file itself delays its compression until the line is written."""
        self._lock_shared()
        try:
            if os.write(self._descriptor, data) != len(data):
                raise OSError("only a part of an event could be written")
        finally:
            fcntl.flock(self._descriptor, fcntl.LOCK_UN)

    def _lock_shared(self) -> None:
        """Take a shared lock on the current file, which keeps it from being compressed."""
        while True:
            if self._descriptor < 0:
                self._open()
            try:
                fcntl.flock(self._descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:  # it is being compressed
                self._close_file()
                continue
            self._check_current()
            if self._descriptor >= 0:
                return

    def _check_current(self) -> None:
        """Close the file if it is no longer the one of that name; else update how much fits into
        it."""
        try:
            current = os.stat(self.path)
        except FileNotFoundError:
            current = None
        if self._descriptor < 0:
            return
        if current is None or not os.path.samestat(current, os.fstat(self._descriptor)):
            self._close_file()
        else:
            self._free_bytes = self._maximum - current.st_size

    def _tidy(self) -> None:
        with self._tidy_lock.lock():
            super()._tidy()

    def close(self) -> None:
        super().close()
        self._lock.close()


# A file lock between the processes of a server that write to the same log

_PATIENCE = 0.05  # seconds; the lock is held for microseconds unless its process is suspended
_PAUSE = 0.0002
_RETRY_AFTER = 1.0


class FileLock:
    """A lock file that every process opens separately. The kernel releases the lock of a process
    that dies."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        self._without_until = 0.0

    @contextmanager
    def try_lock(self) -> Iterator[bool]:
        """Try to lock the file for up to 50 ms. Yields whether the lock is held. After a failure,
        does not wait at all for the next second."""
        is_locked = self._try() or self._wait_briefly()
        try:
            yield is_locked
        finally:
            if is_locked:
                fcntl.flock(self._file, fcntl.LOCK_UN)

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Lock the file, however long that takes. Blocks: call it in a thread."""
        fcntl.flock(self._file, fcntl.LOCK_EX)
        try:
            yield
        finally:
            fcntl.flock(self._file, fcntl.LOCK_UN)

    def _try(self) -> bool:
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def _wait_briefly(self) -> bool:
        now = time.monotonic()
        deadline = now if now < self._without_until else now + _PATIENCE
        while now < deadline:
            time.sleep(_PAUSE)
            if self._try():
                return True
            now = time.monotonic()
        self._without_until = now + _RETRY_AFTER
        return False

    def close(self) -> None:
        os.close(self._file)
