"""Servers as processes with a data directory."""

from __future__ import annotations

import os
import re
import selectors
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import IO

from fairlead.base.dialect import DIALECTS, Dialect
from support.client import ADMIN_TOKEN, Client
from support.fork_server import ForkedProcess, run_forked

TOKENS = {
    ADMIN_TOKEN: ("admin", "system:masters"),
    "alice-token": ("alice", "dev"),
}
START_TIMEOUT = 60.0
# The prelude for servers whose clock can be moved; see `ServerProcess.advance`.
MOVABLE_CLOCK = (
    "import os, pathlib, signal; from fairlead.base import clock;"
    " signal.signal(signal.SIGUSR1, lambda *_: clock.advance(float(step.read_text())));"
    " step = pathlib.Path(os.environ['CLOCK_STEP'])"
)


def write_tokens(directory: Path) -> Path:
    path = directory / "tokens.csv"
    path.write_text(
        "".join(
            f'{token},{name},uid-{name},"{groups}"\n' for token, (name, groups) in TOKENS.items()
        )
    )
    return path


def serve_command(
    directory: Path, dialect: str, flags: tuple[str, ...], prelude: str = ""
) -> list[str]:
    program = ("-m", "fairlead")
    if prelude:
        program = ("-c", f"{prelude}; import sys; from fairlead.cli import main; sys.exit(main())")
    return [sys.executable, *program, *_serve_words(directory, dialect, flags)]


def _serve_words(directory: Path, dialect: str, flags: tuple[str, ...]) -> list[str]:
    return [
        *("serve", "--dialect", dialect, "--release", "1.25"),  # `flags` may choose another
        *("--data-dir", str(directory / "data")),
        *("--secure-port", "0", "--token-auth-file", str(write_tokens(directory)), *flags),
    ]


class ServerProcess:
    """A server on `directory/data`. It can be stopped, killed and started again.

    `prelude` is a line of Python that runs in its process first, e.g. to shorten intervals.
    Servers are forks of a process that has imported fairlead. Those with environment variables of
    their own are new interpreters, as are those with a prelude other than MOVABLE_CLOCK: it may
    have to run before the imports.
    """

    forked = sys.platform == "linux"  # tests set it to False for new interpreters only

    def __init__(
        self,
        directory: Path,
        dialect: str = "kubernetes",
        flags: tuple[str, ...] = (),
        prelude: str = "",
    ) -> None:
        self.directory = directory
        self.data = directory / "data"
        self.log = directory / "log"
        self.dialect: Dialect = DIALECTS[dialect]
        self.flags = flags
        self.prelude = prelude
        self.environment: dict[str, str] = {}  # in addition to that of the tests
        self.wrapper: tuple[str, ...] = ()  # runs the command, e.g. `nsenter --net=...`
        self.root = Path("/")  # where its files are, if it has a namespace of mounts
        self.address = ""
        self.process: subprocess.Popen[bytes] | ForkedProcess | None = None
        self._clients: list[Client] = []

    def start(self) -> ServerProcess:
        """Start it and wait for the line with its address."""
        with self.log.open("ab") as log:
            self.process = self._spawn(log)
        match = re.search(r"https://\S+", self._first_line())
        if match is None:
            self.kill()
            raise AssertionError(f"the server did not start: {self.log.read_text()}")
        self.address = match[0]
        return self

    def _spawn(self, log: IO[bytes]) -> subprocess.Popen[bytes] | ForkedProcess:
        clock_step = str(self.directory / "clock-step")
        environment = {**os.environ, "CLOCK_STEP": clock_step, **self.environment}
        options = (self.directory, self.dialect.name, self.flags)
        own_interpreter = self.environment or self.wrapper
        if self.forked and self.prelude in ("", MOVABLE_CLOCK) and not own_interpreter:
            words = _serve_words(*options)
            return ForkedProcess(words, log, prelude=self.prelude, environment=environment)
        command = [*self.wrapper, *serve_command(*options, self.prelude)]
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, env=environment)

    def _first_line(self) -> str:
        assert self.process is not None
        assert self.process.stdout is not None
        with selectors.DefaultSelector() as selector:
            selector.register(self.process.stdout, selectors.EVENT_READ)
            if not selector.select(START_TIMEOUT):
                return ""
        return self.process.stdout.readline().decode()

    @property
    def pid(self) -> int:
        assert self.process is not None
        return self.process.pid

    @property
    def ca(self) -> Path:
        return self.root / self.data.relative_to("/") / "pki" / "ca.crt"

    def client(
        self, token: str | None = ADMIN_TOKEN, certificate: tuple[Path, Path] | None = None
    ) -> Client:
        return self.keep(Client(self.address, self.ca, token, certificate))

    def keep(self, client: Client) -> Client:
        """Close a client when the server ends."""
        self._clients.append(client)
        return client

    def resident_bytes(self) -> int:
        pages = int(Path(f"/proc/{self.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")

    def signal(self, number: signal.Signals) -> None:
        assert self.process is not None
        self.process.send_signal(number)

    def advance(self, seconds: float) -> None:
        """Move the server's clock, asynchronously; needs the prelude MOVABLE_CLOCK."""
        written = self.directory / "clock-step.new"
        written.write_text(str(seconds))
        written.replace(self.directory / "clock-step")  # an earlier move may be reading it
        self.signal(signal.SIGUSR1)

    def wait(self, timeout: float = 30.0) -> int:
        """Wait for the end; return the exit code."""
        assert self.process is not None
        code = self.process.wait(timeout)
        self._release()
        return code

    def stop(self) -> int:
        if self.process is None or self.process.poll() is not None:
            self._release()
            return 0
        self.signal(signal.SIGTERM)
        try:
            return self.wait()
        except subprocess.TimeoutExpired:
            self.kill()
            raise

    def kill(self) -> None:
        if self.process is not None and self.process.poll() is None:
            self.process.kill()
            self.process.wait(10)
        self._release()

    def _release(self) -> None:
        for client in self._clients:
            client.close()
        self._clients.clear()
        if self.process is not None and self.process.stdout is not None:
            self.process.stdout.close()


# Starts a server with the test's own flags: the fixture `fresh_server`.
FreshServer = Callable[..., ServerProcess]


def failed_start(
    directory: Path, *flags: str, dialect: str = "kubernetes"
) -> subprocess.CompletedProcess[str]:
    """Run a server that is expected to fail at start; return the result."""
    if ServerProcess.forked:
        return run_forked(*_serve_words(directory, dialect, flags))
    return subprocess.run(
        serve_command(directory, dialect, flags),
        capture_output=True,
        text=True,
        timeout=START_TIMEOUT,
        check=False,
    )
