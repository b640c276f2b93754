"""Taking turns with the other processes of a server that write to the same log."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_PATIENCE = 0.05  # seconds; a turn takes microseconds, unless its process was stopped in it
_PAUSE = 0.0002
_GIVEN_UP_FOR = 1.0


class Turns:
    """A lock at `path`, which every process opens for itself. The system lets go of it for one that
    dies."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        self._without_until = 0.0

    @contextmanager
    def brief(self) -> Iterator[bool]:
        """A turn that nobody takes for long; tells whether it is this one's alone. One who does
        not give it up is not waited for."""
        alone = self._try() or self._wait_briefly()
        try:
            yield alone
        finally:
            if alone:
                fcntl.flock(self._file, fcntl.LOCK_UN)

    @contextmanager
    def long(self) -> Iterator[None]:
        """A turn for which others wait as long as it takes, in a thread."""
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
        self._without_until = now + _GIVEN_UP_FOR
        return False

    def close(self) -> None:
        os.close(self._file)
