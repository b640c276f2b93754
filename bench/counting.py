"""What a server did, in a unit that does not mind what else the machine does.

`Instructions` are counted by callgrind: the same work has the same number of them, whoever else is
at work. Instrumentation is off while the server starts and is filled, which saves most of the time.
Where there is no valgrind, `Processor` takes CPU time in turns of a fixed loop that runs in turns
with the work: a slow moment of the machine is in both.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from bench.client import WorkFailedError
from bench.pace import turn_seconds
from bench.server import Server

READY_SECONDS = 300.0


class Counter(Protocol):
    """Starts a server and tells what it did. A case is run in `rounds`, each with `times` its
    number of requests."""

    unit: str
    times: int
    rounds: int
    server: Server

    def begin(self) -> None:
        """Called once, when all is set up."""

    def spent(self, run: Callable[[], object]) -> float:
        """What the server did while something ran."""


class Instructions:
    """Instructions of all threads of the server, in user space."""

    unit = "instructions"
    times = 1
    rounds = 2

    def __init__(self, directory: Path) -> None:
        self._out = directory / "counted"
        tool = ("valgrind", "--tool=callgrind", "--instr-atstart=no", "--quiet")
        command = [*tool, f"--callgrind-out-file={self._out}"]
        command += [sys.executable, "-m", "fairlead", "serve"]
        self.server = Server(command, ready_seconds=READY_SECONDS)
        self._dumps = 0

    def begin(self) -> None:
        self._control("--instr=on")

    def spent(self, run: Callable[[], object]) -> float:
        self._control("--zero")
        run()
        self._control("--dump")
        self._dumps += 1
        for line in self._out.with_name(f"counted.{self._dumps}").read_text().splitlines():
            if line.startswith("summary:"):
                return float(line.split()[1])
        raise WorkFailedError("callgrind has written no summary")

    def _control(self, order: str) -> None:
        command = ["callgrind_control", order, str(self.server.process.pid)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode or "OK." not in done.stdout:
            raise WorkFailedError(f"callgrind_control {order}: {done.stdout}{done.stderr}")


class Processor:
    """CPU time in turns of a fixed loop."""

    unit = "turns"
    times = 20
    rounds = 12

    def __init__(self) -> None:
        self.server = Server([sys.executable, "-m", "fairlead", "serve"])

    def begin(self) -> None:
        """Nothing to switch on."""

    def spent(self, run: Callable[[], object]) -> float:
        before = turn_seconds()
        began = self.server.cpu_seconds()
        run()
        taken = self.server.cpu_seconds() - began
        return taken / min(before, turn_seconds())


def counter(directory: Path, cpu: bool) -> Counter:
    """Instructions where they can be counted, unless CPU time is asked for."""
    if not cpu and shutil.which("valgrind") and shutil.which("callgrind_control"):
        return Instructions(directory)
    return Processor()
