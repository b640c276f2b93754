"""No request blocks the event loop for long."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from support.client import Client
from support.pace import in_time
from support.process import ServerProcess
from support.stalls import Report, prelude
from support.waiting import eventually

# All of these held the loop for 90 to 350 ms once; what is wanted is 30 on a quiet machine.
_MAX_SECONDS = 0.06
_MAPS = "/api/v1/namespaces/default/configmaps"
_PODS = "/api/v1/namespaces/default/pods"
_YAML = "application/yaml"
_PROTOBUF = "application/vnd.kubernetes.protobuf"


@pytest.fixture(scope="module")
def watched(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Client, Report]]:
    """A client of a server that logs stalls of its event loop, and the log."""
    directory = tmp_path_factory.mktemp("stalls")
    report = directory / "report"
    server = ServerProcess(directory, prelude=prelude(report)).start()
    client = server.client()
    assert client.post(_MAPS, _large("large")).status == 201
    yield client, Report(report)
    server.kill()


def _large(name: str) -> dict[str, Any]:
    return {"metadata": {"name": name}, "data": {f"key-{n:06}": "v" for n in range(30_000)}}


def _pod(number: int) -> dict[str, Any]:
    env = [{"name": f"E{n}", "value": str(number)} for n in range(40)]
    spec = {"containers": [{"name": "c", "image": "i", "env": env}]}
    return {"metadata": {"name": f"p{number}"}, "spec": spec}


def _get(form: str) -> Callable[[Client], int]:
    return lambda client: client.get(f"{_MAPS}/large", headers={"Accept": form}).status


def _patch(client: Client) -> int:
    return client.patch(f"{_MAPS}/large", {"metadata": {"labels": {"a": "b"}}}).status


def _json_patch(client: Client) -> int:
    change = [{"op": "add", "path": "/data/more", "value": "v"}]
    return client.patch(f"{_MAPS}/large", change, kind="application/json-patch+json").status


def _create_containers(client: Client) -> int:
    containers = [{"name": f"c{n}", "image": "i"} for n in range(1500)]
    return client.post(
        _PODS, {"metadata": {"name": "many"}, "spec": {"containers": containers}}
    ).status


def _delete(client: Client) -> int:
    return client.delete(f"{_MAPS}/large").status


@pytest.mark.parametrize(
    "ask",
    [
        pytest.param(_get(_YAML), id="YAML"),
        pytest.param(_get(_PROTOBUF), id="protobuf"),
        pytest.param(_patch, id="merge patch"),
        pytest.param(_json_patch, id="JSON patch"),
        pytest.param(_create_containers, id="many containers"),
        pytest.param(_delete, id="delete"),
    ],
)
def test_a_large_object_holds_nobody_up(
    watched: tuple[Client, Report], ask: Callable[[Client], int]
) -> None:
    client, report = watched
    report.longest()
    assert ask(client) in (200, 201)
    assert in_time(report.longest(), _MAX_SECONDS)


def test_the_end_of_a_collection_holds_nobody_up(watched: tuple[Client, Report]) -> None:
    client, report = watched
    for number in range(250):
        assert client.post(_PODS, _pod(number)).status == 201
    report.longest()
    assert client.delete(_PODS, gracePeriodSeconds="0").status == 200
    assert in_time(report.longest(), _MAX_SECONDS)


_SLOW_CHECKS = (
    "import time; from fairlead.operations import write_pipeline; check = write_pipeline.check_new;"
    " write_pipeline.check_new = lambda api, resource, value, context:"
    " (time.sleep(0.8) if value['metadata']['name'] == 'slow' else None,"
    " check(api, resource, value, context))"
)


def test_a_stall_is_logged_with_its_request_and_counted(tmp_path: Path) -> None:
    server = ServerProcess(tmp_path, prelude=_SLOW_CHECKS).start()
    cause = f'cause="a request" method="POST" path="{_MAPS}" user="admin"'
    try:
        client = server.client()
        assert client.post(_MAPS, {"metadata": {"name": "slow"}}).status == 201
        eventually(lambda: cause in server.log.read_text(), "it is logged")
        content = client.get("/metrics").text
    finally:
        server.stop()
    [count] = re.findall(r"(?m)^fairlead_event_loop_stalls_total (\S+)", content)
    assert float(count) >= 1  # the machine may have held it up, too
    [seconds] = re.findall(r"(?m)^fairlead_event_loop_stall_seconds_total (\S+)", content)
    assert float(seconds) > 0.25
