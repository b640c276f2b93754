"""Disruption budgets: their status, and evictions within it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from support.client import Answer, Object
from support.namespaces import Space
from support.process import MOVABLE_CLOCK, ServerProcess
from support.services import Backend
from support.waiting import eventually


class Budgets(Backend):
    """Pods, what controls them, and budgets."""

    def __init__(self, space: Space) -> None:
        super().__init__(space)
        self.budgets = space.collection("poddisruptionbudgets", "policy")

    def budget(self, name: str = "b", **spec: Any) -> None:
        self.budgets.create(name, spec={"selector": {"matchLabels": {"app": "a"}}, **spec})

    def owned(self, name: str, owner: Object | None, ready: bool = True) -> None:
        references = [] if owner is None else [reference(owner)]
        spec = {"containers": [{"name": "c", "image": "i"}]}
        metadata = {"ownerReferences": references}
        self.pods.create(name, metadata=metadata, labels={"app": "a"}, spec=spec)
        self.status(name, ready=ready)

    def workload(self, resource: str, name: str, replicas: int, **metadata: Any) -> Object:
        container = {"name": "c", "image": "i"}
        template = {"metadata": {"labels": {"w": name}}, "spec": {"containers": [container]}}
        spec: Object = {"replicas": replicas, "template": template}
        spec["selector"] = {"matchLabels": {"w": name}}
        if resource == "statefulsets":
            spec["serviceName"] = "s"
        group = "apps"
        if resource == "replicationcontrollers":
            spec["selector"], group = {"w": name}, ""
        created = self.space.collection(resource, group).create(name, metadata=metadata, spec=spec)
        return created

    def await_status(self, name: str = "b", **wanted: Any) -> None:
        """Wait until the status of a budget says something."""

        def status() -> Object:
            value: Object = self.budgets.read(name).get("status") or {}
            return {field: value.get(field) for field in wanted}

        eventually(lambda: status() == wanted, f"{name} says {wanted}")

    def condition(self, name: str = "b") -> Object:
        (result,) = self.budgets.read(name)["status"]["conditions"]
        return {key: result.get(key) for key in ("type", "status", "reason", "message")}

    def evict(self, name: str) -> Answer:
        body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name}}
        return self.space.client.post(self.pods.item(name, "eviction"), body)


def reference(owner: Object) -> Object:
    return {
        "apiVersion": owner["apiVersion"],
        "kind": owner["kind"],
        "name": owner["metadata"]["name"],
        "uid": owner["metadata"]["uid"],
        "controller": True,
    }


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    """A server where nobody else looks after the pods of workloads, with a clock to be moved."""
    directory = tmp_path_factory.mktemp("disruption")
    flags = ("--controllers=disruption",)
    running = ServerProcess(directory, "kubernetes", flags, MOVABLE_CLOCK)
    yield running.start()
    running.stop()


@pytest.fixture
def world(alone: ServerProcess) -> Iterator[Budgets]:
    client = alone.client()
    yield Budgets(Space(alone, client))
    client.close()


def test_healthy_pods_beyond_the_minimum_may_go(space: Space) -> None:
    world = Budgets(space)
    world.budget(minAvailable=1)
    for name in ("p", "q"):
        world.owned(name, None)
    world.owned("unready", None, ready=False)
    world.await_status(
        expectedPods=3,
        currentHealthy=2,
        desiredHealthy=1,
        disruptionsAllowed=1,
        observedGeneration=1,
    )
    assert world.condition() == {
        "type": "DisruptionAllowed",
        "status": "True",
        "reason": "SufficientPods",
        "message": "",
    }


def test_a_budget_without_pods_allows_nothing_and_says_so(world: Budgets) -> None:
    world.budget(minAvailable=0)
    world.await_status(expectedPods=0, disruptionsAllowed=0, observedGeneration=1)
    assert world.condition()["reason"] == "InsufficientPods"
    assert world.event_text("b", "NoPods") == "No matching pods found"


def test_the_status_follows_pods_and_spec(world: Budgets) -> None:
    world.budget(minAvailable=1)
    world.owned("p", None)
    world.await_status(currentHealthy=1, disruptionsAllowed=0)
    world.owned("q", None)
    world.await_status(currentHealthy=2, disruptionsAllowed=1)
    world.status("q", ready=False)
    world.await_status(currentHealthy=1, disruptionsAllowed=0)
    world.budgets.patch("b", {"spec": {"minAvailable": 0}})
    world.await_status(disruptionsAllowed=1, observedGeneration=2)
    world.pods.label("p", app="other")
    world.await_status(expectedPods=1, currentHealthy=0)


@pytest.mark.parametrize(
    ("spec", "desired"),
    [
        ({"minAvailable": "50%"}, 3),
        ({"minAvailable": "100%"}, 5),
        ({"maxUnavailable": "50%"}, 2),
        ({"maxUnavailable": 1}, 4),
        ({"maxUnavailable": 9}, 0),
    ],
)
def test_percentages_are_of_what_the_controller_wants_rounded_up(
    world: Budgets, spec: Object, desired: int
) -> None:
    owner = world.workload("replicasets", "w", 5)
    world.owned("p", owner)
    world.budget(**spec)
    world.await_status(expectedPods=5, desiredHealthy=desired, currentHealthy=1)


@pytest.mark.parametrize("resource", ["statefulsets", "replicationcontrollers"])
def test_every_kind_of_controller_has_a_scale(world: Budgets, resource: str) -> None:
    world.owned("p", world.workload(resource, "w", 4))
    world.budget(maxUnavailable=1)
    world.await_status(expectedPods=4, desiredHealthy=3)


def test_the_deployment_counts_for_its_replica_sets_once(world: Budgets) -> None:
    deployment = world.workload("deployments", "d", 6)
    for name in ("old", "new"):
        owners = [reference(deployment)]
        replica_set = world.workload("replicasets", name, 3, ownerReferences=owners)
        world.owned(f"of-{name}", replica_set)
    world.budget(maxUnavailable=0)
    world.await_status(expectedPods=6, desiredHealthy=6)
    deployments = world.space.collection("deployments", "apps")
    deployments.patch("d", {"spec": {"replicas": 8}})
    world.await_status(expectedPods=8)


def test_a_custom_resource_with_a_scale_counts(world: Budgets) -> None:
    space = world.space
    group = f"{space.name}.example.com"
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": schema},
        "subresources": {
            "scale": {"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.size"}
        },
    }
    names = {"plural": "herds", "singular": "herd", "kind": "Herd"}
    space.everywhere("customresourcedefinitions", "apiextensions.@").create(
        f"herds.{group}",
        spec={"group": group, "scope": "Namespaced", "names": names, "versions": [version]},
    )
    path = f"/apis/{group}/v1/namespaces/{space.name}/herds"
    body = {
        "apiVersion": f"{group}/v1",
        "kind": "Herd",
        "metadata": {"name": "h"},
        "spec": {"size": 7},
    }
    eventually(lambda: space.client.get(path).status == 200, "the definition is served")
    herd = space.client.post(path, body).body
    world.owned("p", herd)
    world.budget(maxUnavailable="20%")
    world.await_status(expectedPods=7, desiredHealthy=5)


def test_budget_fails_for_pods_of_a_controller_without_a_scale(world: Budgets) -> None:
    world.budget(maxUnavailable=1)
    world.await_status(observedGeneration=1)
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j", "uid": "u"}}
    world.owned("p", job)
    text = "jobs.batch does not implement the scale subresource"
    eventually(lambda: world.condition()["reason"] == "SyncFailed", "the budget fails")
    assert world.condition()["message"] == text
    message = world.event_text("b", "CalculateExpectedPodCountFailed")
    assert message == f"Failed to calculate the number of expected pods: {text}"
    world.pods.delete("p", gracePeriodSeconds=0)
    eventually(lambda: world.condition()["reason"] == "InsufficientPods", "it recovers")


def test_a_controller_that_is_gone_makes_the_budget_fail(world: Budgets) -> None:
    gone = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": "g", "uid": "u"}}
    world.owned("p", gone)
    world.budget(maxUnavailable=1)
    eventually(lambda: bool(world.budgets.read("b")["status"].get("conditions")), "a condition")
    assert world.condition()["message"] == 'found no controllers for pod "p"'
    assert world.event_text("b", "NoControllers") == 'found no controllers for pod "p"'


def test_pods_without_controller_count_for_nothing(world: Budgets) -> None:
    world.owned("p", None)
    world.budget(maxUnavailable=1)
    world.await_status(expectedPods=0, currentHealthy=1, disruptionsAllowed=0)


def test_a_pod_of_several_budgets_is_warned_of(world: Budgets) -> None:
    for name in ("b", "c"):
        world.budget(name, minAvailable=1)
        world.await_status(name, observedGeneration=1)
    world.owned("p", None)
    message = world.event_text("p", "MultiplePodDisruptionBudgets")
    text = f'Pod "{world.space.name}"/"p" matches multiple PodDisruptionBudgets.'
    assert message == f'{text}  Chose "b" arbitrarily.'


def test_evictions_use_up_what_is_allowed(world: Budgets) -> None:
    world.budget(minAvailable=1)
    for name in ("p", "q"):
        world.owned(name, None)
    world.await_status(disruptionsAllowed=1)
    assert world.evict("p").status == 201
    refused = world.evict("q")
    assert refused.status == 429
    assert refused.body["reason"] == "TooManyRequests"
    world.await_status(currentHealthy=1, disruptionsAllowed=0, disruptedPods=None)
    refused = world.evict("q")
    assert [cause[1:] for cause in refused.causes] == [
        ("DisruptionBudget", "The disruption budget b needs 1 healthy pods and has 1 currently")
    ]
    world.owned("r", None)
    world.await_status(currentHealthy=2, disruptionsAllowed=1)
    assert world.evict("q").status == 201


def test_an_eviction_that_came_to_nothing_is_forgotten(world: Budgets) -> None:
    world.budget(minAvailable=1)
    for name in ("p", "q"):
        world.owned(name, None)
    world.await_status(disruptionsAllowed=1)
    # What an eviction writes before the delete that then failed.
    status = world.budgets.read("b")["status"]
    since = world.pods.read("p")["metadata"]["creationTimestamp"]
    path = world.budgets.item("b", "status")
    evicted = {**status, "disruptionsAllowed": 0, "disruptedPods": {"p": since}}
    assert world.space.client.patch(path, {"status": evicted}).status == 200
    world.await_status(currentHealthy=1, disruptionsAllowed=0, disruptedPods={"p": since})
    world.space.server.advance(130)
    world.await_status(currentHealthy=2, disruptionsAllowed=1, disruptedPods=None)
    text = world.event_text("p", "NotDeleted")
    assert text == f"Pod was expected by PDB {world.space.name}/b to be deleted but it wasn't"
