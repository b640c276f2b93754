"""A server that keeps events and leases in another etcd cluster than everything else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from support.client import Client
from support.etcd import Etcd
from support.process import ServerProcess


class Split:
    """A server with its events and leases in the cluster `other`."""

    def __init__(self, directory: Path) -> None:
        self.main = Etcd(directory / "main").start()
        self.other = Etcd(directory / "other").start()
        overrides = f"/events#{self.other.url},coordination.k8s.io/leases#{self.other.url}"
        servers = ("--etcd-servers", self.main.url, "--etcd-servers-overrides", overrides)
        self.storage = ("--storage", "etcd", *servers, "--release", "1.36")
        self.server = ServerProcess(directory, flags=self.storage)
        self.client: Client
        self.start()

    def start(self) -> None:
        self.client = self.server.start().client()

    def close(self) -> None:
        self.server.kill()
        self.main.close()
        self.other.close()


def events(space: str) -> str:
    return f"/api/v1/namespaces/{space}/events"


def event(space: str, name: str) -> dict[str, Any]:
    metadata = {"name": name, "namespace": space}
    return {"metadata": metadata, "involvedObject": {"kind": "Pod", "namespace": space}}
