"""Measures the work of a server in units that do not depend on the load of the machine.

`Instructions` are counted by callgrind: the same work takes the same number of them on a busy
machine. Instrumentation is off while the server starts and is filled, which saves most of the time.
Without valgrind, `Processor` expresses CPU time in iterations of a fixed loop that alternates with
the workload, so that a slow phase of the machine affects both.
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
    """Starts a server and measures its work. A case is run in `rounds`, each with `times` its
    number of requests."""

    unit: str
    times: int
    rounds: int
    server: Server

    def begin(self) -> None:
        """Called once, after the setup."""

    def spent(self, run: Callable[[], object]) -> float:
        """Return the work of the server during a call."""


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
    """CPU time in iterations of a fixed loop."""

    unit = "turns"
    times = 20
    rounds = 12

    def __init__(self) -> None:
        self.server = Server([sys.executable, "-m", "fairlead", "serve"])

    def begin(self) -> None:
        """Nothing to enable."""

    def spent(self, run: Callable[[], object]) -> float:
        before = turn_seconds()
        began = self.server.cpu_seconds()
        run()
        taken = self.server.cpu_seconds() - began
        return taken / min(before, turn_seconds())


def counter(directory: Path, cpu: bool) -> Counter:
    """Count instructions if valgrind is installed, unless CPU time is requested."""
    if not cpu and shutil.which("valgrind") and shutil.which("callgrind_control"):
        return Instructions(directory)
    return Processor()
