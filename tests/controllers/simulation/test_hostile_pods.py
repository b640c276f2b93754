"""Pods of a tenant that are large or talk much, on a server: its event loop stays free."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.client import Client, Object
from support.pace import in_time
from support.process import ServerProcess
from support.simulation import await_nodes
from support.stalls import Report, prelude
from support.waiting import eventually

# Of CPU time, at most 0.08 when this was written. Each of these held the loop for seconds once.
_MAX_SECONDS = 0.4
_PATIENCE = 300.0  # seconds of the wall clock: a busy machine gives the server a fraction of a core
_PODS = "/api/v1/namespaces/default/pods"
_SERVICES = "/api/v1/namespaces/default/services"
_BUSY = ["sh", "-c", "while :; do echo a; done"]
_LONG = ["sh", "-c", "for i in $(seq 50); do echo a; done"]
_CONTAINERS: dict[str, Object] = {
    "commands": {"command": _BUSY},
    "postStart": {"lifecycle": {"postStart": {"exec": {"command": _LONG}}}},
    "preStop": {"lifecycle": {"preStop": {"exec": {"command": _LONG}}}},
    "probes": {"readinessProbe": {"httpGet": {"port": 80}}},
}


@pytest.fixture(scope="module")
def watched(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Client, Report]]:
    """A client of a server that logs stalls of its event loop, and the log."""
    directory: Path = tmp_path_factory.mktemp("hostile")
    report = directory / "report"
    flags = ("--simulate-nodes", "1")
    server = ServerProcess(directory, flags=flags, prelude=prelude(report)).start()
    await_nodes(server, 1)
    client = server.client()
    for number, container in enumerate(_CONTAINERS.values()):  # loads what the first such pod needs
        _play(client, f"first{number}", 1, container)
    yield client, Report(report)
    server.kill()


def _create(client: Client, name: str, containers: int, **fields: Any) -> None:
    each = [
        {"name": f"c{number}", "image": "busybox", **fields.get("container", {})}
        for number in range(containers)
    ]
    spec = {"containers": each, "terminationGracePeriodSeconds": 1, **fields.get("spec", {})}
    pod = {"metadata": {"name": name}, "spec": spec}
    assert client.post(_PODS, pod).status == 201


def _await_running(client: Client, name: str) -> None:
    def is_running() -> bool:
        pod: Object = client.get(f"{_PODS}/{name}").body
        return bool(pod["status"].get("phase") == "Running")

    eventually(is_running, f"{name} runs", patience=_PATIENCE)


def _play(client: Client, name: str, containers: int, container: Object) -> None:
    """Run a pod and delete it."""
    _create(client, name, containers, container=container)
    _await_running(client, name)
    path = f"{_PODS}/{name}"
    assert client.delete(path).status == 200
    eventually(lambda: client.get(path).status == 404, f"{name} is gone", patience=_PATIENCE)


@pytest.mark.parametrize("container", _CONTAINERS.values(), ids=_CONTAINERS)
def test_a_pod_with_hundreds_of_containers_leaves_turns_to_others(
    watched: tuple[Client, Report], container: Object
) -> None:
    client, report = watched
    report.longest()  # so far
    _play(client, "many", 100, container)
    assert in_time(report.longest(), _MAX_SECONDS)


def test_init_containers_leave_their_files_once_for_all_containers(
    watched: tuple[Client, Report],
) -> None:
    client, report = watched
    report.longest()  # so far
    mount = {"volumeMounts": [{"name": "kube-api-access-x", "mountPath": "/e"}]}
    initial = [
        {
            "name": f"i{number}",
            "image": "busybox",
            "command": ["sh", "-c", "echo a > /e/a"],
            **mount,
        }
        for number in range(20)
    ]
    spec = {
        "initContainers": initial,
        "volumes": [{"name": "kube-api-access-x", "emptyDir": {}}],
    }
    command = {"command": ["sh", "-c", "cat /e/a; sleep 100"], **mount}
    _create(client, "init", 100, container=command, spec=spec)
    _await_running(client, "init")
    assert client.get(f"{_PODS}/init/log?container=c99").text == "a\n"
    assert in_time(report.longest(), _MAX_SECONDS)


def test_a_container_does_not_look_at_every_service(watched: tuple[Client, Report]) -> None:
    client, report = watched
    ports = [{"name": f"p{number}", "port": 80 + number} for number in range(100)]
    for number in range(100):
        service = {
            "metadata": {"name": f"s{number}"},
            "spec": {"clusterIP": "None", "ports": ports},
        }
        assert client.post(_SERVICES, service).status == 201
    report.longest()  # so far
    calls = "for i in $(seq 100); do curl -s http://10.9.9.9/; done; sleep 100"
    _create(client, "calls", 1, container={"command": ["sh", "-c", calls]})
    _await_running(client, "calls")
    assert client.get(f"{_PODS}/calls/log").status == 200
    assert in_time(report.longest(), _MAX_SECONDS)
