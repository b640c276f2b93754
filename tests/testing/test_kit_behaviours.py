"""Scripts of simulated containers, made by tests in a line."""

from __future__ import annotations

import pytest

from fairlead.client.errors import Invalid
from fairlead.testing import Cluster

POD = {"containers": [{"name": "c", "image": "private/app:1"}]}


def test_a_behaviour_counts_until_its_end(kit: Cluster, space: str) -> None:
    pods = kit.admin.resource("pods")
    with kit.behaviour("gone", space, images="private/*", pull_failure="no such image"):
        pods.create({"metadata": {"name": "p"}, "spec": POD}, space)
        kit.wait_idle()
        (status,) = pods.get("p", space)["status"]["containerStatuses"]
        assert status["state"]["waiting"]["message"] == "no such image"
    kit.wait_idle()
    assert pods.get("p", space)["status"]["phase"] == "Running"
    assert kit.admin.resource("behaviours").list(space)["items"] == []


def test_a_behaviour_selects_by_labels_and_patterns(kit: Cluster, space: str) -> None:
    kit.behaviour("a", space, labels={"app": "db"}, pods=["db-*"], files={"/f": "x"})
    selector = {"matchExpressions": [{"key": "app", "operator": "Exists"}]}
    changed = kit.behaviour("b", space, labels=selector)
    changed.change(pull_failure="later")
    first, second = kit.admin.resource("behaviours").list(space)["items"]
    labels = {"matchLabels": {"app": "db"}}
    assert first["spec"] == {"selector": {"labels": labels, "pods": ["db-*"]}, "files": {"/f": "x"}}
    assert second["spec"] == {"selector": {"labels": selector}, "pullFailure": "later"}


def test_a_wrong_behaviour_fails_at_once(kit: Cluster, space: str) -> None:
    with pytest.raises(Invalid, match="exitCode"):
        kit.behaviour("b", space, commands=[{"command": ["x"], "exitCode": 300}])
    kit.behaviour("b", space)


def test_a_server_without_nodes_is_told_from_one_that_is_not_ready() -> None:
    with Cluster() as cluster, pytest.raises(ValueError, match="--simulate-nodes"):
        cluster.behaviour("b")
