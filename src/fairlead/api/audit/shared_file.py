"""A log file that several processes write to, any of which may rotate it."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from fairlead.api.audit.file_lock import FileLock
from fairlead.api.audit.rotation import RotatingFile, Rotation


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
            self._free_bytes = self._most - current.st_size

    def _tidy(self) -> None:
        with self._tidy_lock.lock():
            super()._tidy()

    def close(self) -> None:
        super().close()
        self._lock.close()
