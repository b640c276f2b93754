"""The operator on a real server with a simulated node (see `pytest.ini`)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from fairlead.client import is_gone
from fairlead.testing import Cluster

HERE = Path(__file__).parent
PATIENCE = 30.0

Object = dict[str, Any]


@pytest.fixture(scope="module", autouse=True)
def _operator(cluster: Cluster) -> Iterator[None]:
    """One operator for all tests, which use separate namespaces."""
    cluster.definitions(HERE / "definition.yaml")
    program = str(HERE / "website_operator.py")
    with cluster.clients.kopf("run", "--all-namespaces", program) as runner:
        yield
    assert runner.exit_code == 0, runner.output
    assert "Traceback" not in runner.output, runner.output


class Website:
    """The website `docs` of a namespace."""

    def __init__(self, cluster: Cluster, namespace: str) -> None:
        self._cluster = cluster
        self._sites = cluster.admin.resource("websites")
        self.namespace = namespace

    def apply(self, replicas: int = 3, **annotations: str) -> None:
        metadata = {"name": "docs", "annotations": annotations}
        spec = {"image": "nginx:1.25", "replicas": replicas}
        website = {"apiVersion": "example.com/v1", "kind": "Website"}
        self._cluster.apply({**website, "metadata": metadata, "spec": spec}, self.namespace)

    def await_ready(self, wanted: int) -> None:
        self.await_ready_pods(lambda ready: ready == wanted)

    def await_ready_pods(self, holds: Callable[[int], bool]) -> None:
        """Wait for this status."""

        def is_ready(website: Object | None) -> bool:
            status = (website or {}).get("status") or {}
            return "ready" in status and holds(status["ready"])

        self._sites.wait("docs", is_ready, self.namespace, timeout=PATIENCE)

    def await_deployment(self, holds: Callable[[Object | None], bool]) -> None:
        deployments = self._cluster.admin.resource("deployments")
        deployments.wait("docs", holds, self.namespace, timeout=PATIENCE)

    def delete(self) -> None:
        self._sites.delete("docs", self.namespace)


@pytest.fixture
def website(cluster: Cluster, namespace: str) -> Website:
    return Website(cluster, namespace)


def test_a_website_is_deployed_and_scaled(
    cluster: Cluster, namespace: str, website: Website
) -> None:
    cluster.apply(HERE / "website.yaml", namespace)
    website.await_ready(3)
    cluster.admin.resource("websites").patch("docs", {"spec": {"replicas": 5}}, namespace)
    website.await_ready(5)


def test_a_deployment_goes_with_its_website(website: Website) -> None:
    website.apply(replicas=1)
    website.await_ready(1)
    website.delete()
    website.await_deployment(is_gone)


def test_pods_that_crash_are_told(website: Website) -> None:
    website.apply(replicas=3)
    website.await_ready(3)
    website.apply(replicas=3, **{"simulation.fairlead/exit-code": "1"})
    website.await_ready_pods(lambda ready: ready < 3)


def test_a_server_that_fails_is_asked_again(cluster: Cluster, website: Website) -> None:
    with cluster.fault(
        error=500,
        verbs=["create"],
        resources=["deployments"],
        namespaces=[website.namespace],
        count=1,
    ) as fault:
        website.apply(replicas=1)
        website.await_ready(1)
    assert fault.applied == 1
