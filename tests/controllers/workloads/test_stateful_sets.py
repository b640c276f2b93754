"""StatefulSets keep pods with an identity and their own claims."""

from __future__ import annotations

import pytest
from support.client import Object
from support.namespaces import Space
from support.stateful_sets import CLAIM, Sets, mounting
from support.waiting import eventually
from support.workloads import LABELS, template

POD = {"spec": template()["spec"]}


def bound() -> Object:
    """Return a template whose pods are on a node, so that a deletion is not immediate."""
    return template(nodeName="nowhere")


@pytest.fixture
def work(kubernetes: Space) -> Sets:
    return Sets(kubernetes)


@pytest.mark.both_dialects
def test_a_pod_has_an_identity(space: Space) -> None:
    work = Sets(space)
    owner = work.create(1)
    work.await_pods(1)
    pod, revision = work.pods.read("web-0"), work.await_set(replicas=1)["currentRevision"]
    metadata = pod["metadata"]
    assert metadata["generateName"] == "web-"
    assert metadata["labels"] == {
        **LABELS,
        "controller-revision-hash": revision,
        space.dialect.label("statefulset.@/pod-name"): "web-0",
    }
    (reference,) = metadata["ownerReferences"]
    assert (reference["kind"], reference["uid"]) == ("StatefulSet", owner["metadata"]["uid"])
    assert reference["controller"]
    assert (pod["spec"]["hostname"], pod["spec"]["subdomain"]) == ("web-0", "service")


def test_pods_are_made_in_order_each_when_the_one_before_is_ready(space: Space) -> None:
    work = Sets(space)
    work.create(3)
    for count in (1, 2, 3):
        status = work.await_set(replicas=count)
        assert work.names() == {f"web-{ordinal}" for ordinal in range(count)}
        assert status.get("readyReplicas", 0) == count - 1
        work.make_ready([f"web-{count - 1}"])
    status = work.await_set(readyReplicas=3)
    assert status == {
        "observedGeneration": 1,
        "replicas": 3,
        "readyReplicas": 3,
        "availableReplicas": 3,
        "currentReplicas": 3,
        "updatedReplicas": 3,
        "currentRevision": status["currentRevision"],
        "updateRevision": status["currentRevision"],
        "collisionCount": 0,
    }


def test_a_ready_pod_that_does_not_run_is_waited_for(work: Sets) -> None:
    work.create(2)
    work.await_set(replicas=1)
    work.set_status(["web-0"], conditions=[{"type": "Ready", "status": "True"}])
    work.scale(3)
    work.await_set(observedGeneration=2)
    assert work.names() == {"web-0"}


def test_pods_are_made_at_once_where_their_order_does_not_matter(space: Space) -> None:
    work = Sets(space)
    work.create(4, podManagementPolicy="Parallel")
    assert work.await_pods(4) == {"web-0", "web-1", "web-2", "web-3"}
    work.await_set(replicas=4, currentReplicas=4, updatedReplicas=4)


def test_pods_are_removed_in_reverse_order_one_after_the_other(space: Space) -> None:
    work = Sets(space)
    work.create(3, template=bound())
    work.grow(3)
    work.scale(1)
    eventually(lambda: work.names() == {"web-0", "web-1"}, "the last goes")
    work.await_set(observedGeneration=2, currentReplicas=2)
    assert work.names() == {"web-0", "web-1"}
    work.end("web-2")
    eventually(lambda: work.names() == {"web-0"}, "the next goes")
    work.end("web-1")
    work.await_set(replicas=1)


def test_pods_are_removed_at_once_where_their_order_does_not_matter(work: Sets) -> None:
    work.create(3, template=bound(), podManagementPolicy="Parallel")
    work.await_pods(3)
    work.scale(0)
    work.await_pods(0)
    assert len(work.pods.names()) == 3


def test_a_set_does_not_shrink_while_a_pod_that_stays_is_not_ready(work: Sets) -> None:
    work.create(3)
    work.grow(3)
    work.set_status(["web-0"], conditions=[{"type": "Ready", "status": "False"}])
    work.await_set(readyReplicas=2)
    work.scale(1)
    work.await_set(observedGeneration=2)
    assert len(work.names()) == 3
    work.make_ready(["web-0"])
    work.await_pods(1)


def test_of_those_too_many_only_the_first_that_is_not_ready_goes_as_it_is(work: Sets) -> None:
    work.create(3)
    work.grow(3)
    unready = [{"type": "Ready", "status": "False"}]
    work.set_status(["web-1", "web-2"], conditions=unready)
    work.await_set(readyReplicas=1)
    work.scale(1)
    work.await_set(observedGeneration=2)
    assert len(work.names()) == 3
    work.make_ready(["web-2"])
    work.await_pods(1)


def test_a_deleted_pod_is_made_again(work: Sets) -> None:
    work.create(2, template=mounting(), volumeClaimTemplates=[CLAIM])
    work.grow(2)
    before = work.uid("web-0")
    work.pods.remove("web-0")
    eventually(lambda: "web-0" in work.names() and work.uid("web-0") != before, "another web-0")
    volumes = work.pods.read("web-0")["spec"]["volumes"]
    assert {"name": "data", "persistentVolumeClaim": {"claimName": "data-web-0"}} in volumes


def test_a_pod_that_is_on_its_way_out_is_waited_for(work: Sets) -> None:
    work.create(2, template=bound())
    work.grow(2)
    work.pods.remove("web-0")
    work.scale(3)
    work.await_set(observedGeneration=2)
    assert work.names() == {"web-1"}
    work.end("web-0")
    work.await_pods(2)


def test_a_pod_that_failed_is_made_again(work: Sets) -> None:
    work.create(1)
    work.await_pods(1)
    before = work.uid("web-0")
    work.set_status(["web-0"], phase="Failed")
    event = work.await_event("RecreatingFailedPod")
    assert event["message"] == f"StatefulSet {work.space.name}/web is recreating failed Pod web-0"
    assert event["type"] == "Warning"
    eventually(lambda: "web-0" in work.names() and work.uid("web-0") != before, "another web-0")


def test_each_pod_has_claims_of_its_own(space: Space) -> None:
    work = Sets(space)
    taken = [{"name": "data", "emptyDir": {}}, {"name": "other", "emptyDir": {}}]
    labelled = {**CLAIM, "metadata": {"name": "data", "labels": {"app": "x", "tier": "t"}}}
    work.create(2, template=mounting(volumes=taken), volumeClaimTemplates=[labelled])
    work.grow(2)
    assert work.claim_names() == ["data-web-0", "data-web-1"]
    claim = work.space.collection("persistentvolumeclaims").read("data-web-1")
    assert claim["metadata"]["labels"] == {"app": "web", "tier": "t"}
    assert "ownerReferences" not in claim["metadata"]
    assert claim["spec"]["resources"] == CLAIM["spec"]["resources"]
    volumes = work.pods.read("web-1")["spec"]["volumes"]
    assert volumes[0] == {"name": "data", "persistentVolumeClaim": {"claimName": "data-web-1"}}
    assert [volume["name"] for volume in volumes].count("data") == 1
    assert "other" in [volume["name"] for volume in volumes]


def test_claims_stay_when_pods_go(work: Sets) -> None:
    work.create(2, template=mounting(), volumeClaimTemplates=[CLAIM])
    work.grow(2)
    work.scale(0)
    work.await_pods(0)
    work.stateful_sets.remove("web")
    assert work.claim_names() == ["data-web-0", "data-web-1"]


def test_a_claim_that_is_there_is_taken(work: Sets) -> None:
    claims = work.space.collection("persistentvolumeclaims")
    claim = claims.create("data-web-0", spec=CLAIM["spec"])
    work.create(1, template=mounting(), volumeClaimTemplates=[CLAIM])
    work.await_pods(1)
    assert claims.read("data-web-0")["metadata"]["uid"] == claim["metadata"]["uid"]


def test_a_claim_that_is_on_its_way_out_is_waited_for(work: Sets) -> None:
    claims = work.space.collection("persistentvolumeclaims")
    held = {"finalizers": ["example.com/held"]}
    claims.create("data-web-0", metadata=held, spec=CLAIM["spec"])
    claims.remove("data-web-0")
    work.create(1, template=mounting(), volumeClaimTemplates=[CLAIM])
    event = work.await_event("FailedCreate")
    reason = "create Pod web-0 in StatefulSet web failed error: pvc data-web-0 is being deleted"
    assert event["message"] == reason
    claims.patch("data-web-0", {"metadata": {"finalizers": None}})
    work.await_pods(1)
    assert "deletionTimestamp" not in claims.read("data-web-0")["metadata"]


def test_what_is_done_is_told_in_events(work: Sets) -> None:
    work.create(1, template=mounting(), volumeClaimTemplates=[CLAIM])
    work.grow(1)
    work.scale(0)
    work.await_pods(0)
    for reason, text in (
        ("SuccessfulCreate", "create Claim data-web-0 Pod web-0 in StatefulSet web success"),
        ("SuccessfulCreate", "create Pod web-0 in StatefulSet web successful"),
        ("SuccessfulDelete", "delete Pod web-0 in StatefulSet web successful"),
    ):
        event = work.await_event(reason, text)
        assert event["message"] == text
        assert (event["type"], event["source"]) == (
            "Normal",
            {"component": "statefulset-controller"},
        )


def test_what_cannot_be_done_is_told_in_events(work: Sets) -> None:
    broken = {**CLAIM, "spec": {**CLAIM["spec"], "accessModes": ["Never"]}}
    work.create(1, template=mounting(), volumeClaimTemplates=[broken])
    event = work.await_event("FailedCreate", "create Claim")
    start = "create Claim data-web-0 for Pod web-0 in StatefulSet web failed error: "
    assert event["message"].startswith(f'{start}PersistentVolumeClaim "data-web-0" is invalid')
    event = work.await_event("FailedCreate", "create Pod")
    start = "create Pod web-0 in StatefulSet web failed error: failed to create PVC data-web-0: "
    assert event["message"].startswith(start)
    assert work.await_set(observedGeneration=1)["replicas"] == 0


@pytest.mark.both_dialects
def test_a_pod_gets_back_the_label_of_its_name(space: Space) -> None:
    work = Sets(space)
    work.create(1)
    work.grow(1)
    label = space.dialect.label("statefulset.@/pod-name")
    work.pods.patch("web-0", {"metadata": {"labels": {label: "other"}}})
    work.await_event("SuccessfulUpdate", "update Pod web-0 in StatefulSet web successful")
    assert work.pods.read("web-0")["metadata"]["labels"][label] == "web-0"


def test_a_pod_of_the_right_name_is_adopted(work: Sets) -> None:
    work.pods.create("web-0", labels=LABELS, **POD)
    work.pods.create("stray", labels=LABELS, **POD)
    work.pods.create("web-00", labels=LABELS, **POD)
    owner = work.create(1, updateStrategy={"type": "OnDelete"})
    work.await_set(replicas=1)
    (reference,) = work.pods.read("web-0")["metadata"]["ownerReferences"]
    assert reference["uid"] == owner["metadata"]["uid"]
    for name in ("stray", "web-00"):
        assert "ownerReferences" not in work.pods.read(name)["metadata"]


def test_a_pod_that_is_no_longer_selected_is_let_go(work: Sets) -> None:
    work.create(1)
    work.grow(1)
    work.pods.patch("web-0", {"metadata": {"labels": {"app": "other"}}})
    work.await_set(replicas=0)
    assert "ownerReferences" not in work.pods.read("web-0")["metadata"]
    work.pods.remove("web-0")
    work.await_set(replicas=1)


def test_a_set_that_is_being_deleted_only_tells_what_is_left(work: Sets) -> None:
    work.create(2, podManagementPolicy="Parallel")
    work.await_set(replicas=2)
    work.stateful_sets.patch("web", {"metadata": {"finalizers": ["example.com/held"]}})
    work.stateful_sets.remove("web")
    work.pods.remove("web-0")
    work.await_set(replicas=1)
    assert "web-0" not in work.names()
    work.stateful_sets.patch("web", {"metadata": {"finalizers": None}})


def test_conditions_that_others_set_stay(work: Sets) -> None:
    work.create(1)
    work.await_set(replicas=1)
    condition = {"type": "Fine", "status": "True"}
    path = work.stateful_sets.item("web", "status")
    assert work.space.client.patch(path, {"status": {"conditions": [condition]}}).status == 200
    work.make_ready(["web-0"])
    (kept,) = work.await_set(readyReplicas=1)["conditions"]
    assert kept["type"] == "Fine"


def test_a_set_of_absurd_size_holds_nobody_up(work: Sets) -> None:
    work.create(2**31 - 1)
    work.await_set(replicas=1)
    assert work.names() == {"web-0"}
    work.scale(0)
    work.await_pods(0)
