"""Simulated nodes: how they look, report, fail, come and go."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Callable

import pytest
from support.client import Object
from support.namespaces import Space
from support.process import MOVABLE_CLOCK, FreshServer
from support.simulation import PREFIX, Pods, asking, await_nodes, container
from support.waiting import eventually
from support.workloads import replicated

from fairlead.process.flags.simulation import add_simulation_flags


@pytest.mark.both_dialects
def test_nodes_register_with_all_that_a_node_has(any_pods: Pods) -> None:
    names = any_pods.nodes.names()
    assert {"simulated-0", "simulated-1", "simulated-2"} <= set(names)
    node = any_pods.nodes.read("simulated-1")
    label, labels = any_pods.space.dialect.label, node["metadata"]["labels"]
    assert labels[label("@/hostname")] == "simulated-1"
    assert labels[label("@/os")] == "linux"
    assert label("topology.@/zone") in labels
    status = node["status"]
    assert status["capacity"] == status["allocatable"]
    assert set(status["capacity"]) == {"cpu", "memory", "ephemeral-storage", "pods"}
    assert {condition["type"]: condition["status"] for condition in status["conditions"]} == {
        "MemoryPressure": "False",
        "DiskPressure": "False",
        "PIDPressure": "False",
        "Ready": "True",
    }
    assert [address["type"] for address in status["addresses"]] == ["InternalIP", "Hostname"]
    assert status["nodeInfo"]["operatingSystem"] == "linux"
    eventually(lambda: "taints" not in any_pods.nodes.read("simulated-1")["spec"], "it is free")


def test_nodes_say_which_volume_drivers_they_have(any_pods: Pods) -> None:
    drivers = any_pods.space.everywhere("csinodes", "storage.@").read("simulated-0")
    (owner,) = drivers["metadata"]["ownerReferences"]
    assert owner["uid"] == any_pods.nodes.read("simulated-0")["metadata"]["uid"]
    label = any_pods.space.dialect.label
    migrated = drivers["metadata"]["annotations"][label("storage.alpha.@/migrated-plugins")]
    assert migrated.split(",")[:2] == [label("@/aws-ebs"), label("@/azure-disk")]
    (driver,) = drivers["spec"]["drivers"]
    assert (driver["name"], driver["nodeID"]) == ("volumes.simulation.fairlead.dev", "simulated-0")


def lease(pods: Pods, node: str) -> Object:
    namespace = pods.space.dialect.node_lease_namespace
    base = pods.space.base("coordination.@")
    document: Object = pods.space.client.get(f"{base}/namespaces/{namespace}/leases/{node}").body
    return document


def test_leases_are_kept_fresh(any_pods: Pods) -> None:
    before = lease(any_pods, "simulated-0")
    assert before["spec"]["holderIdentity"] == "simulated-0"
    assert before["spec"]["leaseDurationSeconds"] == 40
    (owner,) = before["metadata"]["ownerReferences"]
    assert owner["uid"] == any_pods.nodes.read("simulated-0")["metadata"]["uid"]
    any_pods.server.advance(20)
    eventually(
        lambda: lease(any_pods, "simulated-0")["spec"]["renewTime"] > before["spec"]["renewTime"],
        "the lease is renewed",
    )


def test_a_lease_of_a_clock_that_was_ahead_is_renewed(pods: Pods) -> None:
    namespace, far = pods.space.dialect.node_lease_namespace, "2999-01-01T00:00:00.000000Z"
    path = f"{pods.space.base('coordination.@')}/namespaces/{namespace}/leases/simulated-0"
    assert pods.space.client.patch(path, {"spec": {"renewTime": far}}).status == 200
    pods.server.advance(20)
    eventually(
        lambda: lease(pods, "simulated-0")["spec"]["renewTime"] < far, "the lease is renewed"
    )


def test_nodes_report_every_five_minutes(pods: Pods) -> None:
    def reported() -> str:
        conditions = pods.nodes.read("simulated-0")["status"]["conditions"]
        times: list[str] = [condition["lastHeartbeatTime"] for condition in conditions]
        return min(times)

    before = reported()
    pods.server.advance(301)
    eventually(lambda: reported() > before, "the node has reported")


def set_state(nodes: Space, name: str, state: str | None) -> None:
    annotations = {f"{PREFIX}node-state": state}
    change = {"metadata": {"annotations": annotations}}
    assert nodes.everywhere("nodes").patch(name, change).status == 200


def ready(pods: Pods, name: str) -> Object:
    conditions = pods.nodes.read(name)["status"]["conditions"]
    return next(condition for condition in conditions if condition["type"] == "Ready")


def test_a_node_says_that_it_is_not_ready_and_starts_nothing(fresh_server: FreshServer) -> None:
    server = fresh_server("--simulate-nodes=1", prelude=MOVABLE_CLOCK)
    pods = Pods(Space(server, server.client()))
    pods.create("before")
    pods.await_ready("before")
    set_state(pods.space, "simulated-0", "not-ready")
    eventually(lambda: ready(pods, "simulated-0")["status"] == "False", "it is not ready")
    assert ready(pods, "simulated-0")["reason"] == "KubeletNotReady"
    pods.create("after", nodeName="simulated-0")
    pods.collection.remove("before")
    pods.await_gone("before")
    assert pods.status("after")["phase"] == "Pending"
    set_state(pods.space, "simulated-0", None)
    eventually(lambda: ready(pods, "simulated-0")["status"] == "True", "it is ready")
    pods.await_ready("after")


def test_an_unreachable_node_is_not_heard_of(fresh_server: FreshServer) -> None:
    server = fresh_server("--simulate-nodes=2", prelude=MOVABLE_CLOCK)
    pods = Pods(Space(server, server.client()))
    pods.create("p", nodeName="simulated-0")
    pods.await_ready()
    set_state(pods.space, "simulated-0", "unreachable")
    silent, heard = lease(pods, "simulated-0"), lease(pods, "simulated-1")
    pods.collection.remove("p")
    server.advance(20)
    eventually(lambda: lease(pods, "simulated-1") != heard, "the other one reports")
    assert lease(pods, "simulated-0") == silent
    assert pods.collection.get("p").status == 200
    set_state(pods.space, "simulated-0", "ready")
    pods.await_gone()
    eventually(lambda: lease(pods, "simulated-0") != silent, "it reports again")


def test_the_pods_of_an_unreachable_node_are_replaced(fresh_server: FreshServer) -> None:
    server = fresh_server("--simulate-nodes=2", prelude=MOVABLE_CLOCK)
    pods = Pods(Space(server, server.client()))
    deployments = pods.space.collection("deployments", "apps")
    deployments.create("web", spec=replicated(4))

    def ready_on(node: str) -> int:
        items = pods.collection.list(fieldSelector=f"spec.nodeName={node}").body["items"]
        return sum(
            condition["type"] == "Ready" and condition["status"] == "True"
            for pod in items
            for condition in pod["status"].get("conditions", [])
        )

    eventually(lambda: ready_on("simulated-0") == ready_on("simulated-1") == 2, "they are spread")
    set_state(pods.space, "simulated-0", "unreachable")

    def wait(what: str, holds: Callable[[], bool]) -> None:
        def later() -> bool:
            server.advance(5)
            return holds()

        eventually(later, what)

    wait("it is missed", lambda: ready(pods, "simulated-0")["status"] == "Unknown")
    wait("its pods are not ready", lambda: ready_on("simulated-0") == 0)
    wait("others are", lambda: ready_on("simulated-1") == 4)


def test_after_a_restart_changed_nodes_are_as_they_were_and_deleted_ones_are_back(
    fresh_server: FreshServer,
) -> None:
    server = fresh_server("--simulate-nodes=2")
    pods = Pods(Space(server, server.client()))
    eventually(lambda: len(pods.nodes.names()) == 2, "both register")
    grown = {"status": {"capacity": {"cpu": "1000"}, "allocatable": {"cpu": "1000"}}}
    path = pods.nodes.item("simulated-0", "status")
    assert pods.space.client.patch(path, grown).status == 200
    pods.create("p", asking(cpu="900"))
    pods.await_ready()
    pods.nodes.remove("simulated-1")
    assert pods.nodes.names() == ["simulated-0"]
    server.stop()
    server.start()
    nodes = Space(server, server.client()).everywhere("nodes")
    eventually(lambda: len(nodes.names()) == 2, "it registers again")
    assert nodes.read("simulated-0")["status"]["allocatable"]["cpu"] == "1k"


def test_extended_resources_of_a_node_are_offered(fresh_server: FreshServer) -> None:
    server = fresh_server("--simulate-nodes=1")
    pods = Pods(Space(server, server.client()))
    eventually(lambda: len(pods.nodes.names()) == 1, "it registers")
    path = pods.nodes.item("simulated-0", "status")

    def give(amount: str) -> None:
        value = {"status": {"capacity": {"example.com/gpu": amount}}}
        assert pods.space.client.patch(path, value).status == 200

    def is_offered(amount: str) -> bool:
        offered = pods.nodes.read("simulated-0")["status"]["allocatable"]
        return bool(offered.get("example.com/gpu") == amount)

    give("4")
    eventually(lambda: is_offered("4"), "all of it is allocatable")
    give("2")
    eventually(lambda: is_offered("2"), "and what is left of it")
    pods.create("p", container(resources={"limits": {"example.com/gpu": "2"}}))
    pods.await_ready()


def test_without_the_flag_there_are_neither_nodes_nor_a_scheduler(kubernetes: Space) -> None:
    pods = Pods(kubernetes)
    pods.create()
    assert not [name for name in pods.nodes.names() if name.startswith("simulated-")]
    assert pods.status() == {"phase": "Pending", "qosClass": "BestEffort"}


def test_pods_of_a_server_without_a_scheduler_of_its_own_wait_for_another(
    fresh_server: FreshServer,
) -> None:
    server = fresh_server("--simulate-nodes=1", "--simulate-scheduler=false")
    await_nodes(server, 1)
    pods = Pods(Space(server, server.client()))
    pods.create()
    binding = {"metadata": {"name": "p"}, "target": {"kind": "Node", "name": "simulated-0"}}
    assert pods.status() == {"phase": "Pending", "qosClass": "BestEffort"}
    assert server.client().post(pods.collection.item("p", "binding"), binding).status == 201
    pods.await_ready()
    components = server.client().get("/api/v1/componentstatuses").body["items"]
    scheduler, *others = [component["conditions"][0]["status"] for component in components]
    assert (scheduler, others) == ("False", ["True", "True"])


def test_nodes_are_simulated_without_controllers_and_roles(fresh_server: FreshServer) -> None:
    alone = ("--controllers=-*", "--authorization-mode=AlwaysAllow")
    server = fresh_server("--simulate-nodes=1", *alone)
    pods = Pods(Space(server, server.client()))
    pods.create()
    pods.await_ready()
    pods.collection.remove("p")
    pods.await_gone()


@pytest.mark.parametrize(
    ("text", "message"),
    [("many", "is not a whole number"), ("6000", "6000 are too many nodes: 5000")],
)
def test_a_number_of_nodes_that_makes_no_sense_is_refused(
    text: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    parser = ArgumentParser()
    add_simulation_flags(parser)
    with pytest.raises(SystemExit):
        parser.parse_args(["--simulate-nodes", text])
    assert message in capsys.readouterr().err
