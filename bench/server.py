"""Starts, stops and measures the server under test."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from bench.client import Address, Connection, WorkFailedError

SOURCE = Path(__file__).resolve().parent.parent / "src"
TOKEN = "bench-token"
TICK = os.sysconf("SC_CLK_TCK")
PAGE = os.sysconf("SC_PAGE_SIZE")
READY_SECONDS = 60.0


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _stat(pid: str) -> list[str]:
    """Return the fields of /proc/PID/stat after the command's name."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []


def machine_seconds() -> float:
    """Return the CPU time of all processes of this machine, plus steal time."""
    fields = Path("/proc/stat").read_text().split(maxsplit=9)[1:9]
    return sum(int(fields[n]) for n in (0, 1, 2, 5, 6, 7)) / TICK


def cpu_seconds_of(pid: int) -> float:
    """Return utime + stime of a process from its CPU clock: nanoseconds instead of ticks."""
    return time.clock_gettime((~pid << 3) | 2)


class Server:
    """A running server. `close` deletes its directory if it is temporary. `more` returns flags that
    depend on the directory."""

    def __init__(
        self,
        command: Sequence[str],
        directory: Path | None = None,
        more: Callable[[Path], list[str]] | None = None,
        ready_seconds: float = READY_SECONDS,
    ) -> None:
        self._temporary = directory is None
        self.directory = directory or Path(tempfile.mkdtemp(prefix="fairlead-bench-"))
        tokens = self.directory / "tokens.csv"
        tokens.write_text(f'{TOKEN},bench,bench-uid,"system:masters"\n')
        self.address = Address("127.0.0.1", free_port(), TOKEN)
        self._log = self.directory / "server.log"
        flags = {
            "--dialect": "kubernetes",
            "--data-dir": self.directory / "data",
            "--bind-address": self.address.host,
            "--secure-port": self.address.port,
            "--token-auth-file": tokens,
        }
        # A compiled copy takes precedence over the sources.
        paths = filter(None, [os.environ.get("PYTHONPATH"), str(SOURCE)])
        with self._log.open("ab") as log:
            began = time.perf_counter()
            self.process = subprocess.Popen(
                [
                    *(*command, *(more(self.directory) if more is not None else ())),
                    *(str(word) for flag in flags.items() for word in flag),
                ],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
            )
        try:
            self._wait(began + ready_seconds)
        except BaseException:
            self.close()
            raise
        self.start_seconds = time.perf_counter() - began

    def _wait(self, deadline: float) -> None:
        """Wait until /readyz answers 200."""
        while time.perf_counter() < deadline and self.alive:
            try:
                connection = Connection(self.address, 5.0)
                status, _ = connection.call(self.address.request("GET", "/readyz"))
                connection.sock.close()
                if status == 200:
                    return
            except (OSError, WorkFailedError):
                pass
            time.sleep(0.003)
        log = self._log.read_text(errors="replace").strip()[-800:]
        raise WorkFailedError(f"the server did not become ready: {log}")

    @property
    def alive(self) -> bool:
        return self.process.poll() is None

    def close(self) -> None:
        """Stop by SIGTERM, and report an unclean exit."""
        code = self.process.poll()
        if code is None:
            self.process.terminate()
            try:
                code = self.process.wait(30)
            except subprocess.TimeoutExpired:
                self.process.kill()
                code = self.process.wait()
        if code:
            print(f"bench: the server ended with {code}", file=sys.stderr)
        if self._temporary:
            shutil.rmtree(self.directory, ignore_errors=True)

    def _family(self) -> dict[str, list[str]]:
        """Return the stat fields of the server's process and its descendants, by process id."""
        stats = {pid: stat for pid in os.listdir("/proc") if pid.isdigit() and (stat := _stat(pid))}
        family: set[str] = set()
        more = {str(self.process.pid)} & stats.keys()
        while more:
            family |= more
            more = {pid for pid, stat in stats.items() if stat[1] in family} - family
        return {pid: stats[pid] for pid in family}

    def cpu_seconds(self) -> float:
        """Return the user and system time of all threads and children, including ended children."""
        total = 0.0
        for pid, stat in self._family().items():
            with suppress(OSError):  # it ended meanwhile
                total += cpu_seconds_of(int(pid))
            total += (int(stat[13]) + int(stat[14])) / TICK
        return total

    def resident_mb(self) -> float:
        """Return the resident memory, including children."""
        return sum(int(stat[21]) for stat in self._family().values()) * PAGE / 2**20


@contextmanager
def profiled(server: Server, file: Path | None) -> Iterator[None]:
    """Run py-spy on the server during the block, if there is a file to write."""
    path = os.pathsep.join([os.environ.get("PATH", ""), str(Path(sys.executable).parent)])
    tool = shutil.which("py-spy", path=path)
    if file is None or tool is None:
        if file is not None:
            print("bench: no py-spy on PATH, so no profile", file=sys.stderr)
        yield
        return
    form = {".svg": "flamegraph", ".json": "speedscope"}.get(file.suffix, "raw")
    flags = ["-r", "200", "-d", "unlimited", "-f", form, "-o", str(file)]
    with subprocess.Popen(
        [tool, "record", "-p", str(server.process.pid), *flags], stdout=subprocess.DEVNULL
    ) as spy:
        time.sleep(1.5)  # to attach
        try:
            yield
        finally:
            spy.send_signal(signal.SIGINT)
