"""Servers that report their live objects, and the findings of their garbage collector."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pytest

from support.garbage import PRELUDE as GARBAGE
from support.living import PRELUDE as LIVING
from support.process import ServerProcess
from support.waiting import eventually


class _Reporting:
    """Runs a server in `directory` whose `prelude` makes it report on SIGUSR1."""

    def __init__(self, directory: Path, flags: tuple[str, ...], prelude: str) -> None:
        self._report = directory / "report"
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("FAIRLEAD_GARBAGE", str(self._report))
            self.server = ServerProcess(directory, "kubernetes", flags, prelude).start()

    def report(self) -> str:
        self._report.unlink(missing_ok=True)
        self.server.signal(signal.SIGUSR1)
        eventually(self._report.exists, "the server has reported")
        return self._report.read_text()


class Collected(_Reporting):
    """Reports garbage; `prelude` also runs in the server's process."""

    def __init__(self, directory: Path, flags: tuple[str, ...], prelude: str = "") -> None:
        super().__init__(directory, flags, f"{GARBAGE}; {prelude}" if prelude else GARBAGE)

    def garbage(self) -> tuple[int, str]:
        """Return how many objects the collector found since the last call, and their types."""
        count, _, what = self.report().partition(" ")
        return int(count), what


class Weighed(_Reporting):
    """Reports all live objects."""

    def __init__(self, directory: Path, flags: tuple[str, ...] = ()) -> None:
        super().__init__(directory, flags, LIVING)

    def living(self) -> dict[str, int]:
        """Return the number of live objects by type."""
        result: dict[str, int] = json.loads(self.report())
        return result

    def settled(self) -> dict[str, int]:
        """Like `living`, once controllers, which start after the server is ready, start no more
        tasks."""
        last = self.living()

        def is_settled() -> bool:
            nonlocal last
            before, last = last, self.living()
            return before.get("Task") == last.get("Task")

        eventually(is_settled, "no more tasks begin")
        return last
