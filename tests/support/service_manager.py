"""A service manager that speaks systemd's protocol: it owns the listening socket, hands it to
servers that it starts, and receives their states."""

from __future__ import annotations

import os
import socket
import subprocess
from pathlib import Path

from support.client import PATIENCE
from support.process import serve_command

# The descriptor and the pid are those of the process that serves, which only that process knows.
_HAND_OVER = (
    "import os; os.dup2(int(os.environ.pop('GIVEN')), 3);"
    " os.environ['LISTEN_PID'] = str(os.getpid()); os.environ['WATCHDOG_PID'] = str(os.getpid())"
)


class PlayedManager:
    """`states` has what the server of the last start sent so far, one line each."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=1024)
        self.port: int = self.listener.getsockname()[1]
        self.states: list[str] = []
        self._told = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._address = f"fairlead-test-{os.getpid()}-{id(self)}"
        self._told.bind(f"\0{self._address}")
        self._told.settimeout(PATIENCE)
        self.process: subprocess.Popen[bytes] | None = None

    def start(
        self, *flags: str, watchdog: float = 0.0, sockets: int = 1
    ) -> subprocess.Popen[bytes]:
        """Start a server, without waiting for it. `sockets` is the number that it is told."""
        given = self.listener.fileno()
        environment = {
            **os.environ,
            "GIVEN": str(given),
            "LISTEN_FDS": str(sockets),
            "LISTEN_FDNAMES": "fairlead.socket",
            "NOTIFY_SOCKET": f"@{self._address}",
            **({"WATCHDOG_USEC": str(int(watchdog * 1e6))} if watchdog else {}),
        }
        self.states.clear()
        command = serve_command(self.directory, "kubernetes", flags, _HAND_OVER)
        with (self.directory / "log").open("ab") as log:
            self.process = subprocess.Popen(
                command, pass_fds=[given], env=environment, stdout=subprocess.DEVNULL, stderr=log
            )
        return self.process

    def await_state(self, state: str, times: int = 1) -> None:
        while sum(line == state for line in self.states) < times:
            self.states += self._told.recv(4096).decode().split("\n")

    def close(self) -> None:
        if self.process is not None and self.process.poll() is None:
            self.process.kill()
            self.process.wait(PATIENCE)
        self.listener.close()
        self._told.close()
