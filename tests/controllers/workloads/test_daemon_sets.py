"""DaemonSets keep a pod on every matching node."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from support.daemon_sets import Daemons, target
from support.namespaces import Space
from support.waiting import eventually
from support.workloads import LABELS, READY, template

TOLERATED = [
    ("not-ready", "NoExecute"),
    ("unreachable", "NoExecute"),
    ("disk-pressure", "NoSchedule"),
    ("memory-pressure", "NoSchedule"),
    ("pid-pressure", "NoSchedule"),
    ("unschedulable", "NoSchedule"),
]


@pytest.fixture
def work(kubernetes: Space) -> Iterator[Daemons]:
    daemons = Daemons(kubernetes)
    yield daemons
    daemons.remove_nodes()


@pytest.fixture
def everywhere(space: Space) -> Iterator[Daemons]:
    """The same in each dialect."""
    daemons = Daemons(space)
    yield daemons
    daemons.remove_nodes()


def test_every_node_gets_a_pod(everywhere: Daemons) -> None:
    work = everywhere
    work.add_nodes("a", "b")
    owner = work.create()
    work.await_pods(2)
    assert {target(pod) for pod in work.living()} == {work.node("a"), work.node("b")}
    (revision,) = work.revisions.list().body["items"]
    text = revision["metadata"]["labels"]["controller-revision-hash"]
    assert revision["metadata"]["name"] == f"web-{text}"
    for pod in work.living():
        metadata = pod["metadata"]
        assert metadata["generateName"] == "web-"
        assert metadata["labels"] == {
            **LABELS,
            "controller-revision-hash": text,
            "pod-template-generation": "1",
        }
        (reference,) = metadata["ownerReferences"]
        assert (reference["kind"], reference["uid"]) == ("DaemonSet", owner["metadata"]["uid"])
    assert work.await_set(currentNumberScheduled=2) == {
        "currentNumberScheduled": 2,
        "desiredNumberScheduled": 2,
        "numberMisscheduled": 0,
        "numberReady": 0,
        "numberUnavailable": 2,
        "observedGeneration": 1,
        "updatedNumberScheduled": 2,
    }
    assert work.make_available(2) == {
        "currentNumberScheduled": 2,
        "desiredNumberScheduled": 2,
        "numberMisscheduled": 0,
        "numberReady": 2,
        "numberAvailable": 2,
        "observedGeneration": 1,
        "updatedNumberScheduled": 2,
    }


@pytest.mark.both_dialects
def test_daemons_tolerate_nodes_that_are_not_well(everywhere: Daemons) -> None:
    work, label = everywhere, everywhere.space.dialect.label
    work.add_nodes("a")
    soon = {"key": label("node.@/not-ready"), "operator": "Exists", "effect": "NoExecute"}
    own = [{"key": "mine", "operator": "Exists"}, {**soon, "tolerationSeconds": 5}]
    work.create(template=template(tolerations=own, hostNetwork=True))
    work.await_pods(1)
    result = work.living()[0]["spec"]["tolerations"]
    assert result[0] == own[0]
    messages = [(item["key"], item["operator"], item["effect"]) for item in result[1:]]
    names = [*TOLERATED, ("network-unavailable", "NoSchedule")]
    assert messages == [(label(f"node.@/{name}"), "Exists", effect) for name, effect in names]
    assert not any("tolerationSeconds" in item for item in result)


def test_other_rules_of_the_template_stay(work: Daemons) -> None:
    work.add_nodes("a", "b")
    terms = [{"matchExpressions": [{"key": "for", "operator": "In", "values": [work.mark]}]}]
    wish = [{"weight": 1, "preference": terms[0]}]
    nodes = {
        "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms},
        "preferredDuringSchedulingIgnoredDuringExecution": wish,
    }
    work.create(template=template(affinity={"nodeAffinity": nodes}, nodeSelector={}))
    work.await_pods(2)
    for pod in work.living():
        assert target(pod) in (work.node("a"), work.node("b"))
        affinity = pod["spec"]["affinity"]["nodeAffinity"]
        assert affinity["preferredDuringSchedulingIgnoredDuringExecution"] == wish


def test_nodes_come_and_go(work: Daemons) -> None:
    work.create()
    work.await_observed(work.daemon_sets, "web")
    assert work.names() == set()
    work.add_nodes("a", "b")
    work.await_nodes(a="one", b="one")
    work.nodes.patch(work.node("a"), {"metadata": {"labels": {"for": "others"}}})
    work.await_nodes(b="one")
    work.nodes.patch(work.node("a"), {"metadata": {"labels": {"for": work.mark}}})
    work.await_nodes(a="one", b="one")
    work.nodes.remove(work.node("b"))
    work.await_nodes(a="one")
    work.await_set(desiredNumberScheduled=1, currentNumberScheduled=1)


def test_a_changed_selector_moves_the_pods(work: Daemons) -> None:
    work.add_nodes("a", "b")
    work.nodes.patch(work.node("b"), {"metadata": {"labels": {"disk": "fast"}}})
    work.create()
    work.await_nodes(a="one", b="one")
    work.change(template={"spec": {"nodeSelector": {"disk": "fast", "for": work.mark}}})
    work.await_nodes(b="one")


def test_a_taint_keeps_daemons_away_but_not_those_that_are_there(work: Daemons) -> None:
    work.add_nodes("a", "b")
    work.taint("b", "NoSchedule")
    work.create()
    work.await_nodes(a="one")
    work.taint("a", "NoSchedule")
    status = work.await_set(numberMisscheduled=1)
    assert (status["desiredNumberScheduled"], status["currentNumberScheduled"]) == (0, 0)
    assert work.on_nodes() == {"a": ["one"]}
    work.taint("a", "NoExecute")
    work.await_nodes()
    work.taint("a", "PreferNoSchedule")
    work.await_nodes(a="one")


def test_a_taint_may_be_tolerated(work: Daemons) -> None:
    work.add_nodes("a")
    work.taint("a", "NoSchedule", "NoExecute")
    work.create(template=template(tolerations=[{"key": "example.com/bad", "operator": "Exists"}]))
    work.await_nodes(a="one")


def test_a_template_may_name_the_node(work: Daemons) -> None:
    work.add_nodes("a", "b")
    work.create(template=template(nodeName=work.node("b")))
    work.await_nodes(b="one")
    work.await_set(desiredNumberScheduled=1)


def test_a_deleted_pod_is_made_again(work: Daemons) -> None:
    work.add_nodes("a")
    work.create()
    (before,) = work.await_pods(1)
    work.pods.remove(before)
    eventually(lambda: len(work.names() - {before}) == 1, "another pod")


def test_the_next_pod_waits_until_the_one_before_is_gone(work: Daemons) -> None:
    work.add_nodes("a")
    work.create(template=template(nodeName=work.node("a")))
    (before,) = work.await_pods(1)
    work.pods.remove(before)
    work.change(minReadySeconds=1)
    work.await_observed(work.daemon_sets, "web")
    assert work.names() == set()
    work.end(before)
    work.await_pods(1)


def test_pods_are_adopted_and_too_many_on_a_node_go_but_the_oldest(work: Daemons) -> None:
    work.add_nodes("a")
    work.create()
    (name,) = work.await_pods(1)
    like = work.pods.read(name)
    spec = {**like["spec"], "nodeName": work.node("a")}
    work.pods.create("x-stray", labels=like["metadata"]["labels"], spec=spec)
    eventually(lambda: work.names() == {"x-stray"}, "the one that is on its node stays")
    (reference,) = work.pods.read("x-stray")["metadata"]["ownerReferences"]
    assert reference["kind"] == "DaemonSet"


def test_a_pod_that_is_no_longer_selected_is_let_go_and_replaced(work: Daemons) -> None:
    work.add_nodes("a")
    work.create()
    (name,) = work.await_pods(1)
    work.pods.patch(name, {"metadata": {"labels": {"app": "other"}}})
    work.await_pods(2)
    assert "ownerReferences" not in work.pods.read(name)["metadata"]


@pytest.mark.parametrize(
    ("phase", "reason", "end"),
    [
        ("Failed", "FailedDaemonPod", "will try to kill it"),
        ("Succeeded", "SucceededDaemonPod", "will try to delete it"),
    ],
)
def test_a_finished_pod_is_replaced(work: Daemons, phase: str, reason: str, end: str) -> None:
    work.add_nodes("a")
    work.create()
    (name,) = work.await_pods(1)
    work.set_status([name], phase=phase)
    event = work.await_event(reason)
    place = f"{work.space.name}/{name} on node {work.node('a')}"
    assert event["message"] == f"Found {phase.lower()} daemon pod {place}, {end}"
    assert event["source"] == {"component": "daemonset-controller"}
    eventually(lambda: len(work.names() - {name}) == 1, "another pod")


def test_pods_that_are_refused_are_told_in_events(work: Daemons) -> None:
    work.add_nodes("a")
    work.space.collection("resourcequotas").create("none", spec={"hard": {"pods": "0"}})
    work.create()
    event = work.await_event("FailedCreate")
    assert event["message"].startswith("Error creating: pods ")
    work.await_set(desiredNumberScheduled=1, observedGeneration=1)
    work.space.collection("resourcequotas").remove("none")
    work.change(minReadySeconds=1)
    work.await_pods(1)


def test_pods_are_replaced_one_node_after_the_other(everywhere: Daemons) -> None:
    work = everywhere
    work.add_nodes("a", "b", "c")
    work.create()
    work.make_available(3)
    work.update("two")
    for updated in (1, 2, 3):
        status = work.await_set(
            observedGeneration=2, currentNumberScheduled=3, updatedNumberScheduled=updated
        )
        assert (status["numberAvailable"], status["numberUnavailable"]) == (2, 1)
        assert sum(images == ["two"] for images in work.on_nodes().values()) == updated
        work.make_ready()
    work.await_set(numberAvailable=3)


def test_so_many_pods_may_be_missing(work: Daemons) -> None:
    work.add_nodes("a", "b", "c")
    work.create(updateStrategy={"rollingUpdate": {"maxUnavailable": "50%"}})
    work.make_available(3)
    work.update("two")
    work.await_set(observedGeneration=2, currentNumberScheduled=3, updatedNumberScheduled=2)
    work.finish_update("two", 3)


def test_pods_that_are_not_available_are_replaced_first_and_at_once(work: Daemons) -> None:
    work.add_nodes("a", "b", "c")
    work.create()
    work.await_pods(3)
    work.set_status([work.pod_on("c")], **READY)
    work.await_set(numberAvailable=1)
    work.update("two")
    work.await_nodes(a="two", b="two", c="one")
    work.await_set(updatedNumberScheduled=2, currentNumberScheduled=3)
    assert work.on_nodes()["c"] == ["one"]


def test_a_new_pod_may_be_made_beside_the_old_one(work: Daemons) -> None:
    work.add_nodes("a", "b")
    surging = {"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}
    work.create(updateStrategy=surging)
    work.make_available(2)
    work.update("two")
    work.await_pods(3)
    work.change(revisionHistoryLimit=3)
    work.await_observed(work.daemon_sets, "web")
    (node,) = (name for name, images in work.on_nodes().items() if images == ["one", "two"])
    other = {"a": "b", "b": "a"}[node]
    work.set_status([work.pod_on(node, "two")], **READY)
    work.await_nodes(**{node: "two", other: "one+two"})
    work.set_status([work.pod_on(other, "two")], **READY)
    work.await_nodes(a="two", b="two")
    work.await_set(numberAvailable=2, updatedNumberScheduled=2)


def test_an_old_pod_that_is_no_longer_ready_gives_way_to_the_new_one(work: Daemons) -> None:
    work.add_nodes("a")
    work.create(updateStrategy={"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}})
    work.make_available(1)
    work.update("two")
    work.await_nodes(a="one+two")
    old = work.pod_on("a", "one")
    work.set_status([old], conditions=[{"type": "Ready", "status": "False"}])
    work.await_nodes(a="two")


def test_nothing_is_replaced_on_delete_until_it_is_deleted(everywhere: Daemons) -> None:
    work = everywhere
    work.add_nodes("a", "b")
    work.create(updateStrategy={"type": "OnDelete"})
    work.make_available(2)
    work.update("two")
    status = work.await_set(observedGeneration=2)
    assert status.get("updatedNumberScheduled", 0) == 0
    assert work.on_nodes() == {"a": ["one"], "b": ["one"]}
    work.pods.remove(work.pod_on("a"))
    work.await_nodes(a="two", b="one")


def test_only_so_many_past_revisions_are_kept(work: Daemons) -> None:
    work.create(revisionHistoryLimit=1)
    for image in ("two", "three"):
        work.update(image)
        work.await_observed(work.daemon_sets, "web")

    def numbers() -> list[int]:
        return sorted(item["revision"] for item in work.revisions.list().body["items"])

    eventually(lambda: numbers() == [2, 3], "the oldest is gone")
    work.update("two")
    eventually(lambda: numbers() == [3, 4], "the one that is used again is the newest")


def test_a_past_revision_that_pods_have_counts_and_stays(work: Daemons) -> None:
    work.add_nodes("a")
    work.create(revisionHistoryLimit=1, updateStrategy={"type": "OnDelete"})
    work.await_pods(1)
    for image in ("two", "three"):
        work.update(image)
        work.await_observed(work.daemon_sets, "web")

    def numbers() -> list[int]:
        return sorted(item["revision"] for item in work.revisions.list().body["items"])

    eventually(lambda: numbers() == [1, 3], "the one between is gone")


def test_a_set_that_is_being_deleted_is_left_alone(work: Daemons) -> None:
    work.add_nodes("a")
    work.create()
    (name,) = work.await_pods(1)
    work.daemon_sets.patch("web", {"metadata": {"finalizers": ["example.com/held"]}})
    work.daemon_sets.remove("web")
    work.pods.remove(name)
    labels = {"app": "x"}
    manifest = {**template(nodeSelector={"for": work.mark}), "metadata": {"labels": labels}}
    work.daemon_sets.create("o", spec={"selector": {"matchLabels": labels}, "template": manifest})
    eventually(lambda: len(work.names()) == 1, "the other set works")
    assert work.living()[0]["metadata"]["labels"]["app"] == "x"
    work.daemon_sets.patch("web", {"metadata": {"finalizers": None}})
