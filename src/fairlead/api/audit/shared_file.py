"""A log file that several processes write to, any of which may make room for a fresh one."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from fairlead.api.audit.file_lock import Turns
from fairlead.api.audit.rotation import RotatingFile, Rotation


class SharedFile(RotatingFile):
    """Every line is written at once, to the file that has the name at that time. The processes take
    turns, so that nobody writes to what another one has just put aside; whoever had to write out
    of turn appends a line all the same. `locks` is a directory that they have in common."""

    def __init__(self, path: Path, rotation: Rotation, locks: Path) -> None:
        self._turns = Turns(locks / "audit-write")
        self._tidy_turns = Turns(locks / "audit-tidy")
        super().__init__(path, rotation)

    def write(self, data: bytes) -> None:
        with self._turns.brief() as alone:
            if alone:
                self._look()
                super().write(data)
            else:
                self._append(data)

    def _append(self, data: bytes) -> None:
        """Write out of turn, to a file that another one may put aside just now: who packs it waits
        for this line."""
        self._hold()
        try:
            if os.write(self._descriptor, data) != len(data):
                raise OSError("only a part of an event could be written")
        finally:
            fcntl.flock(self._descriptor, fcntl.LOCK_UN)

    def _hold(self) -> None:
        """Keep the file of that name from being packed."""
        while True:
            if self._descriptor < 0:
                self._open()
            try:
                fcntl.flock(self._descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:  # it is being packed
                self._let_go()
                continue
            self._look()
            if self._descriptor >= 0:
                return

    def _look(self) -> None:
        """Whether the file is still the one of that name, and how long it is by now."""
        try:
            found = os.stat(self.path)
        except FileNotFoundError:
            found = None
        if self._descriptor < 0:
            return
        if found is None or not os.path.samestat(found, os.fstat(self._descriptor)):
            self._let_go()
        else:
            self._left = self._most - found.st_size

    def _tidy(self) -> None:
        with self._tidy_turns.long():
            super()._tidy()

    def close(self) -> None:
        super().close()
        self._turns.close()
