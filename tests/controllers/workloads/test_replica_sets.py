"""ReplicaSets keep a number of pods."""

from __future__ import annotations

from typing import Any

import pytest
from support.namespaces import Space
from support.waiting import eventually
from support.workloads import LABELS, Workloads, replicated, template

POD = {"spec": template()["spec"]}


@pytest.fixture
def work(kubernetes: Space) -> Workloads:
    return Workloads(kubernetes)


def test_a_replica_set_makes_its_pods(work: Workloads) -> None:
    owner = work.replica_sets.create("r", spec=replicated(2))
    work.await_pods(2)
    for pod in work.living():
        metadata = pod["metadata"]
        assert metadata["generateName"] == "r-"
        assert metadata["labels"] == LABELS
        assert metadata["ownerReferences"] == [
            {
                "apiVersion": "apps/v1",
                "kind": "ReplicaSet",
                "name": "r",
                "uid": owner["metadata"]["uid"],
                "controller": True,
                "blockOwnerDeletion": True,
            }
        ]
    status = work.await_status(work.replica_sets, "r", replicas=2)
    assert status == {"replicas": 2, "fullyLabeledReplicas": 2, "observedGeneration": 1}


def test_a_pod_carries_what_its_template_says(work: Workloads) -> None:
    created = template()
    created["metadata"] = {
        "labels": {**LABELS, "tier": "front"},
        "annotations": {"a": "b"},
        "finalizers": ["example.com/f"],
    }
    work.replica_sets.create("r", spec=replicated(1, template=created))
    (name,) = work.await_pods(1)
    metadata = work.pods.read(name)["metadata"]
    assert {field: metadata[field] for field in created["metadata"]} == created["metadata"]


def test_a_deleted_pod_is_replaced(work: Workloads) -> None:
    work.replica_sets.create("r", spec=replicated(2))
    first, second = work.await_pods(2)
    work.pods.remove(first)
    eventually(lambda: len(work.names() - {first}) == 2, "another pod")
    assert second in work.names()


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_a_finished_pod_is_replaced_and_stays(work: Workloads, phase: str) -> None:
    work.replica_sets.create("r", spec=replicated(1))
    (name,) = work.await_pods(1)
    work.set_status([name], phase=phase)
    work.await_pods(2)
    assert name in work.names()
    work.await_status(work.replica_sets, "r", replicas=1)


def test_a_replica_set_is_scaled_down(work: Workloads) -> None:
    work.replica_sets.create("r", spec=replicated(3))
    names = work.await_pods(3)
    work.replica_sets.patch("r", {"spec": {"replicas": 1}})
    assert work.await_pods(1) < names
    status = work.await_status(work.replica_sets, "r", replicas=1, observedGeneration=2)
    assert status["fullyLabeledReplicas"] == 1


def test_pods_that_are_not_ready_go_first(work: Workloads) -> None:
    work.replica_sets.create("r", spec=replicated(4))
    ready = set(sorted(work.await_pods(4))[:2])
    work.make_ready(ready)
    work.await_status(work.replica_sets, "r", readyReplicas=2)
    work.replica_sets.patch("r", {"spec": {"replicas": 2}})
    assert work.await_pods(2) == ready


@pytest.mark.both_dialects
def test_pods_of_low_cost_go_first(space: Space) -> None:
    work = Workloads(space)
    work.replica_sets.create("r", spec=replicated(3))
    dear, cheap, other = sorted(work.await_pods(3))
    annotation = work.space.dialect.label("controller.@/pod-deletion-cost")
    for name, cost in ((dear, "10"), (cheap, "-10")):
        work.pods.patch(name, {"metadata": {"annotations": {annotation: cost}}})
    work.replica_sets.patch("r", {"spec": {"replicas": 2}})
    assert work.await_pods(2) == {dear, other}
    work.replica_sets.patch("r", {"spec": {"replicas": 1}})
    assert work.await_pods(1) == {dear}


def test_a_pod_without_a_controller_is_adopted(work: Workloads) -> None:
    work.pods.create("stray", labels=LABELS, **POD)
    owner = work.replica_sets.create("r", spec=replicated(2))
    work.await_status(work.replica_sets, "r", replicas=2)
    assert len(work.names()) == 2
    (reference,) = work.pods.read("stray")["metadata"]["ownerReferences"]
    assert reference["uid"] == owner["metadata"]["uid"]
    assert reference["controller"]


def test_a_pod_that_comes_to_be_selected_is_adopted_and_makes_one_too_many(work: Workloads) -> None:
    work.replica_sets.create("r", spec=replicated(1))
    work.make_ready(work.await_pods(1))
    work.await_status(work.replica_sets, "r", readyReplicas=1)
    work.pods.create("stray", **POD)
    work.pods.patch("stray", {"metadata": {"labels": LABELS}})
    eventually(lambda: "stray" not in work.names(), "the stray is one too many")


def test_an_owner_that_does_not_control_is_kept_beside(work: Workloads) -> None:
    owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "c"}
    owner["uid"] = work.space.config_maps.create("c")["metadata"]["uid"]
    work.pods.create("stray", labels=LABELS, metadata={"ownerReferences": [owner]}, **POD)
    work.replica_sets.create("r", spec=replicated(1))
    work.await_status(work.replica_sets, "r", replicas=1)
    kinds = [
        owner_reference["kind"]
        for owner_reference in work.pods.read("stray")["metadata"]["ownerReferences"]
    ]
    assert kinds == ["ConfigMap", "ReplicaSet"]


def test_a_pod_that_is_no_longer_selected_is_let_go_and_replaced(work: Workloads) -> None:
    work.replica_sets.create("r", spec=replicated(1))
    (name,) = work.await_pods(1)
    work.pods.label(name, app="other")
    eventually(lambda: len(work.names()) == 2, "a replacement")
    eventually(
        lambda: "ownerReferences" not in work.pods.read(name)["metadata"], "the pod is let go"
    )


def test_pods_of_another_controller_are_left_alone(work: Workloads) -> None:
    work.replica_sets.create("one", spec=replicated(1))
    (name,) = work.await_pods(1)
    work.replica_sets.create("two", spec=replicated(1))
    work.await_pods(2)
    work.await_status(work.replica_sets, "two", replicas=1)
    (reference,) = work.pods.read(name)["metadata"]["ownerReferences"]
    assert reference["name"] == "one"


def test_a_replica_set_that_is_being_deleted_makes_and_takes_nothing(work: Workloads) -> None:
    held = {"finalizers": ["example.com/hold"]}
    work.replica_sets.create("r", spec=replicated(1), metadata=held)
    (name,) = work.await_pods(1)
    work.replica_sets.remove("r")
    work.pods.create("stray", labels=LABELS, **POD)
    work.pods.remove(name)
    work.await_status(work.replica_sets, "r", replicas=0, observedGeneration=2)
    assert work.names() == {"stray"}
    assert "ownerReferences" not in work.pods.read("stray")["metadata"]


def test_the_status_counts_ready_and_fully_labeled_pods(work: Workloads) -> None:
    created = template()
    created["metadata"] = {"labels": {**LABELS, "tier": "front"}}
    work.replica_sets.create("r", spec=replicated(2, template=created))
    first, _ = work.await_pods(2)
    work.make_ready([first])
    work.pods.label(first, **LABELS)
    status = work.await_status(work.replica_sets, "r", readyReplicas=1, fullyLabeledReplicas=1)
    assert status["replicas"] == 2
    assert status["availableReplicas"] == 1


def test_pods_made_and_deleted_are_told_by_events(work: Workloads) -> None:
    work.replica_sets.create("r", spec=replicated(1))
    (name,) = work.await_pods(1)
    event = work.await_event("SuccessfulCreate")
    assert event["message"] == f"Created pod: {name}"
    assert event["source"] == {"component": "replicaset-controller"}
    assert event["involvedObject"]["kind"] == "ReplicaSet"
    work.replica_sets.patch("r", {"spec": {"replicas": 0}})
    assert work.await_event("SuccessfulDelete")["message"] == f"Deleted pod: {name}"


def _limit_pods(work: Workloads, count: int) -> None:
    quotas = work.space.collection("resourcequotas")
    quotas.create("q", spec={"hard": {"pods": str(count)}})
    eventually(lambda: "used" in quotas.read("q").get("status", {}), "the quota is counted")


def test_events_of_controllers_have_all_fields_that_events_have(work: Workloads) -> None:
    work.replica_sets.create("r", spec=replicated(1))
    event = work.await_event("SuccessfulCreate")
    fields = ("eventTime", "reportingComponent", "reportingInstance")
    assert [event[field] for field in fields] == [None, "", ""]
    newer = work.space.collection("events", "events.@")
    value = newer.read(event["metadata"]["name"])
    value["metadata"]["labels"] = {"seen": "yes"}
    assert newer.update(value)["metadata"]["labels"] == {"seen": "yes"}


def test_a_refusal_is_told_in_a_condition_until_it_ends(work: Workloads) -> None:
    _limit_pods(work, 1)
    work.replica_sets.create("r", spec=replicated(3))
    condition = work.await_condition(work.replica_sets, "r", "ReplicaFailure", "FailedCreate")
    assert condition["status"] == "True"
    assert "is forbidden: exceeded quota: q, requested: pods=1" in condition["message"]
    assert work.await_event("FailedCreate", "Error creating: pods")["type"] == "Warning"
    work.await_status(work.replica_sets, "r", replicas=1)
    work.space.collection("resourcequotas").patch("q", {"spec": {"hard": {"pods": "5"}}})
    status: dict[str, Any] = work.await_status(work.replica_sets, "r", replicas=3, conditions=0)
    assert "conditions" not in status


def test_nothing_is_made_in_a_namespace_that_ends(work: Workloads) -> None:
    held = {"finalizers": ["example.com/hold"]}
    work.replica_sets.create("r", spec=replicated(1), metadata=held)
    work.await_pods(1)
    work.space.everywhere("namespaces").delete(work.space.name)
    eventually(lambda: not work.living(), "the pods are gone")
    work.await_status(work.replica_sets, "r", replicas=0)
    assert not work.condition(work.replica_sets, "r", "ReplicaFailure")
    work.replica_sets.patch("r", {"metadata": {"finalizers": []}})


def test_a_replication_controller_does_the_same(work: Workloads) -> None:
    controllers = work.space.collection("replicationcontrollers")
    work.pods.create("stray", labels=LABELS, **POD)
    controllers.create("r", spec={"replicas": 3, "selector": LABELS, "template": template()})
    work.await_pods(3)
    status = work.await_status(controllers, "r", replicas=3)
    assert status == {"replicas": 3, "fullyLabeledReplicas": 3, "observedGeneration": 1}
    (reference,) = work.pods.read("stray")["metadata"]["ownerReferences"]
    assert (reference["apiVersion"], reference["kind"]) == ("v1", "ReplicationController")
    event = work.await_event("SuccessfulCreate")
    assert event["source"] == {"component": "replication-controller"}
    controllers.patch("r", {"spec": {"replicas": 0}})
    work.await_pods(0)
