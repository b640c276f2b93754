"""The progress of a long copy."""

from __future__ import annotations

from io import StringIO

import pytest
from support.backups import ROWS

from fairlead.process.backup import progress
from fairlead.process.backup.progress import Progress


class Terminal(StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def moments(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten seconds pass between any two looks at the clock."""
    times = iter(range(0, 100_000, 10))
    monkeypatch.setattr(progress, "monotonic", lambda: float(next(times)))


def test_a_terminal_has_one_line_that_changes() -> None:
    output = Progress("backup", stream=(terminal := Terminal()))
    list(output.counted(ROWS * 100))
    output.add_bytes(3 << 20)
    output.say("done")
    assert terminal.getvalue() == (
        "\x1b[Gbackup: 256 objects\x1b[K\x1b[Gbackup: 300 objects, 3.0 MiB\x1b[K\ndone\n"
    )


def test_a_log_has_lines_if_they_are_asked_for() -> None:
    output = Progress("restore", verbose=True, stream=(log := StringIO()))
    output.reach(500)
    output.add_bytes(2048)
    list(output.counted(ROWS * 100))
    assert log.getvalue().splitlines() == [
        "restore: revision 500",
        "restore: revision 500",
        "restore: 256 objects, 2.0 KiB",
    ]


def test_a_log_is_quiet_otherwise() -> None:
    output = Progress("restore", stream=(log := StringIO()))
    output.add_bytes(2048)
    output.say("done")
    assert log.getvalue() == ""
