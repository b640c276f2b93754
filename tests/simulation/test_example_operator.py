"""The operator in `examples/` deploys a workload, end to end."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest
import yaml
from support.client import Object
from support.process import ServerProcess
from support.simulation import PREFIX, Pods
from support.things import Things
from support.waiting import eventually

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "kopf-operator"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
PATIENCE = 60.0

pytestmark = pytest.mark.skipif(
    find_spec("kopf") is None or find_spec("kubernetes") is None,
    reason="kopf or the kubernetes client is not installed: the example is not tried out",
)


def read(name: str) -> Object:
    found: Object = yaml.safe_load((EXAMPLE / name).read_text())
    return found


@pytest.fixture
def websites(pods: Pods) -> Things:
    client = pods.space.client
    assert client.post(DEFINITIONS, read("definition.yaml")).status in (201, 409)
    found = pods.space.things("websites", "example.com")
    eventually(lambda: found.list().status == 200, "websites are served")
    return found


@pytest.fixture
def _operator(
    simulated: ServerProcess, pods: Pods, websites: Things, tmp_path: Path
) -> Iterator[None]:
    command = (sys.executable, "-m", "kopf", "run", "--namespace", pods.space.name)
    log = tmp_path / "operator.log"
    with log.open("wb") as written:
        process = subprocess.Popen(
            [*command, str(EXAMPLE / "operator.py")],
            env={**os.environ, "KUBECONFIG": str(simulated.data / "admin.kubeconfig")},
            stdout=written,
            stderr=written,
        )
    yield
    process.terminate()
    try:
        process.wait(10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait(10)
    assert "Traceback" not in log.read_text(), log.read_text()


def ready(websites: Things) -> int:
    found: int = websites.read("docs").get("status", {}).get("ready", 0)
    return found


@pytest.mark.usefixtures("_operator")
def test_a_website_is_deployed_scaled_and_broken(websites: Things, pods: Pods) -> None:
    assert pods.space.client.post(websites.path, read("website.yaml")).status == 201
    eventually(lambda: ready(websites) == 3, "three pods are ready", PATIENCE)
    assert websites.patch("docs", {"spec": {"replicas": 5}}).status == 200
    eventually(lambda: ready(websites) == 5, "five pods are ready", PATIENCE)
    crash = {"metadata": {"annotations": {f"{PREFIX}exit-code": "1"}}}
    assert websites.patch("docs", crash).status == 200

    def crashes() -> bool:
        states = [
            one["state"].get("waiting", {}).get("reason")
            for pod in pods.things.list().body["items"]
            for one in pod["status"].get("containerStatuses", [])
        ]
        return "CrashLoopBackOff" in states

    eventually(crashes, "the new pods crash", PATIENCE)
    assert ready(websites) >= 4, "the rollout waits with the others"
