"""The scheduler of simulated nodes, through the API."""

from __future__ import annotations

from typing import Any

import pytest
from support.client import Object
from support.namespaces import Space, random_word
from support.process import FreshServer
from support.simulation import Pods, asking, behaviour, container
from support.waiting import eventually

NONE_HELPS = "preemption: 0/3 nodes are available: 3 Preemption is not helpful for scheduling."


def test_a_pod_that_fits_nowhere_says_why(any_pods: Pods) -> None:
    any_pods.create("p", asking(cpu="1000"))
    event = any_pods.await_event("FailedScheduling")
    text = (
        "0/3 nodes are available: 3 Insufficient cpu. preemption: 0/3 nodes are available:"
        " 3 No preemption victims found for incoming pod."
    )
    assert event["message"] == text
    assert (event["type"], event["source"]["component"]) == ("Warning", "default-scheduler")
    eventually(lambda: bool(any_pods.condition("p", "PodScheduled")), "the pod says so too")
    condition = any_pods.condition("p", "PodScheduled")
    assert (condition["status"], condition["reason"]) == ("False", "Unschedulable")
    assert condition["message"] == text


def test_a_pod_is_tried_again_when_a_node_has_what_it_asks_for(pods: Pods) -> None:
    label = random_word()
    pods.create(nodeSelector={label: "yes"})
    event = pods.await_event("FailedScheduling")
    missing = "3 node(s) didn't match Pod's node affinity/selector"
    assert event["message"] == f"0/3 nodes are available: {missing}. {NONE_HELPS}"
    assert pods.nodes.patch("simulated-1", {"metadata": {"labels": {label: "yes"}}}).status == 200
    pods.server.advance(2)
    pods.await_ready()
    assert pods.node_of() == "simulated-1"
    assert pods.condition("p", "PodScheduled")["status"] == "True"


def test_a_pod_gets_the_room_of_one_that_goes(pods: Pods) -> None:
    pods.create("first", asking(cpu="15"), nodeSelector=on("simulated-2", pods))
    pods.await_ready("first")
    pods.create("second", asking(cpu="15"), nodeSelector=on("simulated-2", pods))
    pods.await_event("FailedScheduling", "second")
    pods.collection.remove("first")
    pods.await_gone("first")
    pods.server.advance(2)
    pods.await_ready("second")


def on(node: str, pods: Pods) -> dict[str, str]:
    return {pods.space.dialect.label("@/hostname"): node}


def test_many_that_fit_nowhere_hold_up_nobody(pods: Pods) -> None:
    names = [f"p{number}" for number in range(150)]
    for name in names:
        pods.create(name, asking(cpu="1000"), labels={"deletionTimestamp": "never"})
    for name in (names[0], names[-1]):
        pods.await_event("FailedScheduling", name)
    pods.create("small", asking(cpu="1m"), labels={"deletionTimestamp": "never"})
    pods.await_ready("small")


def test_pods_of_another_scheduler_are_left_alone(pods: Pods) -> None:
    pods.create("theirs", schedulerName="theirs")
    pods.create("ours")
    pods.await_ready("ours")
    assert pods.node_of("theirs") == ""
    assert pods.status("theirs") == {"phase": "Pending", "qosClass": "BestEffort"}
    target = {"metadata": {"name": "theirs"}, "target": {"kind": "Node", "name": "simulated-0"}}
    assert pods.space.client.post(pods.collection.item("theirs", "binding"), target).status == 201
    pods.await_ready("theirs")


def test_pods_on_other_nodes_are_left_alone(pods: Pods) -> None:
    name = f"real-{random_word()}"
    pods.nodes.create(name)
    pods.create("theirs", nodeName=name)
    pods.create("ours")
    pods.await_ready("ours")
    assert pods.status("theirs") == {"phase": "Pending", "qosClass": "BestEffort"}
    assert pods.node_of("ours") in pods.nodes.names()
    pods.nodes.remove(name)


def test_a_pod_that_names_its_node_needs_no_scheduler(pods: Pods) -> None:
    pods.create(nodeName="simulated-1")
    pods.await_ready()
    assert [event["reason"] for event in pods.events()].count("Scheduled") == 0


@pytest.fixture
def priority(pods: Pods) -> str:
    """A class of pods that count more than others."""
    name = f"high-{random_word()}"
    classes = pods.space.everywhere("priorityclasses", "scheduling.@")
    classes.create(name, value=1000, preemptionPolicy="PreemptLowerPriority")
    return name


def filled(pods: Pods, **spec: Any) -> Object:
    return pods.create("low", asking(cpu="15"), nodeSelector=on("simulated-2", pods), **spec)


def test_a_pod_that_counts_more_takes_the_place_of_another(pods: Pods, priority: str) -> None:
    filled(pods, terminationGracePeriodSeconds=600)
    pods.create("small", asking(cpu="100m"), nodeSelector=on("simulated-2", pods))
    pods.await_ready("low", "small")
    slow = {"metadata": {"annotations": behaviour(stop_after="100s")}}
    assert pods.collection.patch("low", slow).status == 200
    pods.create(
        "high", asking(cpu="15"), nodeSelector=on("simulated-2", pods), priorityClassName=priority
    )
    text = f"Preempted by {pods.space.name}/high on node simulated-2"
    assert pods.await_event("Preempted", "low")["message"] == text
    eventually(lambda: "deletionTimestamp" in pods.read("low")["metadata"], "it is told to stop")
    eventually(lambda: "nominatedNodeName" in pods.status("high"), "room is made")
    assert pods.status("high")["nominatedNodeName"] == "simulated-2"
    pods.server.advance(101)
    pods.await_gone("low")
    pods.server.advance(2)
    pods.await_ready("high")
    assert pods.is_ready("small")


def test_a_pod_that_is_removed_says_so_where_that_is_switched_on(fresh_server: FreshServer) -> None:
    server = fresh_server("--simulate-nodes=1", "--feature-gates=PodDisruptionConditions=true")
    pods = Pods(Space(server, server.client()))
    classes = pods.space.everywhere("priorityclasses", "scheduling.@")
    classes.create("high", value=1000)
    pods.create("low", asking(cpu="15"), metadata={"finalizers": ["example.com/look"]})
    pods.await_ready("low")
    pods.create("high", asking(cpu="15"), priorityClassName="high")
    eventually(lambda: bool(pods.condition("low", "DisruptionTarget")), "it is told")
    assert pods.condition("low", "DisruptionTarget")["reason"] == "PreemptionByKubeScheduler"


def test_a_preempted_pod_of_release_1_36_carries_the_reason(pods_1_36: Pods) -> None:
    pods = pods_1_36
    high = f"high-{random_word()}"
    pods.space.everywhere("priorityclasses", "scheduling.@").create(high, value=1000)
    held = {"finalizers": ["example.com/look"]}
    pods.create("low", asking(cpu="15"), metadata=held, nodeName="simulated-1")
    pods.await_ready("low")
    host = pods.space.dialect.label("@/hostname")
    selector = {host: "simulated-1"}
    pods.create("high", asking(cpu="15"), priorityClassName=high, nodeSelector=selector)
    eventually(lambda: bool(pods.condition("low", "DisruptionTarget")), "it is preempted")
    condition = pods.condition("low", "DisruptionTarget")
    assert (condition["reason"], condition["message"], condition["observedGeneration"]) == (
        "PreemptionByScheduler",
        "default-scheduler: preempting to accommodate a higher priority pod",
        1,
    )
    item = pods.collection.item("low")
    assert pods.space.client.patch(item, {"metadata": {"finalizers": None}}).status == 200


def test_what_waits_for_a_node_tells_which_spec_was_judged(pods_1_36: Pods) -> None:
    pods_1_36.create("p", asking(cpu="17"))
    pods_1_36.await_event("FailedScheduling")
    eventually(lambda: bool(pods_1_36.condition("p", "PodScheduled")), "it says so")
    assert pods_1_36.condition("p", "PodScheduled")["observedGeneration"] == 1


def test_a_pod_that_becomes_smaller_makes_room(pods_1_36: Pods) -> None:
    pods = pods_1_36
    on = {"nodeSelector": {pods.space.dialect.label("@/hostname"): "simulated-2"}}
    pods.create("first", asking(cpu="15"), **on)
    pods.await_ready("first")
    pods.create("second", asking(cpu="10"), **on)
    pods.await_event("FailedScheduling", "second")
    smaller = {"spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": "2"}}}]}}
    path = pods.collection.item("first", "resize")
    merge = "application/strategic-merge-patch+json"
    answer = pods.space.client.patch(path, smaller, kind=merge)
    assert answer.status == 200, answer.text
    pods.server.advance(2)
    pods.await_ready("second")


def test_a_pod_that_must_not_preempt_waits(pods: Pods, priority: str) -> None:
    name = f"patient-{random_word()}"
    classes = pods.space.everywhere("priorityclasses", "scheduling.@")
    classes.create(name, value=1000, preemptionPolicy="Never")
    filled(pods)
    pods.await_ready("low")
    pods.create(
        "high", asking(cpu="15"), nodeSelector=on("simulated-2", pods), priorityClassName=name
    )
    event = pods.await_event("FailedScheduling", "high")
    assert event["message"].endswith("preemption: not eligible due to preemptionPolicy=Never.")
    assert "deletionTimestamp" not in pods.read("low")["metadata"]


def claim(pods: Pods, name: str, class_name: str) -> None:
    spec = {
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": class_name,
        "resources": {"requests": {"storage": "1Gi"}},
    }
    pods.space.collection("persistentvolumeclaims").create(name, spec=spec)


def delayed_class(pods: Pods, provisioner: str) -> str:
    name = f"delayed-{random_word()}"
    classes = pods.space.everywhere("storageclasses", "storage.@")
    classes.create(name, provisioner=provisioner, volumeBindingMode="WaitForFirstConsumer")
    return name


def using(name: str) -> list[Object]:
    return [{"name": "v", "persistentVolumeClaim": {"claimName": name}}]


def volume(pods: Pods, class_name: str, node: str) -> str:
    name = f"volume-{random_word()}"
    label = pods.space.dialect.label("@/hostname")
    rule = {"key": label, "operator": "In", "values": [node]}
    spec = {
        "capacity": {"storage": "1Gi"},
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": class_name,
        "local": {"path": "/data"},
        "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [rule]}]}},
    }
    pods.space.everywhere("persistentvolumes").create(name, spec=spec)
    return name


@pytest.mark.both_dialects
def test_a_pod_goes_to_the_node_that_has_a_volume_for_it(any_pods: Pods) -> None:
    pods = any_pods
    class_name = delayed_class(pods, pods.space.dialect.label("@/no-provisioner"))
    claim(pods, "data", class_name)
    pods.create("p", container(), volumes=using("data"))
    event = pods.await_event("FailedScheduling")
    assert "3 node(s) didn't find available persistent volumes to bind" in event["message"]
    name = volume(pods, class_name, "simulated-1")
    pods.server.advance(2)
    pods.await_ready()
    assert pods.node_of() == "simulated-1"
    result = pods.space.collection("persistentvolumeclaims").read("data")
    assert result["spec"]["volumeName"] == name
    assert result["status"]["phase"] == "Bound"


def test_a_volume_is_asked_for_on_the_node_that_was_chosen(pods: Pods) -> None:
    claim(pods, "data", delayed_class(pods, "example.com/maker"))
    pods.create("p", container(), volumes=using("data"))
    eventually(lambda: bool(selected_node(pods)), "a node is chosen")
    node = selected_node(pods)
    claims = pods.space.collection("persistentvolumeclaims")
    class_name = claims.read("data")["spec"]["storageClassName"]
    name = volume(pods, class_name, node)
    reference = {"namespace": pods.space.name, "name": "data"}
    manifest = {"spec": {"claimRef": reference}}
    assert pods.space.everywhere("persistentvolumes").patch(name, manifest).status == 200
    pods.await_ready()
    assert pods.node_of() == node


def publishing_driver(pods: Pods) -> str:
    """A driver that says how much room it has."""
    name = f"csi-{random_word()}.example.com"
    drivers = pods.space.everywhere("csidrivers", "storage.@")
    drivers.create(name, spec={"storageCapacity": True})
    return name


def publish(pods: Pods, class_name: str, node: str = "simulated-1", **fields: Any) -> str:
    """Say how much room there is for a class on a node."""
    host = pods.space.dialect.label("@/hostname")
    topology = {"matchLabels": {host: node}} if node else {}
    name = f"capacity-{random_word()}"
    capacities = pods.space.collection("csistoragecapacities", "storage.@")
    capacities.create(name, **{"storageClassName": class_name, "nodeTopology": topology, **fields})
    return name


def selected_node(pods: Pods, name: str = "data") -> str:
    key = pods.space.dialect.label("volume.@/selected-node")
    result = pods.space.collection("persistentvolumeclaims").read(name)
    return str(result["metadata"].get("annotations", {}).get(key, ""))


NO_SPACE = "node(s) did not have enough free storage"


def test_a_pod_goes_where_the_driver_of_its_claim_has_room(any_pods: Pods) -> None:
    pods = any_pods
    class_name = delayed_class(pods, publishing_driver(pods))
    claim(pods, "data", class_name)
    pods.create("p", container(), volumes=using("data"))
    assert f"3 {NO_SPACE}" in pods.await_event("FailedScheduling")["message"]
    publish(pods, class_name, capacity="1Gi")
    pods.server.advance(2)
    eventually(lambda: selected_node(pods) == "simulated-1", "the node with room is chosen")


@pytest.mark.parametrize(
    "published",
    [
        pytest.param({"capacity": "1023Mi"}, id="too little"),
        pytest.param({"capacity": "0"}, id="none"),
        pytest.param({}, id="nothing is said"),
        pytest.param({"capacity": "10Gi", "maximumVolumeSize": "1Mi"}, id="only small volumes"),
        pytest.param({"capacity": "10Gi", "nodeTopology": None}, id="out of reach"),
    ],
)
def test_capacity_that_does_not_hold_a_claim_is_no_place_for_it(
    any_pods: Pods, published: Object
) -> None:
    pods = any_pods
    class_name = delayed_class(pods, publishing_driver(pods))
    publish(pods, class_name, **published)
    publish(pods, delayed_class(pods, "example.com/other"), "", capacity="10Gi")
    claim(pods, "data", class_name)
    pods.create("p", container(), volumes=using("data"))
    assert f"3 {NO_SPACE}" in pods.await_event("FailedScheduling")["message"]


@pytest.mark.both_dialects
def test_the_largest_volume_counts_alone_only_for_the_reference(any_pods: Pods) -> None:
    pods = any_pods
    class_name = delayed_class(pods, publishing_driver(pods))
    publish(pods, class_name, maximumVolumeSize="1Gi")
    claim(pods, "data", class_name)
    pods.create("p", container(), volumes=using("data"))
    if pods.space.dialect.volume_capacity_required:
        assert f"3 {NO_SPACE}" in pods.await_event("FailedScheduling")["message"]
    else:
        eventually(lambda: selected_node(pods) == "simulated-1", "the node with room is chosen")


def test_a_pod_waits_for_its_claims(pods: Pods) -> None:
    pods.create("p", container(), volumes=using("data"))
    event = pods.await_event("FailedScheduling")
    missing = '3 persistentvolumeclaim "data" not found'
    assert event["message"] == f"0/3 nodes are available: {missing}. {NONE_HELPS}"
    claim(pods, "data", "")
    pods.server.advance(2)
    pods.await_event("FailedScheduling", text="pod has unbound immediate PersistentVolumeClaims")
