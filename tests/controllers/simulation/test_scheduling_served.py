"""Each rule of the scheduler once, through the API."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from support.namespaces import random_word
from support.simulation import Pods, asking, container

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
ALL = {"simulated-0", "simulated-1", "simulated-2"}
WEB = {"app": "web"}


def term(pods: Pods, label: str = "@/hostname") -> dict[str, object]:
    key = pods.space.dialect.label(label)
    return {"topologyKey": key, "labelSelector": {"matchLabels": WEB}}


def refusal(pods: Pods, name: str) -> str:
    text: str = pods.await_event("FailedScheduling", name)["message"]
    return text.partition(". ")[0]


@pytest.fixture
def tainted(pods: Pods) -> Iterator[str]:
    """The key of a taint that one of the nodes has."""
    key = f"{random_word()}/only"
    taints = [{"key": key, "value": "yes", "effect": "NoSchedule"}]
    assert pods.nodes.patch("simulated-1", {"spec": {"taints": taints}}).status == 200
    yield key
    assert pods.nodes.patch("simulated-1", {"spec": {"taints": None}}).status == 200


def test_taints_and_tolerations(pods: Pods, tainted: str) -> None:
    here = {pods.space.dialect.label("@/hostname"): "simulated-1"}
    pods.create("refused", nodeSelector=here)
    assert refusal(pods, "refused") == (
        "0/3 nodes are available: 1 node(s) had untolerated taint {" + tainted + ": yes},"
        " 2 node(s) didn't match Pod's node affinity/selector"
    )
    pods.create("allowed", nodeSelector=here, tolerations=[{"key": tainted, "operator": "Exists"}])
    pods.await_ready("allowed")


def test_node_affinity(pods: Pods) -> None:
    key = pods.space.dialect.label("@/hostname")
    rule = {"key": key, "operator": "NotIn", "values": ["simulated-0", "simulated-1"]}
    terms = {"nodeSelectorTerms": [{"matchExpressions": [rule]}]}
    pods.create(affinity={"nodeAffinity": {REQUIRED: terms}})
    pods.await_ready()
    assert pods.node_of() == "simulated-2"


def test_pods_apart_from_each_other(pods: Pods) -> None:
    apart = {"podAntiAffinity": {REQUIRED: [term(pods)]}}
    names = ["a", "b", "c"]
    for name in names:
        pods.create(name, labels=WEB, affinity=apart)
    pods.await_ready(*names)
    assert {pods.node_of(name) for name in names} == ALL
    pods.create("d", labels=WEB, affinity=apart)
    text = "0/3 nodes are available: 3 node(s) didn't match pod anti-affinity rules"
    assert refusal(pods, "d") == text
    pods.create("e", labels=WEB)
    text = "0/3 nodes are available: 3 node(s) didn't satisfy existing pods anti-affinity rules"
    assert refusal(pods, "e") == text


def test_pods_near_each_other(pods: Pods) -> None:
    near = {"podAffinity": {REQUIRED: [term(pods)]}}
    pods.create("lonely", affinity=near)
    assert refusal(pods, "lonely") == (
        "0/3 nodes are available: 3 node(s) didn't match pod affinity rules"
    )
    pods.create("a", labels=WEB, nodeName="simulated-2")
    pods.server.advance(2)
    pods.await_ready("lonely")
    assert pods.node_of("lonely") == "simulated-2"


def test_pods_spread_evenly(pods: Pods) -> None:
    spread = {**term(pods, "topology.@/zone"), "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule"}
    names = [f"p{number}" for number in range(6)]
    for name in names:
        pods.create(name, labels=WEB, topologySpreadConstraints=[spread])
    pods.await_ready(*names)
    places = [pods.node_of(name) for name in names]
    assert all(places.count(node) == 2 for node in ALL)


def test_ports_of_nodes(pods: Pods) -> None:
    ports = [{"containerPort": 80, "hostPort": 8080}]
    names = ["a", "b", "c"]
    for name in names:
        pods.create(name, container(ports=ports))
    pods.await_ready(*names)
    assert {pods.node_of(name) for name in names} == ALL
    pods.create("d", container(ports=ports))
    assert refusal(pods, "d") == (
        "0/3 nodes are available: 3 node(s) didn't have free ports for the requested pod ports"
    )


@pytest.fixture
def device(pods: Pods) -> Iterator[str]:
    """A resource of which one of the nodes has one."""
    name = f"example.com/{random_word()}"
    path = pods.nodes.item("simulated-1", "status")

    def offer(amount: str | None) -> None:
        amounts = {name: amount}
        status = {"status": {"capacity": amounts, "allocatable": amounts}}
        assert pods.space.client.patch(path, status).status == 200

    offer("1")
    yield name
    offer(None)


def test_extended_resources(pods: Pods, device: str) -> None:
    wanted = container(resources={"limits": {device: "1"}})
    pods.create("a", wanted)
    pods.await_ready("a")
    assert pods.node_of("a") == "simulated-1"
    pods.create("b", wanted)
    assert refusal(pods, "b") == f"0/3 nodes are available: 3 Insufficient {device}"


def test_how_many_pods_a_node_takes_and_how_much_memory(pods: Pods) -> None:
    pods.create("large", asking(memory="65Gi"))
    assert refusal(pods, "large") == "0/3 nodes are available: 3 Insufficient memory"
    path = pods.nodes.item("simulated-0", "status")
    try:
        none = {"status": {"allocatable": {"pods": "0"}}}
        assert pods.space.client.patch(path, none).status == 200
        pods.create("p", nodeSelector={pods.space.dialect.label("@/hostname"): "simulated-0"})
        assert "1 Too many pods" in refusal(pods, "p")
    finally:
        many = {"status": {"allocatable": {"pods": "110"}}}
        assert pods.space.client.patch(path, many).status == 200
    pods.server.advance(2)
    pods.await_ready()
