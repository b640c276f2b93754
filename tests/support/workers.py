"""A server of several workers: finds the worker of a connection, and kills workers."""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

from support.client import ADMIN_TOKEN, Client
from support.process import ServerProcess
from support.waiting import eventually

_ATTEMPTS = 50


class Workers:
    """The processes of a server that was started with `--workers`."""

    def __init__(self, server: ServerProcess) -> None:
        self.server = server
        self._clients: list[Client] = []

    def pids(self) -> list[int]:
        parent = self.server.pid
        listed = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
        return [int(pid) for pid in listed]

    def owner(self) -> int:
        """Return the process that has the store open; 0 if there is none."""
        store = str(self.server.data / "fairlead.db")
        for pid in self.pids():
            if store in _files(pid):
                return pid
        return 0

    def followers(self) -> list[int]:
        owner = self.owner()
        return [pid for pid in self.pids() if pid != owner]

    def client(self, pid: int, token: str = ADMIN_TOKEN) -> Client:
        """Return a client whose connection a certain worker serves."""
        others = []
        try:
            for _ in range(_ATTEMPTS):
                client = self.server.client(token)
                assert client.get("/version").status == 200
                if self.serves(pid, client):
                    return client
                others.append(client)  # left open: the next connection goes to another worker
        finally:
            for other in others:
                other.close()
        raise AssertionError(f"worker {pid} takes no connection")

    def serves(self, pid: int, client: Client) -> bool:
        connection = client._connection
        assert connection is not None
        port = connection.sock.getsockname()[1]
        inode = _accepted(urlsplit(client.address).port or 0, port)
        return f"socket:[{inode}]" in _files(pid)

    def kill(self, pid: int, number: signal.Signals = signal.SIGKILL) -> None:
        """Kill a worker and wait until it is gone."""
        os.kill(pid, number)
        eventually(lambda: pid not in self.pids(), f"worker {pid} has ended")

    def await_all(self, count: int) -> None:
        """Wait until so many workers answer, including the owner."""

        def all_answer() -> bool:
            if len(self.pids()) != count or not self.owner():
                return False
            try:
                for pid in self.pids():
                    if self.client(pid).get("/readyz").status != 200:
                        return False
            except (OSError, AssertionError):
                return False
            return True

        eventually(all_answer, f"{count} workers answer")


def _files(pid: int) -> set[str]:
    results = set()
    with suppress(OSError):
        for entry in Path(f"/proc/{pid}/fd").iterdir():
            with suppress(OSError):
                results.add(os.readlink(entry))
    return results


def _accepted(served: int, port: int) -> str:
    """Return the inode of the server's side of a connection from a local port."""
    for line in Path("/proc/net/tcp").read_text().splitlines()[1:]:
        fields = line.split()
        if fields[1].endswith(f":{served:04X}") and fields[2].endswith(f":{port:04X}"):
            return fields[9]
    raise AssertionError(f"no connection from port {port}")
