"""Simulated nodes that tests of the kit make fail."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from fairlead.testing import Cluster

NODE = "simulated-0"


@pytest.fixture(scope="module")
def shared_kit() -> Iterator[Cluster]:
    """Two nodes: if all are lost, no pod is evicted."""
    with Cluster("--simulate-nodes", "2") as cluster:
        cluster.wait_idle()
        yield cluster


def pod(kit: Cluster, space: str) -> Any:
    spec = {"nodeName": NODE, "containers": [{"name": "c", "image": "nginx"}]}
    value = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": spec}
    kit.apply(value, space)
    kit.wait_idle()
    return kit.admin.resource("pods").get("p", space)


def condition(kit: Cluster, kind: str = "Ready") -> str:
    conditions = kit.admin.resource("nodes").get(NODE)["status"]["conditions"]
    return next(str(each["status"]) for each in conditions if each["type"] == kind)


def test_a_silent_node_is_lost_and_its_pods_are_deleted_as_the_clock_moves(
    kit: Cluster, space: str
) -> None:
    assert pod(kit, space)["status"]["phase"] == "Running"
    with kit.nodes.silence(NODE):
        kit.advance("41s")
        kit.wait_idle()
        assert condition(kit) == "Unknown"
        kit.advance("5s")
        kit.wait_idle()
        kit.advance("301s")
        kit.wait_idle()
        left = kit.admin.resource("pods").get("p", space)
        assert "deletionTimestamp" in left["metadata"]
    kit.wait_idle()
    assert condition(kit) == "True"
    assert kit.admin.resource("pods").list(space)["items"] == []


def test_failures_end_when_their_time_is_over(kit: Cluster) -> None:
    kit.nodes.unready(NODE, for_="2m")
    kit.nodes.pressure(NODE, ["memory", "pid"], for_=60)
    kit.wait_idle()
    kinds = ("Ready", "MemoryPressure", "PIDPressure")
    assert [condition(kit, kind) for kind in kinds] == ["False", "True", "True"]
    kit.advance("61s")
    kit.wait_idle()
    assert [condition(kit, kind) for kind in kinds] == ["False", "False", "False"]
    kit.advance("60s")
    kit.wait_idle()
    assert condition(kit) == "True"


def test_a_node_reboots_and_recovers(kit: Cluster, space: str) -> None:
    pod(kit, space)
    kit.nodes.reboot(NODE)
    kit.wait_idle()
    kit.advance("10s")
    kit.wait_idle()
    (container,) = kit.admin.resource("pods").get("p", space)["status"]["containerStatuses"]
    assert (container["restartCount"], container["ready"]) == (1, True)
    kit.nodes.silence(NODE)
    kit.nodes.recover(NODE)
    kit.wait_idle()
    assert condition(kit) == "True"
