"""Deployments roll their pods out: ReplicaSets, conditions, pauses, sizes and revisions."""

from __future__ import annotations

from typing import Any

import pytest
from support.client import Object
from support.namespaces import Space
from support.waiting import eventually
from support.workloads import LABELS, Workloads, is_complete, replicated, template

HASH = "pod-template-hash"
RECREATE = {"type": "Recreate"}


def rolling(surge: int | str, unavailable: int | str) -> Object:
    steps = {"maxSurge": surge, "maxUnavailable": unavailable}
    return {"type": "RollingUpdate", "rollingUpdate": steps}


@pytest.fixture
def work(kubernetes: Space) -> Workloads:
    return Workloads(kubernetes)


@pytest.mark.both_dialects
def test_a_deployment_makes_a_replica_set(space: Space) -> None:
    work, label = Workloads(space), space.dialect.label
    deployment = work.create_deployment(3, minReadySeconds=5)
    work.await_pods(3)
    (item,) = work.replica_sets.list().body["items"]
    metadata, spec = item["metadata"], item["spec"]
    text = metadata["labels"][HASH]
    assert set(text) <= set("bcdfghjklmnpqrstvwxz2456789")
    assert metadata["name"] == f"web-{text}"
    assert metadata["labels"] == {**LABELS, HASH: text}
    assert metadata["annotations"] == {
        label("deployment.@/desired-replicas"): "3",
        label("deployment.@/max-replicas"): "4",
        label("deployment.@/revision"): "1",
    }
    (reference,) = metadata["ownerReferences"]
    assert reference["uid"] == deployment["metadata"]["uid"]
    assert spec["selector"] == {"matchLabels": {**LABELS, HASH: text}}
    assert spec["template"]["metadata"]["labels"] == {**LABELS, HASH: text}
    assert spec["minReadySeconds"] == 5
    annotations = work.deployments.read("web")["metadata"]["annotations"]
    assert annotations == {label("deployment.@/revision"): "1"}


def test_a_deployment_tells_how_it_gets_on(work: Workloads) -> None:
    work.create_deployment(2)
    names = work.await_pods(2)
    status = work.await_status(work.deployments, "web", updatedReplicas=2)
    assert status["observedGeneration"] == 1
    assert status["unavailableReplicas"] == 2
    available = work.condition(work.deployments, "web", "Available")
    assert (available["status"], available["reason"], available["message"]) == (
        "False",
        "MinimumReplicasUnavailable",
        "Deployment does not have minimum availability.",
    )
    name = work.replica_set_of("one")["metadata"]["name"]
    reported = work.await_condition(work.deployments, "web", "Progressing", "ReplicaSetUpdated")
    assert (reported["status"], reported["message"]) == (
        "True",
        f'ReplicaSet "{name}" is progressing.',
    )

    work.make_ready(names)
    reported = work.await_condition(
        work.deployments, "web", "Progressing", "NewReplicaSetAvailable"
    )
    assert reported["message"] == f'ReplicaSet "{name}" has successfully progressed.'
    available = work.condition(work.deployments, "web", "Available")
    assert available["reason"] == "MinimumReplicasAvailable"
    status = work.status(work.deployments, "web")
    status.pop("conditions")
    counts = ("replicas", "updatedReplicas", "readyReplicas", "availableReplicas")
    assert status == {"observedGeneration": 1, **dict.fromkeys(counts, 2)}


def test_the_first_word_is_of_the_new_replica_set(work: Workloads) -> None:
    work.create_deployment(1, template=template(serviceAccountName="none-such"))
    condition = work.await_condition(work.deployments, "web", "Progressing", "NewReplicaSetCreated")
    name = work.replica_set_of("one")["metadata"]["name"]
    assert (condition["status"], condition["message"]) == (
        "True",
        f'Created new replica set "{name}"',
    )


def test_a_replica_set_that_is_there_already_is_found(work: Workloads) -> None:
    created = template(serviceAccountName="none-such")
    work.replica_sets.create("stray", labels=LABELS, spec=replicated(1, template=created))
    work.create_deployment(1, template=created)
    condition = work.await_condition(work.deployments, "web", "Progressing", "FoundNewReplicaSet")
    assert condition["message"] == 'Found new replica set "stray"'


def test_without_a_deadline_nothing_is_said_about_progress(work: Workloads) -> None:
    work.create_deployment(1, progressDeadlineSeconds=2**31 - 1)
    work.finish()
    assert not work.condition(work.deployments, "web", "Progressing")


def test_a_rollout_keeps_within_its_bounds(work: Workloads) -> None:
    work.create_deployment(4, strategy=rolling(1, 1))
    work.finish()
    watch = work.replica_sets.watch(resourceVersion=work.replica_sets.version(), timeoutSeconds=60)
    work.set_image("two")
    work.finish()
    sizes = work.sizes()
    assert sizes == {"one": 0, "two": 4}
    wanted = {work.replica_set_of("one")["metadata"]["name"]: 4}
    with watch:
        for event in watch:
            wanted[event.object["metadata"]["name"]] = event.object["spec"]["replicas"]
            assert 3 <= sum(wanted.values()) <= 5
            if list(wanted.values()) == [0, 4]:
                break


def test_a_rollout_waits_for_new_pods_before_it_removes_old_ones(work: Workloads) -> None:
    work.create_deployment(3, strategy=rolling(1, 0))
    work.finish()
    work.set_image("two")
    work.await_sizes(one=3, two=1)
    work.await_observed(work.deployments, "web")
    work.await_pods(4)
    work.make_ready()
    work.await_sizes(one=2, two=2)
    work.finish()


def test_old_pods_that_are_not_available_go_first(work: Workloads) -> None:
    work.create_deployment(4, strategy=rolling(0, 2))
    work.make_ready(sorted(work.await_pods(4))[:3])
    work.await_status(work.deployments, "web", availableReplicas=3)
    broken = sorted(work.names())[3]
    work.set_image("two")
    eventually(lambda: broken not in work.names(), "the one that is not available is gone")
    work.finish()


def test_a_recreated_deployment_has_no_old_pods_beside_new_ones(work: Workloads) -> None:
    bound = template(nodeName="n1")
    work.create_deployment(2, strategy=RECREATE, template=bound)
    names = work.await_pods(2)
    work.finish()
    work.set_image("two")
    work.await_pods(0)
    work.await_status(work.replica_sets, work.replica_set_of("one")["metadata"]["name"], replicas=0)
    work.await_observed(work.deployments, "web")
    assert set(work.sizes()) == {"one"}
    for name in names:
        work.pods.delete(name, gracePeriodSeconds=0)
    work.await_sizes(one=0, two=2)
    work.finish()


def test_a_paused_deployment_stays_as_it_is_until_it_is_resumed(work: Workloads) -> None:
    work.create_deployment(1)
    work.finish()
    work.revise(paused=True)
    work.set_image("two")
    condition = work.await_condition(work.deployments, "web", "Progressing", "DeploymentPaused")
    assert (condition["status"], condition["message"]) == ("Unknown", "Deployment is paused")
    work.await_observed(work.deployments, "web")
    assert work.sizes() == {"one": 1}
    work.revise(paused=False)
    work.await_sizes(one=1, two=1)
    work.finish()


def test_a_deployment_made_paused_waits(work: Workloads) -> None:
    work.create_deployment(2, paused=True)
    work.await_observed(work.deployments, "web")
    assert work.sizes() == {}
    work.revise(paused=False)
    condition = work.await_condition(work.deployments, "web", "Progressing", "ReplicaSetUpdated")
    assert condition["status"] == "True"
    work.await_sizes(one=2)


def test_a_paused_deployment_is_scaled(work: Workloads) -> None:
    work.create_deployment(1)
    work.await_pods(1)
    work.revise(paused=True)
    work.revise(replicas=3)
    work.await_pods(3)


@pytest.mark.both_dialects
def test_a_deployment_is_scaled(space: Space) -> None:
    work, label = Workloads(space), space.dialect.label
    work.create_deployment(4)
    work.await_pods(4)
    work.revise(replicas=8)
    work.await_pods(8)
    annotations = work.replica_set_of("one")["metadata"]["annotations"]
    assert annotations[label("deployment.@/desired-replicas")] == "8"
    assert annotations[label("deployment.@/max-replicas")] == "10"
    name = work.replica_set_of("one")["metadata"]["name"]
    event = work.await_event("ScalingReplicaSet", "from 4")
    assert event["message"] == f"Scaled up replica set {name} to 8 from 4"
    assert event["source"] == {"component": "deployment-controller"}
    work.revise(replicas=0)
    work.await_pods(0)
    work.await_event("ScalingReplicaSet", f"Scaled down replica set {name} to 0 from 8")


def test_in_the_middle_of_a_rollout_each_replica_set_gets_its_share(work: Workloads) -> None:
    work.create_deployment(10, strategy=rolling(3, 2))
    work.finish()
    work.set_image("broken")
    work.await_sizes(one=8, broken=5)
    work.revise(replicas=15)
    work.await_sizes(one=11, broken=7)


@pytest.mark.both_dialects
def test_an_image_set_back_is_the_latest_revision_again(space: Space) -> None:
    work = Workloads(space)
    revision = space.dialect.label("deployment.@/revision")
    history = space.dialect.label("deployment.@/revision-history")
    work.create_deployment(1)
    work.finish()
    work.set_image("two")
    work.finish()
    assert work.deployments.read("web")["metadata"]["annotations"][revision] == "2"
    work.set_image("one")
    work.finish()
    assert work.sizes() == {"one": 1, "two": 0}
    assert work.deployments.read("web")["metadata"]["annotations"][revision] == "3"
    annotations = work.replica_set_of("one")["metadata"]["annotations"]
    assert (annotations[revision], annotations[history]) == ("3", "1")
    assert work.replica_set_of("two")["metadata"]["annotations"][revision] == "2"


ROLLBACK = "deprecated.deployment.rollback.to"


@pytest.mark.parametrize(("requested", "image"), [("0", "two"), ("1", "one")])
def test_an_annotation_asks_for_an_earlier_revision(
    work: Workloads, requested: str, image: str
) -> None:
    work.create_deployment(1)
    for next_image in ("one", "two", "three"):
        work.set_image(next_image)
        work.finish()
    work.deployments.patch("web", {"metadata": {"annotations": {ROLLBACK: requested}}})
    work.await_event("RollbackDone", 'Rolled back deployment "web" to revision')
    work.finish()
    assert {item for item, size in work.sizes().items() if size} == {image}
    deployment = work.deployments.read("web")
    assert ROLLBACK not in deployment["metadata"]["annotations"]
    assert HASH not in deployment["spec"]["template"]["metadata"]["labels"]


@pytest.mark.parametrize(
    ("requested", "reason"), [("7", "RollbackRevisionNotFound"), ("1", "RollbackTemplateUnchanged")]
)
def test_a_revision_that_cannot_be_gone_back_to_is_told(
    work: Workloads, requested: str, reason: str
) -> None:
    work.create_deployment(1)
    work.finish()
    work.deployments.patch("web", {"metadata": {"annotations": {ROLLBACK: requested}}})
    assert work.await_event(reason)["type"] == "Warning"
    eventually(
        lambda: ROLLBACK not in work.deployments.read("web")["metadata"]["annotations"],
        "the wish is taken off",
    )


def test_annotations_of_the_deployment_are_carried_over(work: Workloads) -> None:
    applied = work.space.dialect.label("kubectl.@/last-applied-configuration")
    work.create_deployment(1)
    work.await_pods(1)
    changed = {"annotations": {"cause": "because", applied: "{}"}}
    work.deployments.patch("web", {"metadata": changed})
    eventually(
        lambda: work.replica_set_of("one")["metadata"]["annotations"].get("cause") == "because",
        "the annotation is carried over",
    )
    assert applied not in work.replica_set_of("one")["metadata"]["annotations"]


def test_min_ready_seconds_are_carried_over(work: Workloads) -> None:
    work.create_deployment(1)
    work.await_pods(1)
    work.revise(minReadySeconds=7)
    eventually(
        lambda: work.replica_set_of("one")["spec"].get("minReadySeconds") == 7, "it is carried over"
    )


def test_old_revisions_beyond_the_limit_are_deleted(work: Workloads) -> None:
    work.create_deployment(1, revisionHistoryLimit=1)
    for image in ("one", "two", "three", "four"):
        work.set_image(image)
        work.finish()
    work.await_sizes(three=0, four=1)


def test_a_replica_set_without_a_controller_is_adopted(work: Workloads) -> None:
    stray = work.replica_sets.create("stray", labels=LABELS, spec=replicated(1))
    work.await_pods(1)
    deployment = work.create_deployment(1)
    eventually(
        lambda: "ownerReferences" in work.replica_sets.read("stray")["metadata"], "it is adopted"
    )
    (reference,) = work.replica_sets.read("stray")["metadata"]["ownerReferences"]
    assert reference["uid"] == deployment["metadata"]["uid"]
    work.await_status(work.deployments, "web", updatedReplicas=1)
    assert [item["metadata"]["uid"] for item in work.replica_sets.list().body["items"]] == [
        stray["metadata"]["uid"]
    ]


def test_a_replica_set_that_is_no_longer_selected_is_let_go(work: Workloads) -> None:
    work.create_deployment(1)
    work.await_pods(1)
    name = work.replica_set_of("one")["metadata"]["name"]
    work.replica_sets.patch(name, {"metadata": {"labels": {"app": "other"}}})
    eventually(
        lambda: "ownerReferences" not in work.replica_sets.read(name)["metadata"], "it is let go"
    )


def test_a_name_that_is_taken_leads_to_another(work: Workloads) -> None:
    work.create_deployment(0)
    taken = work.replica_set_of("one")["metadata"]["name"]
    other = Workloads(Space(work.space.server, work.space.client))
    labels = {"app": "other"}
    manifest = {**template(), "metadata": {"labels": labels}}
    spec = {"replicas": 0, "selector": {"matchLabels": labels}, "template": manifest}
    other.replica_sets.create(taken, labels=labels, spec=spec)
    other.create_deployment(1)
    deployment = other.finish()
    assert deployment["status"]["collisionCount"] == 1
    assert len(other.replica_sets.names()) == 2


def test_why_pods_cannot_be_made_is_told_by_the_deployment(work: Workloads) -> None:
    work.create_deployment(1, template=template(serviceAccountName="none-such"))
    reported = work.await_condition(work.deployments, "web", "ReplicaFailure", "FailedCreate")
    assert reported["status"] == "True"
    assert 'serviceaccount "none-such" not found' in reported["message"]
    work.space.collection("serviceaccounts").create("none-such")
    work.finish()
    eventually(
        lambda: not work.condition(work.deployments, "web", "ReplicaFailure"), "it is forgotten"
    )


def test_a_deployment_that_is_being_deleted_goes_no_further(work: Workloads) -> None:
    work.deployments.create("web", spec=replicated(1), metadata={"finalizers": ["example.com/h"]})
    work.finish()
    work.deployments.remove("web")
    work.set_image("two")
    work.await_observed(work.deployments, "web")
    assert work.sizes() == {"one": 1}


def test_a_status_is_written_only_when_it_changes(work: Workloads) -> None:
    work.create_deployment(1)
    done = work.finish()
    work.await_condition(work.deployments, "web", "Progressing", "NewReplicaSetAvailable")
    version = work.deployments.read("web")["metadata"]["resourceVersion"]
    (name,) = work.names()
    work.pods.patch(name, {"metadata": {"annotations": {"a": "b"}}})
    work.create_deployment(1, name="next", selector={"matchLabels": {"app": "next"}}, **_next())
    work.await_status(work.deployments, "next", updatedReplicas=1)
    assert is_complete(done)
    assert work.deployments.read("web")["metadata"]["resourceVersion"] == version


def _next() -> dict[str, Any]:
    return {"template": {**template(), "metadata": {"labels": {"app": "next"}}}}
