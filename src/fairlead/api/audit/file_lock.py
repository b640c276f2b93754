"""A file lock between the processes of a server that write to the same log."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

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
