"""The controller as a separate process on a real server, with the permissions of `roles.yaml`."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from fairlead.client import has_value, is_gone
from fairlead.client.errors import Forbidden
from fairlead.testing import Cluster, User

HERE = Path(__file__).parent
PATIENCE = 30.0

Object = dict[str, Any]


@pytest.fixture(scope="module")
def account(cluster: Cluster) -> User:
    cluster.apply(HERE / "roles.yaml")
    return cluster.service_account("config-copier", "config-copier")


@pytest.fixture(scope="module", autouse=True)
def _controller(account: User) -> Iterator[None]:
    process = subprocess.Popen(
        [sys.executable, str(HERE / "config_copier.py")],
        env={**os.environ, "KUBECONFIG": str(account.kubeconfig)},
    )
    yield
    assert process.poll() is None, "the controller has ended by itself"
    process.terminate()
    process.wait(PATIENCE)


class Maps:
    """ConfigMaps called `trust`, and the namespaces that they are in."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._maps = cluster.admin.resource("configmaps")

    def apply(self, namespace: str, text: str, **labels: str) -> None:
        metadata = {"name": "trust", "labels": labels}
        value = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}
        self._cluster.apply({**value, "data": {"ca": text}}, namespace)

    def share(self, namespace: str, text: str) -> None:
        self.apply(namespace, text, **{"example.com/sharing": "source"})

    def await_text(self, namespace: str, text: str) -> Object:
        return self.wait(namespace, has_value(lambda item: [item["data"].get("ca")], text)) or {}

    def wait(self, namespace: str, holds: Callable[[Object | None], bool]) -> Object | None:
        return self._maps.wait("trust", holds, namespace, timeout=PATIENCE)

    def delete(self, namespace: str) -> None:
        self._maps.delete("trust", namespace)

    def join(self, namespace: str, team: str | None) -> None:
        """Add or remove the label of a team."""
        patch = {"metadata": {"labels": {"example.com/team": team}}}
        self._cluster.admin.resource("namespaces").patch(namespace, patch)


@pytest.fixture
def maps(cluster: Cluster) -> Maps:
    return Maps(cluster)


@pytest.fixture
def team(cluster: Cluster, maps: Maps) -> Iterator[str]:
    name = cluster.new_namespace("team")
    maps.join(name, "red")
    yield name
    cluster.delete_namespace(name)


def test_copies_come_change_and_go_with_their_source(maps: Maps, namespace: str, team: str) -> None:
    maps.share(namespace, "one")
    value = maps.await_text(team, "one")
    assert value["metadata"]["annotations"] == {"example.com/copied-from": f"{namespace}/trust"}
    maps.share(namespace, "two")
    maps.await_text(team, "two")
    maps.delete(namespace)
    maps.wait(team, is_gone)


def test_copies_come_and_go_with_the_label_of_a_namespace(
    cluster: Cluster, maps: Maps, namespace: str
) -> None:
    maps.share(namespace, "one")
    other = cluster.new_namespace()
    maps.join(other, "blue")
    maps.await_text(other, "one")
    maps.join(other, None)
    maps.wait(other, is_gone)


def test_a_copy_that_somebody_changed_or_deleted_is_made_good(
    maps: Maps, namespace: str, team: str
) -> None:
    maps.share(namespace, "one")
    maps.await_text(team, "one")
    maps.apply(team, "mine", **{"example.com/sharing": "copy"})
    maps.await_text(team, "one")
    maps.delete(team)
    maps.await_text(team, "one")


def test_what_a_team_has_of_its_own_is_left_alone(
    cluster: Cluster, maps: Maps, namespace: str, team: str, account: User
) -> None:
    maps.apply(team, "mine")
    with cluster.record() as recording:
        maps.share(namespace, "one")
        other = cluster.new_namespace()
        maps.join(other, "blue")
        maps.await_text(other, "one")
        cluster.wait_idle()
    assert {
        request["code"] for request in recording.requests(user=account.name, namespace=team)
    } == {409}
    maps.await_text(team, "mine")


def test_nothing_is_written_when_nothing_has_changed(
    cluster: Cluster, maps: Maps, namespace: str, team: str, account: User
) -> None:
    maps.share(namespace, "one")
    maps.await_text(team, "one")
    cluster.wait_idle()
    with cluster.record() as recording:
        maps.apply(namespace, "one", **{"example.com/sharing": "source", "colour": "green"})
        cluster.wait_idle()
    assert recording.requests(user=account.name) == []


@pytest.mark.parametrize("fault", [{"error": 500}, {"error": 409}, {"cut": "after"}])
def test_a_write_that_fails_is_tried_again(
    cluster: Cluster, maps: Maps, namespace: str, team: str, account: User, fault: Object
) -> None:
    maps.share(namespace, "one")
    maps.await_text(team, "one")
    with cluster.fault(
        users=[account.name], verbs=["update"], namespaces=[team], count=1, **fault
    ) as created:
        maps.share(namespace, "two")
        maps.await_text(team, "two")
    assert created.applied == 1


def test_a_state_that_is_gone_back_to_is_taken_as_it_is(
    cluster: Cluster, maps: Maps, namespace: str, team: str
) -> None:
    """All watches end with 410, as after the backup of a real cluster was restored."""
    maps.share(namespace, "one")
    maps.await_text(team, "one")
    with cluster.snapshot() as before:
        maps.share(namespace, "two")
        maps.await_text(team, "two")
        maps.delete(namespace)
        maps.wait(team, is_gone)
        before.restore()
        maps.await_text(team, "one")
        maps.share(namespace, "three")
        maps.await_text(team, "three")


def test_the_controller_may_do_nothing_else(account: User) -> None:
    with pytest.raises(Forbidden):
        account.client.resource("secrets").list("")
    with pytest.raises(Forbidden):
        account.client.resource("namespaces").delete("default")
