"""Shared by the tests."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from fairlead.client import exists
from fairlead.testing import Cluster, User

HERE = Path(__file__).parent
PATIENCE = 120.0
API = "platform.example.com/v1"

Object = dict[str, Any]


@contextmanager
def running(account: User, identity: str) -> Iterator[subprocess.Popen[bytes]]:
    """A provisioner of the service account; it releases its lease at the end."""
    program = [sys.executable, str(HERE / "provisioner.py"), "--identity", identity, "--lease", "2"]
    environment = {**os.environ, "KUBECONFIG": str(account.kubeconfig)}
    process = subprocess.Popen(program, env=environment)
    try:
        yield process
    finally:
        process.terminate()
        process.wait(PATIENCE)
    assert process.returncode in (0, -signal.SIGKILL), "it has ended by itself"


class Platform:
    """The plan of a test, and the databases that are ordered in its namespace."""

    def __init__(self, cluster: Cluster, namespace: str) -> None:
        self._cluster = cluster
        self.namespace = namespace
        self.databases = cluster.admin.resource("databases")
        self.secrets = cluster.admin.resource("secrets")

    def plan(self, most: int = 20, capacity: int = 10) -> None:
        """Create or change the plan, which is named like the namespace."""
        metadata, spec = {"name": self.namespace}, {"maxStorage": most, "capacity": capacity}
        plan = {"apiVersion": API, "kind": "Plan", "metadata": metadata, "spec": spec}
        self._cluster.apply(plan)

    def database(self, name: str = "orders", **spec: Any) -> Object:
        spec = {"engine": "postgres", "plan": self.namespace, "storage": 10, **spec}
        return {"apiVersion": API, "kind": "Database", "metadata": {"name": name}, "spec": spec}

    def order(self, name: str = "orders", **spec: Any) -> Object:
        return self.databases.create(self.database(name, **spec), self.namespace)

    def await_reason(self, reason: str, name: str = "orders") -> Object:
        def holds(value: Object | None) -> bool:
            conditions = ((value or {}).get("status") or {}).get("conditions") or ()
            return any(condition["reason"] == reason for condition in conditions)

        database = self.databases.wait(name, holds, self.namespace, timeout=PATIENCE)
        assert database is not None
        status: Object = database["status"]
        return status

    def await_reasons(self, *reasons: str) -> dict[str, str]:
        """Wait until orders have these reasons; return their names by reason."""
        deadline = time.monotonic() + PATIENCE
        while True:
            names = {}
            for item in self.databases.list(self.namespace)["items"]:
                for condition in (item.get("status") or {}).get("conditions") or ():
                    names[condition["reason"]] = item["metadata"]["name"]
            if names.keys() == set(reasons):
                return names
            assert time.monotonic() < deadline, names
            time.sleep(0.05)

    def await_secret(self) -> Object:
        secret = self.secrets.wait("orders-database", exists, self.namespace, timeout=PATIENCE)
        assert secret is not None
        return secret
