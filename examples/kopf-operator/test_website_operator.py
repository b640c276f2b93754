"""The operator on a real server with a simulated node, which `pytest.ini` asks for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from fairlead.client import has_value, is_gone
from fairlead.testing import Cluster

HERE = Path(__file__).parent
PATIENCE = 30.0

Object = dict[str, Any]


@pytest.fixture(scope="module", autouse=True)
def _operator(cluster: Cluster) -> Iterator[None]:
    """One for all tests: they are in namespaces of their own."""
    cluster.definitions(HERE / "definition.yaml")
    program = str(HERE / "website_operator.py")
    with cluster.clients.kopf("run", "--all-namespaces", program) as runner:
        yield
    assert runner.exit_code == 0, runner.output
    assert "Traceback" not in runner.output, runner.output


class Websites:
    """Those of a namespace."""

    def __init__(self, cluster: Cluster, namespace: str) -> None:
        self._cluster = cluster
        self._websites = cluster.admin.resource("websites")
        self.namespace = namespace

    def apply(self, name: str = "docs", replicas: int = 3, **annotations: str) -> None:
        metadata = {"name": name, "annotations": annotations}
        spec = {"image": "nginx:1.25", "replicas": replicas}
        website = {"apiVersion": "example.com/v1", "kind": "Website"}
        self._cluster.apply({**website, "metadata": metadata, "spec": spec}, self.namespace)

    def await_ready(self, wanted: int, name: str = "docs") -> None:
        holds = has_value(lambda website: [website.get("status", {}).get("ready")], wanted)
        self._websites.wait(name, holds, self.namespace, timeout=PATIENCE)

    def await_deployment(self, holds: Callable[[Object | None], bool], name: str = "docs") -> None:
        deployments = self._cluster.admin.resource("deployments")
        deployments.wait(name, holds, self.namespace, timeout=PATIENCE)

    def delete(self, name: str = "docs") -> None:
        self._websites.delete(name, self.namespace)


@pytest.fixture
def websites(cluster: Cluster, namespace: str) -> Websites:
    return Websites(cluster, namespace)


def test_a_website_is_deployed_and_scaled(
    cluster: Cluster, namespace: str, websites: Websites
) -> None:
    cluster.apply(HERE / "website.yaml", namespace)
    websites.await_ready(3)
    cluster.admin.resource("websites").patch("docs", {"spec": {"replicas": 5}}, namespace)
    websites.await_ready(5)


def test_a_deployment_goes_with_its_website(websites: Websites) -> None:
    websites.apply(replicas=1)
    websites.await_ready(1)
    websites.delete()
    websites.await_deployment(is_gone)


def test_a_broken_website_keeps_the_pods_that_it_has(cluster: Cluster, websites: Websites) -> None:
    websites.apply(replicas=3)
    websites.await_ready(3)
    websites.apply(replicas=3, **{"simulation.fairlead/exit-code": "1"})

    def crashes(pod: Object) -> bool:
        states = [one["state"] for one in pod.get("status", {}).get("containerStatuses", ())]
        return any(state.get("waiting", {}).get("reason") for state in states)

    pods = cluster.admin.resource("pods").watch(websites.namespace, timeout=PATIENCE)
    assert any(crashes(event.object) for event in pods)
    found = cluster.admin.resource("websites").get("docs", websites.namespace)
    assert found["status"]["ready"] >= 2, "a rollout waits with the others"


def test_a_server_that_fails_is_asked_again(cluster: Cluster, websites: Websites) -> None:
    with cluster.fault(
        error=500,
        verbs=["create"],
        resources=["deployments"],
        namespaces=[websites.namespace],
        count=1,
    ) as fault:
        websites.apply(replicas=1)
        websites.await_ready(1)
    assert fault.applied == 1
