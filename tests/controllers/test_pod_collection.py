"""Orphaned and surplus finished pods are deleted."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from support.client import Object
from support.nodes import NODES, Cluster
from support.process import MOVABLE_CLOCK, FreshServer, ServerProcess
from support.waiting import eventually

OUT_OF_SERVICE = {"key": "node.kubernetes.io/out-of-service", "effect": "NoSchedule"}


@pytest.fixture(scope="module")
def moving(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    directory = tmp_path_factory.mktemp("pods")
    gates = "--feature-gates=PodDisruptionConditions=true,NodeOutOfServiceVolumeDetach=true"
    flags = ("--terminated-pod-gc-threshold=3", gates)
    running = ServerProcess(directory, "kubernetes", flags, MOVABLE_CLOCK).start()
    yield running
    running.stop()


@pytest.fixture
def cluster(moving: ServerProcess) -> Iterator[Cluster]:
    cluster = Cluster(moving)
    yield cluster
    cluster.close()


def is_gone(cluster: Cluster, pod: str) -> bool:
    return cluster.client.get(pod).status == 404


def test_pods_of_a_node_that_is_gone_go_after_a_while(cluster: Cluster) -> None:
    node = cluster.node("a")
    pod, other = cluster.pod("p", node), cluster.pod("other", cluster.anchor)
    cluster.client.delete(f"{NODES}/{node}")
    cluster.pass_time(35)
    assert not is_gone(cluster, pod)
    cluster.pass_time(6)
    eventually(lambda: is_gone(cluster, pod), "the pod is gone")
    assert not is_gone(cluster, other)


def test_pods_of_a_node_that_comes_back_stay(cluster: Cluster) -> None:
    node = cluster.node("a")
    pod, lost = cluster.pod("p", node), cluster.pod("lost", "never-was")
    cluster.client.delete(f"{NODES}/{node}")
    cluster.pass_time(20)
    assert cluster.client.post(NODES, {"metadata": {"name": node}}).status == 201
    cluster.pass_time(30, node)
    eventually(lambda: is_gone(cluster, lost), "what is on a node that never was is gone")
    assert not is_gone(cluster, pod)


def test_each_absence_of_a_node_counts_for_itself(cluster: Cluster) -> None:
    node = cluster.node("a")
    cluster.pod("first", node)
    cluster.client.delete(f"{NODES}/{node}")
    cluster.pass_time(20)
    cluster.client.delete(f"{cluster.pods}/first", gracePeriodSeconds=0)
    assert cluster.client.post(NODES, {"metadata": {"name": node}}).status == 201
    second = cluster.pod("second", node)
    cluster.client.delete(f"{NODES}/{node}")
    cluster.pass_time(30)
    assert not is_gone(cluster, second)
    cluster.pass_time(11)
    eventually(lambda: is_gone(cluster, second), "the pod is gone")


def test_pods_that_are_held_fail_first_and_are_told_why(cluster: Cluster) -> None:
    pod = cluster.pod("p", "never-was", finalizers=["example.com/held"])
    cluster.pass_time(41)
    eventually(lambda: cluster.is_leaving(pod), "the pod is deleted")
    document = cluster.client.get(pod).body
    assert document["metadata"]["deletionGracePeriodSeconds"] == 0
    assert document["status"]["phase"] == "Failed"
    reported = next(
        condition
        for condition in document["status"]["conditions"]
        if condition["type"] == "DisruptionTarget"
    )
    assert reported["reason"] == "DeletionByPodGC"
    assert reported["message"] == "PodGC: node no longer exists"
    cluster.client.patch(pod, {"metadata": {"finalizers": None}})


def test_a_pod_that_was_never_on_a_node_fails_when_it_is_deleted(cluster: Cluster) -> None:
    body: Object = {
        "metadata": {"name": "p", "finalizers": ["example.com/held"]},
        "spec": {"containers": [{"name": "c", "image": "i"}]},
    }
    assert cluster.client.post(cluster.pods, body).status == 201
    pod = f"{cluster.pods}/p"
    cluster.client.delete(pod)
    eventually(
        lambda: cluster.client.get(pod).body["status"]["phase"] == "Failed", "the pod has failed"
    )
    cluster.client.patch(pod, {"metadata": {"finalizers": None}})


def test_terminating_pods_of_a_node_out_of_service_go(cluster: Cluster) -> None:
    node = cluster.node("a", ready="False")
    pod, staying = cluster.pod("p", node), cluster.pod("staying", node)
    cluster.client.delete(pod)
    taints = {"spec": {"taints": [OUT_OF_SERVICE]}}
    cluster.client.patch(f"{NODES}/{node}", taints)
    eventually(lambda: is_gone(cluster, pod), "the pod is gone")
    assert not is_gone(cluster, staying)


def test_the_oldest_of_too_many_pods_that_are_through_go(cluster: Cluster) -> None:
    names = [f"p{number}" for number in range(6)]
    for name in names:
        pod = cluster.pod(name, cluster.anchor)
        cluster.pass_time(2)
        phase = "Succeeded" if name < "p3" else "Failed"
        if name != "p1":
            cluster.client.patch(f"{pod}/status", {"status": {"phase": phase}})
    eventually(lambda: is_gone(cluster, f"{cluster.pods}/p2"), "there are three of them")
    assert cluster.client.get(cluster.pods).names == ["p1", "p3", "p4", "p5"]


def test_a_pod_is_only_deleted_where_conditions_are_off(fresh_server: FreshServer) -> None:
    cluster = Cluster(fresh_server(prelude=MOVABLE_CLOCK, dialect="cluster"))
    pod = cluster.pod("p", "never-was", finalizers=["example.com/held"])
    cluster.pass_time(41)
    eventually(lambda: cluster.is_leaving(pod), "the pod is deleted")
    assert cluster.client.get(pod).body["status"]["phase"] == "Running"
