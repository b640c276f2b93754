"""Nodes without heartbeats are marked, tainted and evicted; others are not changed."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from support.nodes import NODES, Cluster
from support.process import MOVABLE_CLOCK, ServerProcess
from support.waiting import eventually

UNREACHABLE = {("unreachable", "NoSchedule"), ("unreachable", "NoExecute")}
NOT_READY = {("not-ready", "NoSchedule"), ("not-ready", "NoExecute")}


@pytest.fixture(scope="module")
def moving(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    """Every lost node may be given up at once: how fast they are is tried by itself."""
    flags = ("--node-eviction-rate=1000",)
    directory = tmp_path_factory.mktemp("nodes")
    running = ServerProcess(directory, "cluster", flags, MOVABLE_CLOCK).start()
    yield running
    running.stop()


@pytest.fixture
def cluster(moving: ServerProcess) -> Iterator[Cluster]:
    cluster = Cluster(moving)
    yield cluster
    cluster.close()


def becomes(cluster: Cluster, node: str, status: str) -> None:
    eventually(lambda: cluster.ready(node) == status, f"{node} is ready: {status}")


def becomes_tainted(cluster: Cluster, node: str, taints: set[tuple[str, str]]) -> None:
    eventually(lambda: cluster.taints(node) == taints, f"{node} has the taints {taints}")


def test_nothing_is_known_of_a_node_that_fell_silent(cluster: Cluster) -> None:
    node = cluster.node("a")
    cluster.report(node, "False", "MemoryPressure")
    cluster.pass_time(41)
    becomes(cluster, node, "Unknown")
    conditions = cluster.conditions(node)
    message = {kind: (item["reason"], item["message"]) for kind, item in conditions.items()}
    stopped = "NodeStatusUnknown", "Kubelet stopped posting node status."
    never = "NodeStatusNeverUpdated", "Kubelet never posted node status."
    assert message == {
        "Ready": stopped,
        "MemoryPressure": stopped,
        "DiskPressure": never,
        "PIDPressure": never,
    }
    assert {condition["status"] for condition in conditions.values()} == {"Unknown"}
    created = cluster.read(node)["metadata"]["creationTimestamp"]
    assert conditions["PIDPressure"]["lastHeartbeatTime"] == created


def test_a_node_that_never_reported_has_more_time(cluster: Cluster) -> None:
    node = cluster.node("a", ready=None)
    cluster.pass_time(50)
    assert cluster.conditions(node) == {}
    cluster.pass_time(11)
    eventually(lambda: "Ready" in cluster.conditions(node), "it is marked")
    assert cluster.conditions(node)["Ready"]["reason"] == "NodeStatusNeverUpdated"


def test_a_node_whose_lease_is_renewed_is_alive(cluster: Cluster) -> None:
    node, silent = cluster.node("a"), cluster.node("b")
    cluster.pass_time(100, node)
    becomes(cluster, silent, "Unknown")
    assert cluster.ready(node) == "True"
    cluster.pass_time(41)
    becomes(cluster, node, "Unknown")


def test_a_node_that_reports_is_alive(cluster: Cluster) -> None:
    node, silent = cluster.node("a"), cluster.node("b")
    for _ in range(3):
        cluster.pass_time(20)
        cluster.report(node)
    becomes(cluster, silent, "Unknown")
    assert cluster.ready(node) == "True"


def test_a_silent_node_is_tainted_and_its_return_takes_the_taints_off(cluster: Cluster) -> None:
    node = cluster.node("a", spec={"taints": [{"key": "own", "effect": "NoSchedule"}]})
    own = {("own", "NoSchedule")}
    cluster.pass_time(41)
    becomes_tainted(cluster, node, own | {("unreachable", "NoSchedule")})
    cluster.pass_time(6)
    becomes_tainted(cluster, node, own | UNREACHABLE)
    assert all("timeAdded" in taint for taint in cluster.read(node)["spec"]["taints"][1:])
    cluster.report(node)
    becomes_tainted(cluster, node, own)


def test_a_node_that_is_not_ready_is_tainted_as_such_until_it_falls_silent(
    cluster: Cluster,
) -> None:
    node = cluster.node("a", ready="False")
    becomes_tainted(cluster, node, {("not-ready", "NoSchedule")})
    cluster.pass_time(6)
    becomes_tainted(cluster, node, NOT_READY)
    cluster.pass_time(41)
    becomes_tainted(cluster, node, UNREACHABLE)


@pytest.mark.parametrize(
    ("condition", "taint"),
    [
        ("MemoryPressure", "memory-pressure"),
        ("DiskPressure", "disk-pressure"),
        ("PIDPressure", "pid-pressure"),
        ("NetworkUnavailable", "network-unavailable"),
    ],
)
def test_a_node_under_pressure_takes_no_more_pods(
    cluster: Cluster, condition: str, taint: str
) -> None:
    node = cluster.node("a")
    cluster.report(node, "True", condition)
    becomes_tainted(cluster, node, {(taint, "NoSchedule")})
    cluster.report(node, "False", condition)
    becomes_tainted(cluster, node, set())


def test_an_unschedulable_node_is_tainted(cluster: Cluster) -> None:
    node = cluster.node("a", spec={"unschedulable": True})
    becomes_tainted(cluster, node, {("unschedulable", "NoSchedule")})
    cluster.client.patch(f"{NODES}/{node}", {"spec": {"unschedulable": None}})
    becomes_tainted(cluster, node, set())


def test_old_labels_follow_those_of_today(cluster: Cluster) -> None:
    os, old_os, arch = map(cluster.label, ("@/os", "beta.@/os", "beta.@/arch"))
    node = cluster.node("a", labels={os: "linux", arch: "kept"})

    def labels() -> dict[str, str]:
        result: dict[str, str] = cluster.read(node)["metadata"]["labels"]
        return result

    eventually(lambda: labels() == {os: "linux", old_os: "linux", arch: "kept"}, "it is labelled")
    cluster.client.patch(f"{NODES}/{node}", {"metadata": {"labels": {os: "plan9"}}})
    eventually(lambda: labels()[old_os] == "plan9", "the old label follows")


def test_the_pods_of_a_silent_node_are_not_ready(cluster: Cluster) -> None:
    node = cluster.node("a")
    pod = cluster.pod("p", node)

    def ready() -> str:
        (condition,) = cluster.client.get(pod).body["status"]["conditions"]
        return str(condition["status"])

    cluster.pass_time(41)
    eventually(lambda: ready() == "False", "the pod is not ready")
    messages = ("node-controller", "Warning", "NodeNotReady", "Node is not ready")
    eventually(lambda: messages in cluster.events("p", cluster.namespace), "the pod is told")
    text = f"Node {node} status is now: NodeNotReady"
    messages = ("node-controller", "Normal", "NodeNotReady", text)
    eventually(lambda: messages in cluster.events(node), "the node is told")


def test_pods_keep_what_was_said_of_them_by_a_node_that_was_not_ready(cluster: Cluster) -> None:
    node, other = cluster.node("a"), cluster.node("b")
    pods = {name: cluster.pod(name, name) for name in (node, other)}
    cluster.report(node, "False")
    cluster.report(node, "Unknown")

    def ready(name: str) -> str:
        (condition,) = cluster.client.get(pods[name]).body["status"]["conditions"]
        return str(condition["status"])

    cluster.pass_time(50)
    becomes_tainted(cluster, node, UNREACHABLE)
    eventually(lambda: ready(other) == "False", "the pod of the other node is not ready")
    assert ready(node) == "True"


def test_nodes_are_greeted_and_seen_off(cluster: Cluster) -> None:
    node = cluster.node("a")
    text = f"Node {node} event: Registered Node {node} in Controller"
    messages = ("node-controller", "Normal", "RegisteredNode", text)
    eventually(lambda: messages in cluster.events(node), "it is greeted")
    cluster.client.delete(f"{NODES}/{node}")
    text = f"Node {node} event: Removing Node {node} from Controller"
    messages = ("node-controller", "Normal", "RemovingNode", text)
    eventually(lambda: messages in cluster.events(node), "it is seen off")


def test_no_node_is_given_up_when_none_answers(cluster: Cluster) -> None:
    node = cluster.node("a")
    cluster.pass_time(50)
    becomes_tainted(cluster, node, UNREACHABLE)
    cluster.pass_time(50, anchor=False)
    becomes_tainted(cluster, cluster.anchor, {("unreachable", "NoSchedule")})
    becomes_tainted(cluster, node, {("unreachable", "NoSchedule")})
    cluster.report(cluster.anchor)
    becomes_tainted(cluster, node, UNREACHABLE)


def test_agents_learn_how_long_they_may_keep_what_they_read(cluster: Cluster) -> None:
    annotation = cluster.label("node.alpha.@/ttl")

    def told(node: str) -> str:
        return str(cluster.read(node)["metadata"].get("annotations", {}).get(annotation))

    eventually(lambda: told(cluster.anchor) == "0", "a small cluster")
    for number in range(100):
        cluster.node(f"many-{number}")
    eventually(lambda: told(cluster.anchor) == "15", "a larger cluster")
