"""The modules that a start imports: they are most of its time and memory."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.process import ServerProcess
from support.waiting import eventually

from fairlead.base.lazy import MODULES

pytestmark = pytest.mark.usefixtures("new_interpreters")
CEILINGS = {"1.25": 469, "1.36": 473}  # modules of ours in a server that is ready, by release
# Lazy for the sake of the command line, or needed by the first start only.
USED_AT_ONCE = {
    "fairlead.api.discovery",
    "fairlead.auth.authentication.token_file",  # the servers of tests have one
    "fairlead.cli.parser",
    "fairlead.process.assembly",
    "fairlead.process.certificates.issue",
    "fairlead.process.flags.serve",
    "fairlead.process.lifecycle",
    "fairlead.process.stores",
    "fairlead.storage.selection",
}
# What only a later release has from the start.
OF_RELEASE_1_36 = {
    "fairlead.api.build_metrics",
    "fairlead.api.component_pages",
    "fairlead.controllers.legacy_tokens",
    "fairlead.controllers.service_ranges",
}
# Other parts that most servers do not need, or not before somebody asks for something.
LATER = {
    "fairlead.admission.plugins.limit_ranger",
    "fairlead.codec.cel",
    "fairlead.api.history.walk",
    "grpc",
    "importlib.resources",
    "jwt",
    "yaml",
    "zipfile",
}
# Has the server write the line with its address into its log as well, among the imports.
PRELUDE = (
    "import sys; write = sys.stdout.write;"
    " sys.stdout.write = lambda text: sys.stderr.write(text) and write(text)"
)
DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"


@pytest.fixture
def release() -> str:
    return "1.25"


@pytest.fixture
def server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, release: str
) -> Iterator[ServerProcess]:
    """A server that reports its imports."""
    monkeypatch.setenv("PYTHONVERBOSE", "1")
    started = ServerProcess(tmp_path, flags=("--release", release), prelude=PRELUDE).start()
    yield started
    started.stop()


def _loaded(log: str) -> set[str]:
    """Return the modules whose bodies have run: imported ones, and lazy ones after their first
    use."""
    imported = set(re.findall(r"^import '?([\w.]+)'? # ", log, re.MULTILINE))
    code = r"^# code object from '?.*/src/(fairlead/.*?)(?:\.[-\w]+)?\.pyc?\b"
    paths = re.findall(code, log, re.MULTILINE)
    read = {path.replace("__pycache__/", "").replace("/", ".") for path in paths}
    return imported - (MODULES - read)


@pytest.mark.parametrize("release", CEILINGS)
def test_a_start_loads_little(server: ServerProcess, release: str) -> None:
    log = server.log.read_text()
    start, ready, _ = log.partition(server.address)  # the controllers go on to load modules
    loaded = _loaded(start)
    assert ready
    assert "fairlead.process.lifecycle" in loaded
    assert sum(name.startswith("fairlead.") for name in loaded) <= CEILINGS[release]
    assert loaded & LATER == set()
    later = OF_RELEASE_1_36 if release != "1.25" else set()
    assert loaded & MODULES <= USED_AT_ONCE | later


def test_a_controller_is_loaded_when_there_is_work_for_it(server: ServerProcess) -> None:
    module = "fairlead.controllers.workloads.deployments.controller"
    assert module not in _loaded(server.log.read_text())
    labels = {"app": "a"}
    template = {
        "metadata": {"labels": labels},
        "spec": {"containers": [{"name": "c", "image": "i"}]},
    }
    spec = {"replicas": 2, "selector": {"matchLabels": labels}, "template": template}
    client = server.client()
    answer = client.post(DEPLOYMENTS, {"metadata": {"name": "a"}, "spec": spec})
    assert answer.status == 201
    pods = "/api/v1/namespaces/default/pods"
    eventually(lambda: len(client.get(pods).names) == 2, "there are pods")
    assert module in _loaded(server.log.read_text())
