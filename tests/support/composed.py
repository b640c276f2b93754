"""The services of deploy/compose.yaml as processes of this machine: the same commands and files,
with ports and directories of the test in place of names and mounts."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any
from urllib.error import URLError

import yaml

from support.client import Client
from support.etcd import START_TIMEOUT, free_ports
from support.waiting import eventually

DEPLOY = Path(__file__).parents[2] / "deploy"
_PORTS = ("2379", "2380", "2381", "6443")
_PROGRAMS = {"serve": [sys.executable, "-m", "fairlead"]}  # that the image adds to the command


def load_project() -> dict[str, Any]:
    project: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
    return project


def make_certificates(directory: Path, *names: str) -> Path:
    script = str(DEPLOY / "make-certificates.sh")
    subprocess.run([script, str(directory), *names], check=True, capture_output=True, timeout=60)
    return directory


class Composed:
    """`start` starts all services but the balancer, and waits until they are ready."""

    def __init__(self, directory: Path) -> None:
        self.services: dict[str, Any] = load_project()["services"]
        self.certificates = make_certificates(directory / "certificates", "127.0.0.1")
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        self._clients: list[Client] = []
        self._directory = directory
        named = [f"{name}:{port}" for name in self.services for port in _PORTS]
        self._ports = dict(zip(named, free_ports(len(named)), strict=True))
        for name in self.services:
            (directory / name).mkdir(mode=0o700)

    def port(self, name: str) -> int:
        return self._ports[f"{name}:6443"]

    def localized(self, name: str, text: str) -> str:
        """A text of a service, as it is on this machine."""

        def address(match: re.Match[str]) -> str:
            host = name if match[1] == "0.0.0.0" else match[1]
            return f"127.0.0.1:{self._ports[f'{host}:{match[2]}']}"

        hosts = "|".join([*self.services, re.escape("0.0.0.0")])
        text = re.sub(rf"\b({hosts}):({'|'.join(_PORTS)})\b", address, text)
        text = text.replace("--secure-port=6443", f"--secure-port={self.port(name)}")
        text = text.replace("--bind-address=0.0.0.0", "--bind-address=127.0.0.1")
        mounts = {"/certificates": self.certificates, "/data": self._directory / name}
        for inside, outside in mounts.items():
            text = re.sub(rf"(?<![\w.]){inside}\b", str(outside), text)
        return text

    def start(self) -> Composed:
        members = [name for name in self.services if name.startswith("etcd")]
        for name in members:
            self.start_one(name)
        for name in members:
            eventually(partial(self._is_healthy, name), f"{name} is healthy", START_TIMEOUT)
        servers = [name for name in self.services if name.startswith("server")]
        for name in servers:
            self.start_one(name)
        with ThreadPoolExecutor() as pool:
            list(pool.map(self.await_ready, servers))
        self._configure_balancer()
        self.start_one("balancer")
        self.await_ready("balancer")
        return self

    def start_one(self, name: str) -> None:
        words = [self.localized(name, word) for word in self.services[name]["command"]]
        words = [*_PROGRAMS.get(words[0], ()), *words]
        if name == "balancer":
            words = ["haproxy", "-f", str(self._directory / "haproxy.cfg")]
        with self.log(name).open("ab") as log:
            self.processes[name] = subprocess.Popen(words, stdout=log, stderr=log)

    def _configure_balancer(self) -> None:
        text = (DEPLOY / "haproxy.cfg").read_text()
        (self._directory / "haproxy.cfg").write_text(self.localized("balancer", text))

    def log(self, name: str) -> Path:
        return self._directory / f"{name}.log"

    def _is_healthy(self, name: str) -> bool:
        assert self.processes[name].poll() is None, self.log(name).read_text()[-4000:]
        try:
            address = f"http://127.0.0.1:{self._ports[f'{name}:2381']}/health"
            with urllib.request.urlopen(address, timeout=5) as answer:
                return b'"true"' in answer.read()
        except URLError:
            return False

    def await_ready(self, name: str) -> None:
        client = self.client(name)

        def is_ready() -> bool:
            assert self.processes[name].poll() is None, self.log(name).read_text()[-4000:]
            try:
                return client.get("/readyz").status == 200
            except OSError:
                return False

        eventually(is_ready, f"{name} is ready", START_TIMEOUT)
        client.close()

    def client(self, name: str = "balancer") -> Client:
        files = self.certificates
        pair = (files / "admin.crt", files / "admin.key")
        client = Client(f"https://127.0.0.1:{self.port(name)}", files / "ca.crt", None, pair)
        self._clients.append(client)
        return client

    def kubeconfig(self) -> Path:
        """The one that was made with the certificates, with the port of this machine."""
        path = self._directory / "admin.kubeconfig"
        text = (self.certificates / "admin.kubeconfig").read_text()
        path.write_text(text.replace("127.0.0.1:6443", f"127.0.0.1:{self.port('balancer')}"))
        return path

    def stop(self, name: str) -> int:
        """Stop a service in good order; return its exit code."""
        self.processes[name].send_signal(signal.SIGTERM)
        return self.processes[name].wait(START_TIMEOUT)

    def kill(self, name: str) -> None:
        self.processes[name].kill()
        self.processes[name].wait(START_TIMEOUT)

    def close(self) -> None:
        for client in self._clients:
            client.close()
        for process in self.processes.values():
            if process.poll() is None:
                os.kill(process.pid, signal.SIGKILL)
                process.wait(START_TIMEOUT)
