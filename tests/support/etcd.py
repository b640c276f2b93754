"""etcd as separate processes with their own data, one member or several."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import urllib.request
from collections.abc import Sequence
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple, Self

import pytest

from fairlead.process.certificates.issue import issue_admin, issue_serving, make_authority

needs_etcd = pytest.mark.skipif(
    shutil.which("etcd") is None, reason="there is no etcd command (Debian: etcd-server)"
)
START_TIMEOUT = 60.0
_MEMORY = Path("/dev/shm")  # where a sync is free


class Tls(NamedTuple):
    """The files of a CA, of the members' serving certificate, and of a client certificate."""

    ca: Path
    certificate: Path
    key: Path
    client_certificate: Path
    client_key: Path


def make_tls(directory: Path) -> Tls:
    """Create a CA and certificates in a directory."""
    now, lifetime = datetime.now(UTC), timedelta(days=1)
    ca = make_authority("etcd-ca", now, lifetime)
    server = issue_serving(ca, ["127.0.0.1", "localhost"], now, lifetime)
    client = issue_admin(ca, now, lifetime)
    tls = Tls(*(directory / name for name in ("ca.crt", "s.crt", "s.key", "c.crt", "c.key")))
    parts = (ca.certificate, server.certificate, server.key, client.certificate, client.key)
    directory.mkdir(parents=True, exist_ok=True)
    for path, content in zip(tls, parts, strict=True):
        path.write_bytes(content)
    return tls


def free_ports(count: int) -> list[int]:
    """Return unused ports; all are held open at once so that they differ."""
    with ExitStack() as held:
        results = []
        for _ in range(count):
            taken = held.enter_context(socket.socket())
            taken.bind(("127.0.0.1", 0))
            results.append(int(taken.getsockname()[1]))
        return results


class Etcd:
    """One member. It can be stopped, killed, paused and started again on the same ports and data,
    until `close` deletes the data.

    `flags` are added to its command line. `peers` is the value of `--initial-cluster` if it is one
    of several. `listening` is its own peer port, if members reach it by another one. `host` and
    `wrapper` are for one in a network of its own.
    """

    def __init__(
        self,
        directory: Path,
        flags: tuple[str, ...] = (),
        *,
        tls: Tls | None = None,
        name: str = "default",
        peer_port: int = 0,
        peers: str = "",
        listening: int = 0,
        host: str = "127.0.0.1",
        wrapper: tuple[str, ...] = (),
    ) -> None:
        self.name = name
        self._host = host
        self._wrapper = wrapper
        self.tls = tls
        self.flags = flags
        self.process: subprocess.Popen[bytes] | None = None
        directory.mkdir(parents=True, exist_ok=True)
        self.log = directory / f"{name}.log"
        where = _MEMORY if _MEMORY.is_dir() else directory
        self.data = Path(tempfile.mkdtemp(prefix="fairlead-etcd-", dir=where))
        port, own_peer_port, self._health_port = free_ports(3)
        scheme = "https" if tls is not None else "http"
        self.url = f"{scheme}://{host}:{port}"
        self._peer_url = f"http://127.0.0.1:{peer_port or own_peer_port}"
        self._listening = f"http://127.0.0.1:{listening}" if listening else self._peer_url
        self._peers = peers or f"{name}={self._peer_url}"

    def start(self, *, wait: bool = True) -> Etcd:
        """Start it. With `wait`, return when it answers; a member of several needs a majority for
        that."""
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(self._command(), stdout=log, stderr=log)
        if wait:
            self.await_health()
        return self

    def _command(self) -> list[str]:
        client, health = self.url, f"http://{self._host}:{self._health_port}"
        tls: tuple[str, ...] = ()
        if self.tls is not None:
            tls = (
                *("--cert-file", str(self.tls.certificate), "--key-file", str(self.tls.key)),
                *("--trusted-ca-file", str(self.tls.ca), "--client-cert-auth"),
            )
        return [
            *(*self._wrapper, "etcd", "--name", self.name, "--data-dir", str(self.data / "data")),
            *("--listen-client-urls", client, "--advertise-client-urls", client),
            *("--listen-peer-urls", self._listening, "--initial-advertise-peer-urls"),
            *(self._peer_url, "--initial-cluster", self._peers, "--listen-metrics-urls", health),
            *("--log-level", "error", "--logger", "zap", *tls, *self.flags),
        ]

    def snapshot(self, path: Path) -> None:
        """Write a snapshot of its data to a file."""
        self._run_tool("etcdctl", "--endpoints", self.url, "snapshot", "save", str(path))

    def restore(self, snapshot: Path) -> Etcd:
        """Create its data from a snapshot, before it starts. Revisions and history are kept."""
        tool = "etcdutl" if shutil.which("etcdutl") else "etcdctl"
        self._run_tool(
            *(tool, "snapshot", "restore", str(snapshot), "--data-dir", str(self.data / "data")),
            *("--name", self.name, "--initial-cluster", self._peers),
            *("--initial-advertise-peer-urls", self._peer_url),
        )
        return self

    def _run_tool(self, *words: str) -> None:
        environment = {**os.environ, "ETCDCTL_API": "3"}
        subprocess.run(words, check=True, capture_output=True, env=environment, timeout=60)

    def is_healthy(self) -> bool:
        """Return whether it answers reads that need a majority of members."""
        try:
            address = f"http://{self._host}:{self._health_port}/health"
            with urllib.request.urlopen(address, timeout=5) as answer:
                return b'"true"' in answer.read()
        except OSError:  # also any status but 200
            return False

    def await_health(self) -> None:
        deadline = time.monotonic() + START_TIMEOUT
        while not self.is_healthy():
            ended = self.process is None or self.process.poll() is not None
            if ended or time.monotonic() > deadline:
                raise AssertionError(f"{self.name} does not answer: {self.log.read_text()[-4000:]}")
            time.sleep(0.02)

    def _signal(self, number: signal.Signals) -> None:
        assert self.process is not None
        self.process.send_signal(number)

    def pause(self) -> None:
        """Stop the process; it keeps its connections and answers nothing."""
        self._signal(signal.SIGSTOP)
        assert self.process is not None
        os.waitid(os.P_PID, self.process.pid, os.WSTOPPED)

    def resume(self) -> None:
        self._signal(signal.SIGCONT)

    def stop(self) -> None:
        if self.process is not None and self.process.poll() is None:
            self.resume()
            self._signal(signal.SIGTERM)
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                self.kill()

    def kill(self) -> None:
        if self.process is not None and self.process.poll() is None:
            self.process.kill()
            self.process.wait(10)

    def close(self) -> None:
        self.kill()
        shutil.rmtree(self.data, ignore_errors=True)


class EtcdCluster:
    """Several members of one cluster, started together."""

    def __init__(
        self,
        directory: Path,
        size: int = 3,
        flags: tuple[str, ...] = ("--heartbeat-interval", "50", "--election-timeout", "500"),
        *,
        tls: Tls | None = None,
        listening: Sequence[int] = (),
    ) -> None:
        self.peer_ports = ports = free_ports(size)
        names = [f"m{number}" for number in range(size)]
        peers = ",".join(
            f"{name}=http://127.0.0.1:{port}" for name, port in zip(names, ports, strict=True)
        )
        self.members = [
            Etcd(
                *(directory, flags),
                tls=tls,
                name=name,
                peer_port=port,
                peers=peers,
                listening=behind,
            )
            for name, port, behind in zip(names, ports, listening or ports, strict=True)
        ]

    def start(self) -> Self:
        for member in self.members:
            member.start(wait=False)
        for member in self.members:
            member.await_health()
        return self

    @property
    def urls(self) -> str:
        """Return the value of `--etcd-servers`."""
        return ",".join(member.url for member in self.members)

    def close(self) -> None:
        for member in self.members:
            member.close()
