"""A server that tells what its garbage collector finds."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from support.garbage import PRELUDE
from support.process import ServerProcess
from support.waiting import eventually


class Collected:
    """Runs a server in `directory`; `prelude` is run in its process, too."""

    def __init__(self, directory: Path, flags: tuple[str, ...], prelude: str = "") -> None:
        self._report = directory / "report"
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("FAIRLEAD_GARBAGE", str(self._report))
            whole = f"{PRELUDE}; {prelude}" if prelude else PRELUDE
            self.server = ServerProcess(directory, "kubernetes", flags, whole).start()

    def garbage(self) -> tuple[int, str]:
        """How many objects it found since it was asked last, and of which types."""
        self._report.unlink(missing_ok=True)
        self.server.signal(signal.SIGUSR1)
        eventually(self._report.exists, "the collector has reported")
        count, _, what = self._report.read_text().partition(" ")
        return int(count), what
