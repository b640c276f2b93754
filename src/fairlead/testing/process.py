"""The process of a server under test."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path

_START_TIMEOUT = 60.0
_STOP_TIMEOUT = 20.0
_IN_MEMORY = Path("/dev/shm")
_FIRST_LINE = re.compile(r"Fairlead serves on (https://\S+)")
_MAX_SHOWN = 4000


class ServerFailed(Exception):
    """A server did not start, or ended by itself; the message has the end of its log."""


def temporary_directory() -> Path:
    """Create a temporary directory, in memory if possible."""
    parent = _IN_MEMORY if os.access(_IN_MEMORY, os.W_OK) else None
    return Path(tempfile.mkdtemp(prefix="fairlead-", dir=parent))


class Process:
    """Runs `fairlead serve` with a data directory below `directory`; its log is a file there. The
    server ends with this process, even after a crash. `start` creates the files."""

    directory: Path

    def __init__(self, flags: Sequence[str], directory: Path | None = None) -> None:
        self._directory_given = directory
        self._flags = flags
        self._process: subprocess.Popen[str] | None = None
        self._port = 0
        self.url = ""

    @property
    def data(self) -> Path:
        return self.directory / "data"

    @property
    def log(self) -> Path:
        return self.directory / "server.log"

    def start(self) -> None:
        """Return when the server is ready; raises ServerFailed. A restart uses the same port."""
        if "directory" not in self.__dict__:
            self.directory = self._directory_given or temporary_directory()
            self.directory.mkdir(parents=True, exist_ok=True)
        command = [
            *(sys.executable, "-m", "fairlead.testing.lifeline"),
            *("" if self._directory_given else str(self.directory), "serve"),
            *("--data-dir", str(self.data), "--secure-port", str(self._port), *self._flags),
        ]
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                start_new_session=True,  # Ctrl-C reaches only the tests, which stop it gracefully
            )
        self.url = self._await_ready(self._process)
        self._port = int(self.url.rpartition(":")[2])

    def _await_ready(self, process: subprocess.Popen[str]) -> str:
        timer = threading.Timer(_START_TIMEOUT, process.kill)
        timer.start()
        try:
            assert process.stdout is not None
            match = _FIRST_LINE.match(process.stdout.readline())
        finally:
            timer.cancel()
        if match is None:
            self.kill()
            process.stdout.close()
            raise ServerFailed(f"the server does not start:\n{self.log_tail()}")
        # Drain the pipe so that further output cannot fill it.
        threading.Thread(target=_drain, args=[process], daemon=True).start()
        return match[1]

    @property
    def runs(self) -> bool:
        return self._process is not None and self._process.poll() is None

    @property
    def exit_code(self) -> int | None:
        """The exit code, None while it runs; negative for a signal."""
        return self._process.poll() if self._process is not None else None

    def log_tail(self, after: int = 0) -> str:
        """Return the end of the log, of the part after a position."""
        try:
            with self.log.open("rb") as file:
                file.seek(after)
                return file.read().decode(errors="replace")[-_MAX_SHOWN:]
        except OSError:
            return ""

    def log_size(self) -> int:
        try:
            return self.log.stat().st_size
        except OSError:
            return 0

    def stop(self) -> int:
        """Stop gracefully; return the exit code."""
        return self._end(signal.SIGTERM)

    def kill(self) -> None:
        """Kill like a crash."""
        self._end(signal.SIGKILL)

    def _end(self, number: signal.Signals) -> int:
        process = self._process
        if process is None:
            return 0
        if process.poll() is None:
            process.send_signal(number)
        try:
            return process.wait(_STOP_TIMEOUT)
        except subprocess.TimeoutExpired:
            process.kill()
            return process.wait()
        finally:
            if process.stdin is not None:
                process.stdin.close()

    def remove(self) -> None:
        """Remove the directory, unless the caller gave it."""
        if self._directory_given is None and "directory" in self.__dict__:
            shutil.rmtree(self.directory, ignore_errors=True)
            del self.directory


def _drain(process: subprocess.Popen[str]) -> None:
    if process.stdout is not None:
        with process.stdout as stream:
            while stream.read(65536):
                pass
