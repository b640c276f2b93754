"""Runs the long drills one after the other, and ends with a table of them: faults under load in all
shapes, kills, odd requests, and a day that passes in minutes."""

from __future__ import annotations

import argparse
import os
import platform
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
_PYTEST = ("-m", "pytest", "--disable-plugin-autoload", "-p", "hypothesispytest", "-p", "fairlead")


class Drill(NamedTuple):
    """A command with its environment, in the length of a night and in a short one."""

    name: str
    command: tuple[str, ...]
    whole: str  # what fills {size}
    short: str
    environment: str = ""  # a variable that has the size


DRILLS = (
    Drill("chaos, minutes", ("tools/chaos.py", "--minutes", "{size}"), "30", "2"),
    Drill(
        "crash, kills",
        (*_PYTEST, "-q", "tests/storage/test_crash.py"),
        "1000",
        "10",
        "FAIRLEAD_CRASH_ROUNDS",
    ),
    Drill("fuzz, requests", ("tools/fuzz.py", "--count", "{size}"), "1000000", "10000"),
    Drill("soak, hours", ("tools/soak.py", "--hours", "{size}"), "24", "6"),
)


class Outcome(NamedTuple):
    name: str
    size: str
    seconds: float
    code: int
    last: str  # the last line of the output

    def row(self) -> str:
        result = "passed" if self.code == 0 else "FAILED"
        return f"{self.name:<16} {self.size:>8} {self.seconds:>7.0f} s  {result}  {self.last}"


def run(drill: Drill, size: str, log: Path) -> Outcome:
    """Run a drill; its output goes to the terminal and to a file."""
    command = [sys.executable, *(word.format(size=size) for word in drill.command)]
    environment = {**os.environ}
    if drill.environment:
        environment[drill.environment] = size
    began, last = time.monotonic(), ""
    with (
        log.open("w") as file,
        subprocess.Popen(
            command,
            cwd=ROOT,
            env=environment,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        ) as process,
    ):
        assert process.stdout is not None
        for line in process.stdout:
            print(line, end="", flush=True)
            file.write(line)
            last = line.strip() or last
    return Outcome(drill.name, size, time.monotonic() - began, process.returncode, last)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--short", action="store_true", help="each takes a few minutes at most")
    parser.add_argument("--logs", type=Path, default=ROOT / "build" / "nightly")
    options = parser.parse_args()
    options.logs.mkdir(parents=True, exist_ok=True)
    outcomes = []
    for drill in DRILLS:
        size = drill.short if options.short else drill.whole
        print(f"== {drill.name}: {size}", flush=True)
        log = options.logs / f"{drill.name.partition(',')[0]}.log"
        outcomes.append(run(drill, size, log))
    print(f"\n{datetime.now(UTC):%Y-%m-%d %H:%M} UTC, {platform.node()}, {os.cpu_count()} cores")
    for outcome in outcomes:
        print(outcome.row())
    return 1 if any(outcome.code for outcome in outcomes) else 0


if __name__ == "__main__":
    sys.exit(main())
