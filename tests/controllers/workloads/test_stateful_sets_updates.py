"""Updates of StatefulSets."""

from __future__ import annotations

import pytest
from support.namespaces import Space
from support.process import FreshServer
from support.stateful_sets import CLAIM, Sets, mounting
from support.waiting import eventually
from support.workloads import LABELS, template

GATES = "MaxUnavailableStatefulSet=true,StatefulSetAutoDeletePVC=true"
UNREADY = [{"type": "Ready", "status": "False"}]


@pytest.fixture
def work(kubernetes: Space) -> Sets:
    return Sets(kubernetes)


def partitioned(at: int) -> dict[str, object]:
    return {"type": "RollingUpdate", "rollingUpdate": {"partition": at}}


def test_pods_are_replaced_from_the_last_to_the_first_each_when_the_one_before_is_ready(
    space: Space,
) -> None:
    work = Sets(space)
    work.create(3)
    work.grow(3)
    first = work.await_set(readyReplicas=3)["currentRevision"]
    work.update("two")
    images = {"web_0": "one", "web_1": "one", "web_2": "one"}
    for ordinal in (2, 1, 0):
        images[f"web_{ordinal}"] = "two"
        work.await_images(**images)
        status = work.await_set(observedGeneration=2, replicas=3, updatedReplicas=3 - ordinal)
        assert (status["readyReplicas"], status.get("currentReplicas", 0)) == (2, ordinal)
        assert status["currentRevision"] == first != status["updateRevision"]
        work.make_ready([f"web-{ordinal}"])
    status = work.await_set(currentReplicas=3, readyReplicas=3)
    assert status["currentRevision"] == status["updateRevision"]
    label = work.pods.read("web-0")["metadata"]["labels"]["controller-revision-hash"]
    assert label == status["currentRevision"]


def test_the_policy_parallel_changes_nothing_about_updates(work: Sets) -> None:
    work.create(3, podManagementPolicy="Parallel")
    work.await_pods(3)
    work.grow(3)
    work.update("two")
    work.await_images(web_0="one", web_1="one", web_2="two")
    work.change(minReadySeconds=1)
    work.await_set(observedGeneration=3, updatedReplicas=1)
    assert work.images()["web-1"] == "one"
    work.finish_update("two")


def test_pods_below_the_partition_are_left_alone(space: Space) -> None:
    work = Sets(space)
    work.create(3, updateStrategy=partitioned(2))
    work.grow(3)
    work.update("two")
    work.await_images(web_0="one", web_1="one", web_2="two")
    work.make_ready()
    status = work.await_set(observedGeneration=2, readyReplicas=3)
    assert (status["currentReplicas"], status["updatedReplicas"]) == (2, 1)
    assert status["currentRevision"] != status["updateRevision"]
    work.change(updateStrategy=partitioned(1))
    work.await_images(web_0="one", web_1="two", web_2="two")


def test_a_pod_below_the_partition_is_made_again_as_it_was(work: Sets) -> None:
    work.create(2, updateStrategy=partitioned(1))
    work.grow(2)
    old = work.await_set(readyReplicas=2)["currentRevision"]
    work.update("two")
    work.await_images(web_0="one", web_1="two")
    work.make_ready()
    before = work.uid("web-0")
    work.pods.remove("web-0")
    eventually(lambda: "web-0" in work.names() and work.uid("web-0") != before, "another web-0")
    assert work.images() == {"web-0": "one", "web-1": "two"}
    labels = work.pods.read("web-0")["metadata"]["labels"]
    assert labels["controller-revision-hash"] == old


def test_a_partition_beyond_the_last_stages_an_update(work: Sets) -> None:
    work.create(1, updateStrategy=partitioned(5))
    work.grow(1)
    work.update("two")
    status = work.await_set(observedGeneration=2)
    assert status["currentRevision"] != status["updateRevision"]
    assert work.images() == {"web-0": "one"}


def test_without_a_partition_pods_not_reached_yet_are_made_again_as_they_were(work: Sets) -> None:
    work.create(3, updateStrategy={"type": "RollingUpdate"})
    work.grow(3)
    assert "rollingUpdate" not in work.stateful_sets.read("web")["spec"]["updateStrategy"]
    work.update("two")
    work.await_images(web_0="one", web_1="one", web_2="two")
    work.await_set(currentReplicas=2, updatedReplicas=1)
    before = work.uid("web-0")
    work.pods.remove("web-0")
    eventually(lambda: "web-0" in work.names() and work.uid("web-0") != before, "another web-0")
    assert work.images()["web-0"] == "one"
    work.finish_update("two")


def test_nothing_is_replaced_on_delete_until_it_is_deleted(space: Space) -> None:
    work = Sets(space)
    work.create(2, updateStrategy={"type": "OnDelete"})
    work.grow(2)
    work.update("two")
    status = work.await_set(observedGeneration=2, currentReplicas=2)
    assert status["currentRevision"] != status["updateRevision"]
    assert set(work.images().values()) == {"one"}
    for name in ("web-1", "web-0"):
        work.pods.remove(name)
        eventually(lambda: set(work.images()) == {"web-0", "web-1"}, "another pod")
        work.make_ready()
    status = work.await_set(readyReplicas=2, updatedReplicas=2)
    assert set(work.images().values()) == {"two"}
    assert status["currentRevision"] != status["updateRevision"]


def test_a_broken_pod_is_waited_for_even_when_the_template_is_mended(space: Space) -> None:
    work = Sets(space)
    work.create(2)
    work.grow(2)
    work.update("broken")
    work.await_images(web_0="one", web_1="broken")
    work.await_set(replicas=2, updatedReplicas=1)
    work.update("one")
    status = work.await_set(observedGeneration=3, replicas=2)
    assert status["currentRevision"] == status["updateRevision"]
    assert work.images() == {"web-0": "one", "web-1": "broken"}
    work.pods.remove("web-1")
    work.await_images(web_0="one", web_1="one")


def test_an_update_gives_way_to_the_next(work: Sets) -> None:
    work.create(3)
    work.grow(3)
    work.update("two")
    work.await_images(web_0="one", web_1="one", web_2="two")
    work.make_ready()
    work.update("three")
    updated = work.finish_update("three")
    assert updated["currentReplicas"] == updated["updatedReplicas"] == 3


@pytest.mark.both_dialects
def test_each_template_has_a_numbered_revision(space: Space) -> None:
    work = Sets(space)
    owner = work.create(1)
    for image in ("two", "three"):
        work.grow(1)
        work.update(image)
        work.finish_update(image)
    assert work.numbers() == {"one": 1, "two": 2, "three": 3}
    work.update("one")
    updated = work.finish_update("one")
    assert work.numbers() == {"one": 4, "two": 2, "three": 3}
    revision = work.revisions.read(updated["currentRevision"])
    metadata = revision["metadata"]
    (reference,) = metadata["ownerReferences"]
    assert reference["uid"] == owner["metadata"]["uid"]
    text = metadata["labels"][space.dialect.label("controller.@/hash")]
    assert metadata["name"] == f"web-{text}"
    assert revision["data"]["spec"]["template"]["$patch"] == "replace"


def test_only_so_many_past_revisions_are_kept(work: Sets) -> None:
    work.create(1, revisionHistoryLimit=1)
    for image in ("two", "three", "four"):
        work.grow(1)
        work.update(image)
        work.finish_update(image)
    eventually(lambda: set(work.numbers()) == {"three", "four"}, "the oldest are gone")


def test_a_revision_that_pods_have_is_not_forgotten(work: Sets) -> None:
    work.create(2, revisionHistoryLimit=0)
    work.grow(2)
    work.update("two")
    work.await_images(web_0="one", web_1="two")
    for image in ("three", "four"):
        work.update(image)
        work.await_observed(work.stateful_sets, "web")
    kept = {"one", "two", "four"}
    eventually(lambda: set(work.numbers()) == kept, "the one that no pod has is gone")


def test_a_revision_whose_name_is_taken_gets_another(work: Sets, kubernetes: Space) -> None:
    work.create(0)
    name = work.await_observed(work.stateful_sets, "web")["status"]["currentRevision"]
    other = Sets(Space(kubernetes.server, kubernetes.client))
    other.revisions.create(name, data={"not": "a template"}, revision=1)
    other.create(0)
    status = other.await_set(collisionCount=1)
    assert status["currentRevision"] not in ("", name)


def test_a_current_revision_that_nobody_can_read_is_not_gone_back_to(work: Sets) -> None:
    work.create(2, updateStrategy=partitioned(2))
    work.grow(2)
    work.revisions.create("odd", labels=LABELS, data={"spec": {"template": "none"}}, revision=9)
    path = work.stateful_sets.item("web", "status")
    status = {**work.status(work.stateful_sets, "web"), "currentRevision": "odd"}
    work.update("two")
    work.await_observed(work.stateful_sets, "web")
    assert work.space.client.patch(path, {"status": status}).status == 200
    work.pods.remove("web-1")
    work.await_set(replicas=1, readyReplicas=1)
    work.change(updateStrategy=partitioned(0))
    work.grow(2)
    work.finish_update("two")


@pytest.mark.parametrize("dialect", ["kubernetes", "cluster"])
def test_rules_that_need_a_gate(fresh_server: FreshServer, dialect: str) -> None:
    server = fresh_server("--feature-gates", GATES, dialect=dialect)
    several_pods_may_be_missing(Sets(Space(server, server.client())))
    a_part_of_a_pod_counts_as_one(Sets(Space(server, server.client())))
    claims_go_with_the_set(Sets(Space(server, server.client())))
    claims_go_with_pods_that_are_too_many(Sets(Space(server, server.client())))


def several_pods_may_be_missing(work: Sets) -> None:
    steps = {"rollingUpdate": {"maxUnavailable": 2}}
    work.create(4, podManagementPolicy="Parallel", updateStrategy=steps)
    work.await_pods(4)
    work.grow(4)
    work.update("two")
    work.await_images(web_0="one", web_1="one", web_2="two", web_3="two")
    work.make_ready(["web-3"])
    work.await_images(web_0="one", web_1="two", web_2="two", web_3="two")
    work.set_status(["web-0"], conditions=UNREADY)
    work.make_ready(["web-2"])
    work.await_set(readyReplicas=2, updatedReplicas=3)
    work.make_ready(["web-1"])
    work.finish_update("two")


def a_part_of_a_pod_counts_as_one(work: Sets) -> None:
    steps = {"rollingUpdate": {"maxUnavailable": "34%"}}
    work.create(3, podManagementPolicy="Parallel", updateStrategy=steps)
    work.await_pods(3)
    work.grow(3)
    work.update("two")
    work.await_images(web_0="one", web_1="two", web_2="two")


def owners(work: Sets, claim: str) -> list[str]:
    metadata = work.space.collection("persistentvolumeclaims").read(claim)["metadata"]
    return [owner_reference["kind"] for owner_reference in metadata.get("ownerReferences", [])]


def claims_go_with_the_set(work: Sets) -> None:
    work.create(
        1,
        template=mounting(),
        volumeClaimTemplates=[CLAIM],
        persistentVolumeClaimRetentionPolicy={"whenDeleted": "Delete"},
    )
    work.grow(1)
    eventually(lambda: owners(work, "data-web-0") == ["StatefulSet"], "the set owns the claim")
    work.change(persistentVolumeClaimRetentionPolicy={"whenDeleted": "Retain"})
    eventually(lambda: owners(work, "data-web-0") == [], "nobody owns the claim")


def claims_go_with_pods_that_are_too_many(work: Sets) -> None:
    policy = {"whenDeleted": "Delete", "whenScaled": "Delete"}
    work.create(
        2,
        template=mounting(nodeName="nowhere"),
        volumeClaimTemplates=[CLAIM],
        persistentVolumeClaimRetentionPolicy=policy,
    )
    work.grow(2)
    eventually(lambda: owners(work, "data-web-1") == ["StatefulSet"], "the set owns the claim")
    uid = work.uid("web-1")
    work.scale(1)
    eventually(lambda: owners(work, "data-web-1") == ["Pod"], "the pod owns the claim")
    claims = work.space.collection("persistentvolumeclaims")
    (reference,) = claims.read("data-web-1")["metadata"]["ownerReferences"]
    assert (reference["name"], reference["uid"]) == ("web-1", uid)
    claims.patch("data-web-1", {"metadata": {"finalizers": ["example.com/held"]}})
    work.end("web-1")
    work.await_set(replicas=1)
    work.scale(2)
    work.await_observed(work.stateful_sets, "web")
    assert work.names() == {"web-0"}
    claims.delete("data-web-1")
    claims.patch("data-web-1", {"metadata": {"finalizers": None}})
    work.await_pods(2)
    assert owners(work, "data-web-1") == ["StatefulSet"]
    work.await_event("SuccessfulDelete", "web-1")
    reasons = [event["reason"] for event in work.events.list().body["items"]]
    assert "FailedCreate" not in reasons


def test_without_the_gate_one_pod_is_replaced_at_a_time(work: Sets) -> None:
    steps = {"rollingUpdate": {"maxUnavailable": 2}}
    owner = work.create(3, template=template(), updateStrategy=steps)
    assert "maxUnavailable" not in owner["spec"]["updateStrategy"]["rollingUpdate"]
    work.grow(3)
    work.update("two")
    work.await_images(web_0="one", web_1="one", web_2="two")
    work.scale(4)
    work.await_observed(work.stateful_sets, "web")
    assert work.images()["web-1"] == "one"
