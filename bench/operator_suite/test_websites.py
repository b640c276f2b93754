"""Ten tests of the operator in examples/kopf-operator, as its author would write them: they share
one operator, and the cluster is restored after each."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fairlead.client.conditions import is_gone
from fairlead.client.errors import Invalid, NotFound
from fairlead.testing import Cluster

EXAMPLE = Path(__file__).parents[2] / "examples" / "kopf-operator"
SPACE = "default"
SECONDS = 60.0

Object = dict[str, Any]


@pytest.fixture(scope="session")
def operated(cluster: Cluster) -> Iterator[Cluster]:
    """The cluster, with the operator running."""
    cluster.definitions(EXAMPLE / "definition.yaml")
    cluster.wait_idle()
    with cluster.clients.kopf("run", "-n", SPACE, str(EXAMPLE / "operator.py")):
        yield cluster


@pytest.fixture
def site(operated: Cluster, restored: Cluster) -> Website:
    """A website of three pods, all ready."""
    website = Website(operated)
    website.create("docs", replicas=3)
    website.await_ready("docs", 3)
    return website


class Website:
    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.websites = cluster.admin.resource("websites")
        self.deployments = cluster.admin.resource("deployments")

    def create(self, name: str, **spec: Any) -> None:
        value = {"metadata": {"name": name}, "spec": {"image": "example.com/web:1", **spec}}
        kind = {"apiVersion": "example.com/v1", "kind": "Website"}
        self.websites.create({**kind, **value}, SPACE)

    def await_ready(self, name: str, count: int) -> None:
        def holds(value: Object | None) -> bool:
            return ((value or {}).get("status") or {}).get("ready") == count

        self.websites.wait(name, holds, SPACE, timeout=SECONDS)

    def deployment(self, name: str = "docs") -> Object:
        return self.deployments.get(name, SPACE)


def test_a_website_gets_a_deployment(site: Website) -> None:
    assert site.deployment()["spec"]["replicas"] == 3


def test_the_deployment_is_owned(site: Website) -> None:
    (owner,) = site.deployment()["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["name"]) == ("Website", "docs")


def test_it_is_scaled(site: Website) -> None:
    site.websites.patch("docs", {"spec": {"replicas": 5}}, SPACE)
    site.await_ready("docs", 5)


def test_a_new_image_is_rolled_out(site: Website) -> None:
    site.websites.patch("docs", {"spec": {"image": "example.com/web:2"}}, SPACE)

    def holds(value: Object | None) -> bool:
        spec = (value or {})["spec"]["template"]["spec"]
        return bool(spec["containers"][0]["image"] == "example.com/web:2")

    site.deployments.wait("docs", holds, SPACE, timeout=SECONDS)


def test_two_are_apart(site: Website) -> None:
    site.create("shop", replicas=1)
    site.await_ready("shop", 1)
    assert site.deployment()["spec"]["replicas"] == 3


def test_what_belongs_to_it_goes_with_it(site: Website) -> None:
    site.websites.delete("docs", SPACE)
    site.deployments.wait("docs", is_gone, SPACE, timeout=SECONDS)


def test_a_deployment_that_is_there_already_is_taken(site: Website) -> None:
    with site.cluster.record() as record:
        site.websites.patch("docs", {"spec": {"replicas": 2}}, SPACE)
        site.await_ready("docs", 2)
    assert record.count(verb="create", resource="deployments", code=409) == 1


def test_a_slow_server_is_waited_for(site: Website) -> None:
    with site.cluster.fault(delay=0.05, verbs=["patch"], resources=["deployments"]) as fault:
        site.websites.patch("docs", {"spec": {"replicas": 4}}, SPACE)
        site.await_ready("docs", 4)
    assert fault.applied == 1


def test_it_says_how_many_are_ready_when_pods_are_gone(site: Website) -> None:
    site.cluster.admin.resource("pods").delete_collection(SPACE)
    site.cluster.wait_idle()
    site.await_ready("docs", 3)


def test_a_website_without_an_image_is_refused(site: Website) -> None:
    with pytest.raises(Invalid, match=r"spec\.image"):
        site.create("none", image=None)
    with pytest.raises(NotFound):
        site.deployment("none")
