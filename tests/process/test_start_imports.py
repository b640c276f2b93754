"""What a start loads: time and memory of a server that has nothing to do yet are its modules."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.process import ServerProcess
from support.waiting import eventually

CEILING = 540  # modules of ours in a server that is ready
# Parts that most servers do not need, or not before somebody asks for something.
LATER = (
    "fairlead.admission.plugins.limit_ranger",
    "fairlead.api.audit.auditor",
    "fairlead.codec.cel",
    "fairlead.console.files",
    "fairlead.controllers.nodes.pods_by_node",
    "fairlead.controllers.volumes.binder",
    "fairlead.controllers.workloads.index",
    "fairlead.api.history.walk",
    "fairlead.resources.columns",
    "fairlead.process.workers.parent",
    "fairlead.controllers.simulation.setup",
    "grpc",
    "importlib.resources",
    "yaml",
    "zipfile",
)
DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ServerProcess]:
    """One that tells what it imports."""
    monkeypatch.setenv("PYTHONPROFILEIMPORTTIME", "1")
    started = ServerProcess(tmp_path).start()
    yield started
    started.stop()


def _loaded(server: ServerProcess) -> list[str]:
    """In its order, without what measures the lines that tests reach."""
    said = re.findall(r"^import time:.*\| +(\S+)$", server.log.read_text(), re.MULTILINE)
    return said[said.index("fairlead") :]


def test_a_start_loads_little(server: ServerProcess) -> None:
    loaded = _loaded(server)
    assert "fairlead.process.lifecycle" in loaded
    assert sum(name.startswith("fairlead.") for name in loaded) <= CEILING
    assert [name for name in LATER if name in loaded] == []


def test_a_controller_is_loaded_when_there_is_work_for_it(server: ServerProcess) -> None:
    module = "fairlead.controllers.workloads.deployments.controller"
    assert module not in _loaded(server)
    labels = {"app": "a"}
    template = {
        "metadata": {"labels": labels},
        "spec": {"containers": [{"name": "c", "image": "i"}]},
    }
    spec = {"replicas": 2, "selector": {"matchLabels": labels}, "template": template}
    client = server.client()
    made = client.post(DEPLOYMENTS, {"metadata": {"name": "a"}, "spec": spec})
    assert made.status == 201
    pods = "/api/v1/namespaces/default/pods"
    eventually(lambda: len(client.get(pods).names) == 2, "there are pods")
    assert module in _loaded(server)
