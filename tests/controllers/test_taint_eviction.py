"""Pods are evicted from nodes whose NoExecute taints they do not tolerate."""

from __future__ import annotations

from collections.abc import Iterator
from math import inf
from typing import Any

import pytest
from support.nodes import NODES, Cluster
from support.process import MOVABLE_CLOCK, FreshServer, ServerProcess
from support.waiting import eventually

from fairlead.controllers.nodes.taint_eviction import Taint, Tolerations, leaves_at

TAINT = {"key": "broken", "value": "yes", "effect": "NoExecute"}
FOR_EVER = {"key": "broken", "operator": "Exists"}
FOR_A_MINUTE = {**FOR_EVER, "effect": "NoExecute", "tolerationSeconds": 60}


@pytest.fixture(scope="module")
def moving(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    directory = tmp_path_factory.mktemp("taints")
    running = ServerProcess(directory, "kubernetes", (), MOVABLE_CLOCK).start()
    yield running
    running.stop()


@pytest.fixture
def cluster(moving: ServerProcess) -> Iterator[Cluster]:
    cluster = Cluster(moving)
    yield cluster
    cluster.close()


def taint(cluster: Cluster, node: str, *taints: dict[str, str]) -> None:
    changed = cluster.client.patch(f"{NODES}/{node}", {"spec": {"taints": list(taints)}})
    assert changed.status == 200, changed.text


def await_eviction(cluster: Cluster, pod: str, text: str) -> None:
    messages = ("taint-controller", "Normal", "TaintManagerEviction", text)
    eventually(lambda: messages in cluster.events(pod, cluster.namespace), text)


def test_pods_that_do_not_tolerate_a_taint_leave_at_once(cluster: Cluster) -> None:
    node = cluster.node("a")
    going, staying = cluster.pod("going", node), cluster.pod("staying", node, [FOR_EVER])
    elsewhere = cluster.pod("elsewhere", cluster.anchor)
    taint(cluster, node, TAINT)
    eventually(lambda: cluster.is_leaving(going), "the pod goes")
    await_eviction(cluster, "going", f"Marking for deletion Pod {cluster.namespace}/going")
    assert not cluster.is_leaving(staying)
    assert not cluster.is_leaving(elsewhere)
    assert cluster.client.get(going).body["metadata"]["deletionGracePeriodSeconds"] == 30


def test_taints_of_other_effects_send_nobody_away(cluster: Cluster) -> None:
    node = cluster.node("a")
    pod, going = cluster.pod("p", node), cluster.pod("going", cluster.anchor)
    taint(cluster, node, {**TAINT, "effect": "NoSchedule"}, {**TAINT, "effect": "PreferNoSchedule"})
    taint(cluster, cluster.anchor, TAINT)
    eventually(lambda: cluster.is_leaving(going), "another pod goes")
    assert not cluster.is_leaving(pod)


def test_a_taint_is_tolerated_for_so_many_seconds(cluster: Cluster) -> None:
    node = cluster.node("a")
    pod, other = cluster.pod("p", node, [FOR_A_MINUTE]), cluster.pod("q", node)
    taint(cluster, node, TAINT)
    eventually(lambda: cluster.is_leaving(other), "the taint is known")
    cluster.pass_time(50, node)
    assert not cluster.is_leaving(pod)
    cluster.pass_time(11, node)
    eventually(lambda: cluster.is_leaving(pod), "its time is over")


def test_pods_stay_when_the_taint_goes_in_time(cluster: Cluster) -> None:
    node = cluster.node("a")
    pod, other = cluster.pod("p", node, [FOR_A_MINUTE]), cluster.pod("q", node)
    taint(cluster, node, TAINT)
    eventually(lambda: cluster.is_leaving(other), "the taint is known")
    taint(cluster, node)
    await_eviction(cluster, "p", f"Cancelling deletion of Pod {cluster.namespace}/p")
    cluster.pass_time(100, node)
    assert not cluster.is_leaving(pod)


def test_a_toleration_of_any_length_harms_nobody(cluster: Cluster) -> None:
    node = cluster.node("a")
    long, longest = 2**53, 2**63 - 1
    patient = [
        cluster.pod(f"p{seconds}", node, [{**FOR_A_MINUTE, "tolerationSeconds": seconds}])
        for seconds in (long, longest)
    ]
    minute = cluster.pod("minute", node, [FOR_A_MINUTE])
    taint(cluster, node, TAINT)
    cluster.pass_time(61, node)
    eventually(lambda: cluster.is_leaving(minute), "the other pod goes")
    assert not any(map(cluster.is_leaving, patient))


def test_a_pod_that_comes_to_a_tainted_node_leaves(cluster: Cluster) -> None:
    node = cluster.node("a", spec={"taints": [TAINT]})
    pod = cluster.pods + "/p"
    manifest = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    assert cluster.client.post(cluster.pods, manifest).status == 201
    binding = {"metadata": {"name": "p"}, "target": {"kind": "Node", "name": node}}
    assert cluster.client.post(f"{pod}/binding", binding).status == 201
    eventually(lambda: cluster.is_leaving(pod), "the pod goes")


def test_another_taint_in_the_place_of_one_gives_no_more_time(cluster: Cluster) -> None:
    node = cluster.node("a")
    tolerations = [FOR_A_MINUTE, {**FOR_A_MINUTE, "key": "worse"}]
    pod, other = cluster.pod("p", node, tolerations), cluster.pod("q", node)
    taint(cluster, node, TAINT)
    eventually(lambda: cluster.is_leaving(other), "the taint is known")
    cluster.pass_time(40, node)
    taint(cluster, node, {**TAINT, "key": "worse"})
    cluster.pass_time(21, node)
    eventually(lambda: cluster.is_leaving(pod), "its time is over")


def test_pods_leave_a_silent_node_after_five_minutes(cluster: Cluster) -> None:
    node = cluster.node("a")
    pod = cluster.pod("p", node)
    cluster.pass_time(50)
    eventually(lambda: ("unreachable", "NoExecute") in cluster.taints(node), "it is given up")
    cluster.pass_time(280)
    assert not cluster.is_leaving(pod)
    cluster.pass_time(30)
    eventually(lambda: cluster.is_leaving(pod), "the pod goes")


def test_pods_are_told_why_they_leave_where_that_is_switched_on(fresh_server: FreshServer) -> None:
    cluster = Cluster(fresh_server("--feature-gates=PodDisruptionConditions=true"))
    node = cluster.node("a")
    pod = cluster.pod("p", node)
    taint(cluster, node, TAINT)
    eventually(lambda: cluster.is_leaving(pod), "the pod goes")
    conditions = cluster.client.get(pod).body["status"]["conditions"]
    reported = next(
        condition for condition in conditions if condition["type"] == "DisruptionTarget"
    )
    assert (reported["status"], reported["reason"], reported["message"]) == (
        "True",
        "DeletionByTaintManager",
        "Taint manager: deleting due to NoExecute taint",
    )


@pytest.mark.parametrize(
    ("toleration", "holds"),
    [
        ({"key": "k", "value": "v", "operator": "Equal"}, True),
        ({"key": "k", "value": "v"}, True),
        ({"key": "k"}, False),
        ({"key": "k", "operator": "Exists"}, True),
        ({"operator": "Exists"}, True),
        ({"key": "other", "operator": "Exists"}, False),
        ({"operator": "Exists", "effect": "NoSchedule"}, False),
        ({"operator": "Exists", "effect": "NoExecute"}, True),
    ],
)
def test_toleration_matches_taints_by_key_value_and_effect(
    toleration: dict[str, Any], holds: bool
) -> None:
    assert (Tolerations([toleration]).seconds(Taint("k", "v", 0.0)) == inf) is holds


def test_of_several_tolerations_the_first_counts() -> None:
    messages = [
        {"key": "k", "operator": "Exists", "tolerationSeconds": 7},
        {"key": "k", "value": "v", "tolerationSeconds": 9},
        {"operator": "Exists", "tolerationSeconds": 5},
    ]
    assert Tolerations(messages).seconds(Taint("k", "v", 0.0)) == 7
    assert Tolerations(reversed(messages)).seconds(Taint("k", "v", 0.0)) == 5
    assert Tolerations(messages[1:]).seconds(Taint("k", "w", 0.0)) == 5
    assert Tolerations(messages[:2]).seconds(Taint("l", "v", 0.0)) is None


def _pod(*tolerations: dict[str, Any], arrived: str = "1970-01-01T00:00:00Z") -> dict[str, Any]:
    return {
        "metadata": {"creationTimestamp": arrived},
        "spec": {"tolerations": list(tolerations)},
    }


def test_the_shortest_toleration_counts() -> None:
    pod = _pod(
        {"key": "a", "operator": "Exists", "tolerationSeconds": 60},
        {"key": "b", "operator": "Exists", "tolerationSeconds": 5},
        {"key": "c", "operator": "Exists"},
    )
    taints = [Taint(key, "", 100.0) for key in "abc"]
    assert leaves_at(pod, taints) == 105.0
    assert leaves_at(pod, taints[:1]) == 160.0
    assert leaves_at(pod, taints[2:]) == inf
    assert leaves_at(pod, [Taint("d", "", 100.0)]) == -inf


def test_the_time_of_a_pod_runs_from_its_arrival() -> None:
    pod = _pod({"operator": "Exists", "tolerationSeconds": 60}, arrived="1970-01-01T00:05:00Z")
    assert leaves_at(pod, [Taint("a", "", 100.0)]) == 360.0


def test_toleration_seconds_of_zero_mean_at_once() -> None:
    pod = _pod({"operator": "Exists", "tolerationSeconds": 0})
    assert leaves_at(pod, [Taint("a", "", 100.0)]) == -inf
