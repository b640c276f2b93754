"""The rules of the scheduler, each on a few nodes."""

from __future__ import annotations

from typing import Any

import pytest
from support.client import Object
from support.scheduling import APP, HOST, PREFERRED, REQUIRED, ZONE, Nodes, far, near, pod, term


@pytest.fixture
def nodes() -> Nodes:
    return Nodes()


def selecting(key: str, operator: str, *values: str) -> Object:
    rule = {"key": key, "operator": operator, "values": list(values)}
    return {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [{"matchExpressions": [rule]}]}}}


def test_requests_are_held_against_what_is_left(nodes: Nodes) -> None:
    nodes.place("a", "n0", requests={"cpu": "1500m"})
    nodes.place("b", "n1", requests={"memory": "4Gi"})
    nodes.place("c", "n2", requests={"example.com/gpu": "1"})
    assert nodes.fitting(pod(requests={"cpu": "600m"})) == ["n1", "n2", "n3"]
    pending = pod(requests={"cpu": "600m", "memory": "1Mi", "example.com/gpu": "1"})
    assert nodes.fitting(pending) == ["n3"]
    assert nodes.why(pending) == (
        "0/4 nodes are available: 1 Insufficient cpu, 1 Insufficient example.com/gpu,"
        " 1 Insufficient memory."
    )


def test_a_node_takes_so_many_pods(nodes: Nodes) -> None:
    for number in range(3):
        nodes.place(f"p{number}", "n0")
    assert nodes.fitting(pod()) == ["n1", "n2", "n3"]
    assert nodes.why(pod()) == "0/4 nodes are available: 1 Too many pods."


def test_a_container_that_prepares_a_pod_counts_if_it_needs_more(nodes: Nodes) -> None:
    initial = [{"name": "i", "resources": {"requests": {"cpu": "3"}}}]
    assert nodes.fitting(pod(requests={"cpu": "1"}, initContainers=initial)) == []


def test_ports_of_the_node_are_had_once(nodes: Nodes) -> None:
    nodes.place("a", "n0", ports=[{"hostPort": 80, "containerPort": 80}])
    nodes.place("b", "n1", ports=[{"hostPort": 80, "containerPort": 80, "hostIP": "10.0.0.1"}])
    nodes.place("c", "n2", ports=[{"hostPort": 80, "containerPort": 80, "protocol": "UDP"}])
    assert nodes.fitting(pod(ports=[{"hostPort": 80, "containerPort": 80}])) == ["n2", "n3"]
    other = pod(ports=[{"hostPort": 80, "containerPort": 80, "hostIP": "10.0.0.2"}])
    assert nodes.fitting(other) == ["n1", "n2", "n3"]
    text = "1 node(s) didn't have free ports for the requested pod ports"
    assert text in nodes.why(other)


def test_cordoned_nodes_are_left_out_unless_that_is_tolerated(nodes: Nodes) -> None:
    for name in ("n1", "n2", "n3"):
        nodes.describe(name, {}, unschedulable=True)
    assert nodes.fitting(pod()) == ["n0"]
    assert nodes.why(pod()) == "0/4 nodes are available: 3 node(s) were unschedulable."
    everything = [{"operator": "Exists"}]
    assert len(nodes.fitting(pod(tolerations=everything))) == 4


@pytest.mark.parametrize(
    ("toleration", "fits"),
    [
        ({"key": "a", "value": "b", "effect": "NoSchedule"}, True),
        ({"key": "a", "value": "b"}, True),
        ({"key": "a", "operator": "Exists"}, True),
        ({"operator": "Exists"}, True),
        ({"key": "a", "value": "x"}, False),
        ({"key": "a", "operator": "Exists", "effect": "NoExecute"}, False),
        ({"key": "x", "operator": "Exists"}, False),
    ],
)
def test_taints_keep_pods_away_that_do_not_tolerate_them(
    nodes: Nodes, toleration: Object, fits: bool
) -> None:
    nodes.describe("n0", {}, taints=[{"key": "a", "value": "b", "effect": "NoSchedule"}])
    assert ("n0" in nodes.fitting(pod(tolerations=[toleration]))) == fits
    text = "0/4 nodes are available: 1 node(s) had untolerated taint {a: b}."
    assert nodes.why(pod()) == text


def test_a_preference_of_taints_only_counts_where_nodes_are_compared(nodes: Nodes) -> None:
    for name in ("n0", "n1", "n3"):
        nodes.describe(name, {}, taints=[{"key": "a", "effect": "PreferNoSchedule"}])
    assert len(nodes.fitting(pod())) == 4
    assert nodes.best(pod()) == "n2"


@pytest.mark.parametrize(
    ("affinity", "fits"),
    [
        (selecting(ZONE, "In", "z1", "z2"), ["n1", "n3"]),
        (selecting(ZONE, "NotIn", "z1"), ["n0", "n2"]),
        (selecting("size", "Exists"), ["n0"]),
        (selecting("size", "DoesNotExist"), ["n1", "n2", "n3"]),
        (selecting("size", "Gt", "4"), ["n0"]),
        (selecting("size", "Lt", "5"), []),
        (selecting("size", "Gt", "many"), []),
    ],
)
def test_nodes_are_asked_for_by_affinity(nodes: Nodes, affinity: Object, fits: list[str]) -> None:
    nodes.relabel("n0", size="5")
    assert nodes.fitting(pod(affinity=affinity)) == fits


def test_nodes_are_asked_for_by_selector_and_by_name(nodes: Nodes) -> None:
    assert nodes.fitting(pod(nodeSelector={ZONE: "z0"})) == ["n0", "n2"]
    rule = {"key": "metadata.name", "operator": "In", "values": ["n3"]}
    named = {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [{"matchFields": [rule]}]}}}
    assert nodes.fitting(pod(affinity=named)) == ["n3"]
    text = "4 node(s) didn't match Pod's node affinity/selector."
    assert nodes.why(pod(nodeSelector={"a": "b"})) == f"0/4 nodes are available: {text}"


def test_a_preferred_node_is_taken_if_it_will_do(nodes: Nodes) -> None:
    rule = {"key": HOST, "operator": "In", "values": ["n2"]}
    wanted = {"weight": 1, "preference": {"matchExpressions": [rule]}}
    pending = pod(affinity={"nodeAffinity": {PREFERRED: [wanted]}})
    assert nodes.best(pending) == "n2"
    nodes.describe("n2", {}, unschedulable=True)
    assert nodes.best(pending) != "n2"


def test_pods_keep_away_from_others(nodes: Nodes) -> None:
    nodes.place("a", "n0", labels={"app": "web"})
    assert nodes.fitting(pod(affinity=far(term()))) == ["n1", "n3"]
    assert nodes.fitting(pod(affinity=far(term(HOST)))) == ["n1", "n2", "n3"]
    assert "2 node(s) didn't match pod anti-affinity rules" in nodes.why(pod(affinity=far(term())))


def test_pods_that_are_there_keep_others_away(nodes: Nodes) -> None:
    nodes.place("a", "n0", affinity=far(term()))
    assert nodes.fitting(pod(labels={"app": "web"})) == ["n1", "n3"]
    assert len(nodes.fitting(pod(labels={"app": "db"}))) == 4
    text = "2 node(s) didn't satisfy existing pods anti-affinity rules"
    assert text in nodes.why(pod(labels={"app": "web"}))


def test_pods_go_where_others_are(nodes: Nodes) -> None:
    pending = pod(affinity=near(term()))
    assert nodes.fitting(pending) == []
    assert "4 node(s) didn't match pod affinity rules" in nodes.why(pending)
    nodes.place("a", "n1", labels={"app": "web"})
    assert nodes.fitting(pending) == ["n1", "n3"]


def test_the_first_of_a_group_that_wants_to_be_together_goes_anywhere(nodes: Nodes) -> None:
    pending = pod(labels={"app": "web"}, affinity=near(term()))
    assert len(nodes.fitting(pending)) == 4
    nodes.describe("n0", {})
    assert nodes.fitting(pending) == ["n1", "n2", "n3"]


def test_affinity_is_about_the_namespaces_that_it_names(nodes: Nodes) -> None:
    nodes.place("a", "n0", namespace="red", labels={"app": "web"})
    assert len(nodes.fitting(pod(affinity=far(term())))) == 4
    assert nodes.fitting(pod(affinity=far(term(namespaces=["red"])))) == ["n1", "n3"]
    chosen = term(namespaceSelector={"matchLabels": {"colour": "red"}})
    assert nodes.fitting(pod(affinity=far(chosen))) == ["n1", "n3"]
    assert nodes.fitting(pod(affinity=far(term(namespaceSelector={})))) == ["n1", "n3"]


def test_preferred_pod_affinity_decides_between_nodes(nodes: Nodes) -> None:
    nodes.place("a", "n1", labels={"app": "web"})
    weighed = [{"weight": 100, "podAffinityTerm": term(HOST)}]
    assert nodes.best(pod(affinity={"podAffinity": {PREFERRED: weighed}})) == "n1"
    zoned = [{"weight": 100, "podAffinityTerm": term(ZONE)}]
    assert nodes.best(pod(affinity={"podAntiAffinity": {PREFERRED: zoned}})) in ("n0", "n2")


def spread(**fields: Any) -> list[Object]:
    base = {"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "DoNotSchedule"}
    return [{**base, "labelSelector": APP, **fields}]


def test_pods_are_spread_evenly(nodes: Nodes) -> None:
    nodes.place("a", "n0", labels={"app": "web"})
    pending = pod(labels={"app": "web"}, topologySpreadConstraints=spread())
    assert nodes.fitting(pending) == ["n1", "n3"]
    assert "2 node(s) didn't match pod topology spread constraints" in nodes.why(pending)
    wider = pod(labels={"app": "web"}, topologySpreadConstraints=spread(maxSkew=2))
    assert len(nodes.fitting(wider)) == 4


def test_nodes_without_the_label_of_a_spread_are_no_place(nodes: Nodes) -> None:
    nodes.describe("n0", {})
    pending = pod(labels={"app": "web"}, topologySpreadConstraints=spread())
    assert nodes.fitting(pending) == ["n1", "n2", "n3"]
    assert "constraints (missing required label)" in nodes.why(pending)


def test_a_spread_wants_a_number_of_domains(nodes: Nodes) -> None:
    for number in range(2):
        nodes.place(f"a{number}", f"n{number}", labels={"app": "web"})
    pending = pod(labels={"app": "web"}, topologySpreadConstraints=spread(minDomains=3))
    assert nodes.fitting(pending) == []


def test_a_spread_counts_only_nodes_where_the_pod_can_go(nodes: Nodes) -> None:
    nodes.place("a", "n0", labels={"app": "web"})
    here = {ZONE: "z0"}
    spreading = pod(labels={"app": "web"}, nodeSelector=here, topologySpreadConstraints=spread())
    assert nodes.fitting(spreading) == ["n0", "n2"]


def test_a_spread_that_is_only_wished_for_decides_between_nodes(nodes: Nodes) -> None:
    nodes.place("a", "n0", labels={"app": "web"})
    anyway = spread(whenUnsatisfiable="ScheduleAnyway")
    pending = pod(labels={"app": "web"}, topologySpreadConstraints=anyway)
    assert len(nodes.fitting(pending)) == 4
    assert nodes.best(pending) in ("n1", "n3")


def test_the_node_with_the_most_room_is_the_best(nodes: Nodes) -> None:
    for number in range(3):
        nodes.place(f"a{number}", f"n{number}", requests={"cpu": "1"})
    assert nodes.best(pod(requests={"cpu": "100m"})) == "n3"


def test_room_that_was_made_for_a_pod_is_not_given_to_one_that_counts_less(nodes: Nodes) -> None:
    high = pod("high", requests={"cpu": "2"}, priority=10)
    nodes.cluster.nominated[high.facts.key] = "n0", high.facts
    assert nodes.fitting(pod(requests={"cpu": "1"})) == ["n1", "n2", "n3"]
    assert len(nodes.fitting(pod(requests={"cpu": "1"}, priority=20))) == 4
    assert len(nodes.fitting(high)) == 4


def test_pods_that_ask_for_too_much_to_weigh_get_no_node(nodes: Nodes) -> None:
    many = [{"key": f"k{number}", "operator": "Exists"} for number in range(10_000)]
    assert nodes.fitting(pod(tolerations=many)) == []
    assert "more scheduling terms" in nodes.why(pod(tolerations=many))
    terms = [term(f"k{number}") for number in range(1_000)]
    assert nodes.fitting(pod(affinity=far(*terms))) == []


def test_a_node_that_is_gone_is_no_place(nodes: Nodes) -> None:
    nodes.place("a", "n0", requests={"cpu": "2"})
    nodes.cluster.put_node("n0", None)
    assert nodes.fitting(pod()) == ["n1", "n2", "n3"]
    nodes.describe("n0", {})
    assert nodes.fitting(pod(requests={"cpu": "1"})) == ["n1", "n2", "n3"]
