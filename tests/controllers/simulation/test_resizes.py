"""Pods on simulated nodes that are resized while they run."""

from __future__ import annotations

from typing import Any

from support.client import Object
from support.simulation import Pods, container
from support.waiting import eventually

STRATEGIC = "application/strategic-merge-patch+json"


def sized(cpu: str, memory: str = "1Gi", **fields: Any) -> Object:
    return container(resources={"requests": {"cpu": cpu, "memory": memory}}, **fields)


def on(pods: Pods, node: str) -> dict[str, Any]:
    return {"nodeSelector": {pods.space.dialect.label("@/hostname"): node}}


def resize(pods: Pods, name: str, **requests: str) -> None:
    body = {"spec": {"containers": [{"name": "c", "resources": {"requests": requests}}]}}
    path = pods.collection.item(name, "resize")
    answer = pods.space.client.patch(path, body, kind=STRATEGIC)
    assert answer.status == 200, answer.text


def given(pods: Pods, name: str) -> Object:
    resources: Object = pods.status(name)["containerStatuses"][0]["resources"]["requests"]
    return resources


def restarts(pods: Pods, name: str = "p") -> int:
    count: int = pods.status(name)["containerStatuses"][0]["restartCount"]
    return count


def test_a_node_tells_what_it_has_given(pods_1_36: Pods) -> None:
    pods = pods_1_36
    limited = {"requests": {"cpu": "1", "memory": "1Gi"}, "limits": {"cpu": "2"}}
    storage = {"requests": {"cpu": "500m", "ephemeral-storage": "1Gi"}, "limits": {"cpu": "1"}}
    first = container("first", command=["true"], resources={**limited, "limits": {"cpu": "1500m"}})
    pods.create(
        "p",
        container("a", resources=limited),
        container("b", resources=storage),
        initContainers=[first],
    )
    pods.create("q")
    pods.await_ready("p", "q")
    status = pods.status()
    a, b = status["containerStatuses"]
    assert (a["resources"], b["resources"]) == (limited, storage)
    assert (a["allocatedResources"], b["allocatedResources"]) == (
        limited["requests"],
        storage["requests"],
    )
    assert state_of_first(pods)["resources"]["limits"] == {"cpu": "1500m"}, "it has ended"
    totals = {"cpu": "1500m", "memory": "1Gi"}
    assert status["resources"] == {"requests": totals, "limits": {"cpu": "3"}}
    assert status["allocatedResources"] == {**totals, "ephemeral-storage": "1Gi"}
    assert pods.status("q")["resources"] == {}
    assert "allocatedResources" not in pods.status("q")


def test_a_resize_that_fits_is_carried_out_without_a_restart(pods_1_36: Pods) -> None:
    pods = pods_1_36
    pods.create("p", sized("1"))
    pods.await_ready()
    resize(pods, "p", cpu="2")
    told = '"containers":[{"name":"c","resources":{"requests":{"cpu":"2","memory":"1Gi"}}}]'
    for reason, begin in (("ResizeStarted", "started"), ("ResizeCompleted", "completed")):
        event = pods.await_event(reason)
        assert event["message"] == f'Pod resize {begin}: {{{told},"generation":2}}'
    assert given(pods, "p") == {"cpu": "2", "memory": "1Gi"}
    assert pods.status()["allocatedResources"] == {"cpu": "2", "memory": "1Gi"}
    assert pods.run("cat", "/sys/fs/cgroup/cpu.weight").stdout == "79\n"
    assert restarts(pods) == 0


def test_a_container_whose_policy_says_so_restarts(pods_1_36: Pods) -> None:
    pods = pods_1_36
    policy = [{"resourceName": "memory", "restartPolicy": "RestartContainer"}]
    pods.create("p", sized("1", resizePolicy=policy))
    pods.await_ready()
    resize(pods, "p", cpu="2")
    pods.await_event("ResizeCompleted")
    assert restarts(pods) == 0
    resize(pods, "p", memory="2Gi")
    eventually(lambda: restarts(pods) == 1, "it is restarted")
    pods.await_event("Killing", text="Container c resize requires restart")
    pods.await_ready()
    assert given(pods, "p") == {"cpu": "2", "memory": "2Gi"}


def test_equal_amounts_in_other_units_are_no_resize(pods_1_36: Pods) -> None:
    pods = pods_1_36
    policy = [
        {"resourceName": name, "restartPolicy": "RestartContainer"} for name in ("cpu", "memory")
    ]
    pods.create("p", sized("1", resizePolicy=policy))
    pods.await_ready()
    resize(pods, "p", memory="1073741824")
    resize(pods, "p", cpu="2", memory="1073741824")
    eventually(lambda: given(pods, "p")["cpu"] == "2", "it is resized")
    assert restarts(pods) == 1


def test_a_resize_waits_until_its_node_has_room(pods_1_36: Pods) -> None:
    pods = pods_1_36
    node = on(pods, "simulated-2")
    for name, cpu in (("small", "1"), ("large", "10"), ("other", "3")):
        pods.create(name, sized(cpu), **node)
    pods.await_ready("small", "large", "other")
    resize(pods, "small", cpu="8")
    event = pods.await_event("ResizeDeferred", "small")
    assert event["message"].startswith("Pod resize OutOfcpu: {")
    condition = pods.condition("small", "PodResizePending")
    assert (condition["status"], condition["reason"]) == ("True", "Deferred")
    text = "Node didn't have enough resource: cpu, requested: 8000, used: 13000, capacity: 16000"
    assert condition["message"] == text
    assert given(pods, "small")["cpu"] == "1"
    assert pods.run("cat", "/sys/fs/cgroup/cpu.weight", name="small").stdout == "39\n"
    resize(pods, "large", cpu="4")
    eventually(lambda: given(pods, "small")["cpu"] == "8", "it is resized")
    assert not pods.condition("small", "PodResizePending")


def test_a_deferred_resize_that_is_taken_back_waits_no_more(pods_1_36: Pods) -> None:
    pods = pods_1_36
    pods.create("p", sized("10"), **on(pods, "simulated-1"))
    pods.create("q", sized("4"), **on(pods, "simulated-1"))
    pods.await_ready("p", "q")
    resize(pods, "q", cpu="10")
    pods.await_event("ResizeDeferred", "q")
    resize(pods, "q", cpu="4")
    eventually(lambda: not pods.condition("q", "PodResizePending"), "nothing is pending")
    assert given(pods, "q")["cpu"] == "4"


def test_pods_leave_room_for_a_deferred_resize(pods_1_36: Pods) -> None:
    pods = pods_1_36
    pods.create("p", sized("10"), **on(pods, "simulated-0"))
    pods.create("q", sized("4"), **on(pods, "simulated-0"))
    pods.await_ready("p", "q")
    resize(pods, "q", cpu="16")
    pods.await_event("ResizeDeferred", "q")
    assert (
        pods.space.client.delete(pods.collection.item("p"), {"gracePeriodSeconds": 0}).status == 200
    )
    eventually(lambda: given(pods, "q")["cpu"] == "16", "it is resized")


def test_nodes_declare_what_their_agents_can_resize(pods_1_36: Pods, pods: Pods) -> None:
    [node, *_] = pods_1_36.nodes.list().body["items"]
    assert node["status"]["declaredFeatures"] == [
        "InPlacePodLevelResourcesVerticalScaling",
        "InPlacePodVerticalScalingInitContainers",
        "RestartAllContainersOnContainerExits",
    ]
    [node, *_] = pods.nodes.list().body["items"]
    assert "declaredFeatures" not in node["status"]


def test_an_init_container_is_resized(pods_1_36: Pods) -> None:
    pods = pods_1_36
    first = {**sized("1", command=["sleep", "9999"]), "name": "i"}
    pods.create("p", container(), initContainers=[first])
    eventually(lambda: "running" in state_of_first(pods)["state"], "it runs")
    resources = {"requests": {"cpu": "2", "memory": "1Gi"}}
    body = {"spec": {"initContainers": [{"name": "i", "resources": resources}]}}
    answer = pods.space.client.patch(pods.collection.item("p", "resize"), body, kind=STRATEGIC)
    assert answer.status == 200, answer.text
    eventually(lambda: state_of_first(pods)["resources"] == resources, "it is resized")


def state_of_first(pods: Pods) -> Object:
    statuses = pods.status().get("initContainerStatuses") or [{"state": {}}]
    first: Object = statuses[0]
    return first


def test_a_pod_with_resources_of_its_own_is_resized_as_a_whole(pods_1_36: Pods) -> None:
    pods = pods_1_36
    memory = container(resources={"requests": {"memory": "1Gi"}})
    pods.create("p", memory, resources={"requests": {"cpu": "2"}})
    pods.await_ready()
    totals = {"cpu": "2", "memory": "1Gi"}
    assert pods.status()["resources"] == {"requests": totals}
    body = {"spec": {"resources": {"requests": {"cpu": "3"}}}}
    answer = pods.space.client.patch(pods.collection.item("p", "resize"), body, kind=STRATEGIC)
    assert answer.status == 200, answer.text
    expected = {"cpu": "3", "memory": "1Gi"}
    eventually(lambda: pods.status()["allocatedResources"] == expected, "it is resized")
    assert pods.status()["resources"] == {"requests": expected}
    assert len([each for each in pods.events() if each["reason"] == "ResizeStarted"]) == 1
