"""Long-running commands as processes whose lines are read as they come."""

from __future__ import annotations

import os
import queue
import signal
import subprocess
import sys
import threading
from types import TracebackType
from typing import IO, Self

from support.commands import Commands

PATIENCE = 30.0


class Following:
    """A command that runs until it is interrupted."""

    def __init__(self, commands: Commands | None, *words: str) -> None:
        flags: tuple[str, ...] = ()
        if commands is not None:
            flags = ("--kubeconfig", str(commands.config), "-n", commands.space.name)
        self.process = subprocess.Popen(
            [sys.executable, "-m", "fairlead", *words, *flags],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
        )
        assert self.process.stdout is not None
        assert self.process.stderr is not None
        self.out = self._read(self.process.stdout)
        self.errors = self._read(self.process.stderr)

    def _read(self, stream: IO[bytes]) -> queue.Queue[str]:
        lines: queue.Queue[str] = queue.Queue()

        def pump() -> None:
            for line in stream:
                lines.put(line.decode().rstrip("\n"))
            stream.close()

        threading.Thread(target=pump, daemon=True).start()
        return lines

    def line(self) -> str:
        """Return the next line of its output."""
        return self.out.get(timeout=PATIENCE)

    def error_line(self) -> str:
        """Return the next line of its errors."""
        return self.errors.get(timeout=PATIENCE)

    def interrupt(self) -> int:
        """Send Ctrl-C; return the exit code."""
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(PATIENCE)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.process.kill()
        self.process.wait(PATIENCE)
