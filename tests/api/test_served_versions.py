"""Resources served in several versions: one stored object, read and written in each."""

from __future__ import annotations

from typing import Any

import pytest
from support.client import Object
from support.namespaces import Collection, Space, random_word

TARGET = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}


@pytest.fixture
def autoscalers(space: Space) -> dict[str, Collection]:
    return {
        version: space.collection("horizontalpodautoscalers", "autoscaling", version)
        for version in ("v1", "v2", "v2beta2")
    }


def test_an_autoscaler_written_in_v1_is_read_in_every_version(
    autoscalers: dict[str, Collection],
) -> None:
    value = autoscalers["v1"].create(
        "a",
        spec={
            "scaleTargetRef": TARGET,
            "minReplicas": 2,
            "maxReplicas": 5,
            "targetCPUUtilizationPercentage": 70,
        },
    )
    metric = {
        "type": "Resource",
        "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 70}},
    }
    for version in ("v2", "v2beta2"):
        item = autoscalers[version].read("a")
        assert item["apiVersion"] == f"autoscaling/{version}"
        assert item["metadata"]["uid"] == value["metadata"]["uid"]
        assert item["metadata"]["resourceVersion"] == value["metadata"]["resourceVersion"]
        assert item["spec"]["metrics"] == [metric]
        assert "targetCPUUtilizationPercentage" not in item["spec"]


def test_an_autoscaler_written_in_v2_is_read_in_v1(autoscalers: dict[str, Collection]) -> None:
    autoscalers["v2"].create(
        "a",
        spec={
            "scaleTargetRef": TARGET,
            "maxReplicas": 5,
            "metrics": [
                {
                    "type": "Resource",
                    "resource": {
                        "name": "cpu",
                        "target": {"type": "Utilization", "averageUtilization": 60},
                    },
                }
            ],
        },
    )
    value = autoscalers["v1"].read("a")
    assert value["apiVersion"] == "autoscaling/v1"
    assert value["spec"]["targetCPUUtilizationPercentage"] == 60


def test_what_v1_cannot_express_survives_a_round_trip_through_it(
    autoscalers: dict[str, Collection],
) -> None:
    memory = {
        "type": "Resource",
        "resource": {"name": "memory", "target": {"type": "AverageValue", "averageValue": "1Gi"}},
    }
    value = autoscalers["v2"].create(
        "a", spec={"scaleTargetRef": TARGET, "maxReplicas": 5, "metrics": [memory]}
    )
    in_v1 = autoscalers["v1"].read("a")
    assert any("autoscaling.alpha." in key for key in in_v1["metadata"]["annotations"])
    in_v1["spec"]["maxReplicas"] = 6
    autoscalers["v1"].update(in_v1)
    again = autoscalers["v2"].read("a")
    assert again["spec"]["metrics"] == value["spec"]["metrics"]
    assert again["spec"]["maxReplicas"] == 6


def test_an_update_from_the_version_of_another_api_version_succeeds_and_conflicts(
    autoscalers: dict[str, Collection],
) -> None:
    spec = {"scaleTargetRef": TARGET, "maxReplicas": 5}
    autoscalers["v1"].create("a", spec=spec)
    in_v2 = autoscalers["v2"].read("a")
    stale: Object = {**in_v2, "spec": {**in_v2["spec"], "maxReplicas": 9}}
    in_v2["spec"]["maxReplicas"] = 7
    assert autoscalers["v2"].put(in_v2).status == 200
    assert autoscalers["v2"].put(stale).status == 409


def test_a_no_op_update_in_another_version_keeps_the_version(
    autoscalers: dict[str, Collection],
) -> None:
    value = autoscalers["v2"].create("a", spec={"scaleTargetRef": TARGET, "maxReplicas": 5})
    for version in ("v1", "v2beta2"):
        same = autoscalers[version].update(autoscalers[version].read("a"))
        assert same["metadata"]["resourceVersion"] == value["metadata"]["resourceVersion"]


def test_a_patch_may_turn_an_object_into_another_version(
    autoscalers: dict[str, Collection],
) -> None:
    autoscalers["v1"].create("a", spec={"scaleTargetRef": TARGET, "maxReplicas": 5})
    metric = {
        "type": "Resource",
        "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 44}},
    }
    patch = {"apiVersion": "autoscaling/v2", "spec": {"metrics": [metric]}}
    answer = autoscalers["v1"].patch("a", patch)
    assert (answer.status, answer.body["apiVersion"]) == (200, "autoscaling/v1")
    assert answer.body["spec"]["targetCPUUtilizationPercentage"] == 44
    assert autoscalers["v2"].read("a")["spec"]["metrics"] == [metric]


def test_lists_and_watches_speak_the_version_of_their_path(
    autoscalers: dict[str, Collection],
) -> None:
    autoscalers["v2"].create("a", spec={"scaleTargetRef": TARGET, "maxReplicas": 5})
    for version, things in autoscalers.items():
        listed = things.list().body
        assert listed["apiVersion"] == f"autoscaling/{version}"
        assert [item["metadata"]["name"] for item in listed["items"]] == ["a"]
        with things.watch() as watch:
            assert watch.next().object["apiVersion"] == f"autoscaling/{version}"


def test_a_change_in_one_version_is_an_event_in_the_others(
    autoscalers: dict[str, Collection],
) -> None:
    with autoscalers["v1"].watch() as watch:
        autoscalers["v2"].create("a", spec={"scaleTargetRef": TARGET, "maxReplicas": 5})
        event = watch.next()
    assert event.object["apiVersion"] == "autoscaling/v1"
    assert event.object["spec"]["maxReplicas"] == 5


def test_deleting_in_one_version_deletes_in_all(autoscalers: dict[str, Collection]) -> None:
    autoscalers["v2"].create("a", spec={"scaleTargetRef": TARGET, "maxReplicas": 5})
    autoscalers["v1"].remove("a")
    assert autoscalers["v2"].get("a").status == 404


@pytest.mark.both_dialects
def test_storage_capacities_are_the_same_in_both_versions(space: Space) -> None:
    new = space.collection("csistoragecapacities", "storage.@")
    old = space.collection("csistoragecapacities", "storage.@", "v1beta1")
    created = old.create("a", storageClassName="fast", capacity="10Gi")
    result = new.read("a")
    assert result["apiVersion"] == space.dialect.group_name("storage.@/v1")
    assert {**result, "apiVersion": ""} == {**created, "apiVersion": ""}
    result["capacity"] = "20Gi"
    new.update(result)
    assert old.read("a")["capacity"] == "20Gi"


@pytest.mark.both_dialects
@pytest.mark.parametrize(
    ("resource", "spec"),
    [
        (
            "prioritylevelconfigurations",
            {"type": "Limited", "limited": {"limitResponse": {"type": "Reject"}}},
        ),
        (
            "flowschemas",
            {
                "priorityLevelConfiguration": {"name": "exempt"},
                "matchingPrecedence": 100,
                "rules": [],
            },
        ),
    ],
)
def test_flow_control_is_the_same_in_both_versions(
    space: Space, resource: str, spec: dict[str, Any]
) -> None:
    name = random_word()
    group = "flowcontrol.apiserver.@"
    new, old = (space.everywhere(resource, group, version) for version in ("v1beta2", "v1beta1"))
    value = new.create(name, spec=spec)
    item = old.read(name)
    assert item["apiVersion"] == space.dialect.group_name(group) + "/v1beta1"
    assert item["spec"] == value["spec"]
    item["metadata"]["labels"] = {"x": "1"}
    del item["metadata"]["resourceVersion"]  # its status may be written meanwhile
    old.update(item)
    assert new.read(name)["metadata"]["labels"] == {"x": "1"}


@pytest.mark.both_dialects
def test_events_are_the_same_objects_in_both_groups(space: Space) -> None:
    core = space.collection("events")
    newer = space.collection("events", "events.@")
    value = core.create(
        "a",
        involvedObject={"kind": "Pod", "name": "p", "namespace": space.name},
        reason="Started",
        message="hello",
        type="Normal",
        source={"component": "me", "host": "here"},
        count=3,
    )
    item = newer.read("a")
    assert item["apiVersion"] == space.dialect.group_name("events.@/v1")
    assert item["metadata"]["uid"] == value["metadata"]["uid"]
    assert item["regarding"]["name"] == "p"
    assert (item["note"], item["reason"], item["type"]) == ("hello", "Started", "Normal")
    assert item["deprecatedSource"] == {"component": "me", "host": "here"}
    assert item["deprecatedCount"] == 3


def test_an_event_of_the_newer_group_is_read_in_the_core_group(space: Space) -> None:
    newer = space.collection("events", "events.@")
    newer.create(
        "a",
        eventTime="2024-01-02T03:04:05.678901Z",
        reportingController="example.com/me",
        reportingInstance="me-1",
        action="Doing",
        reason="Started",
        type="Normal",
        note="hello",
        regarding={"kind": "Pod", "name": "p", "namespace": space.name},
    )
    event = space.collection("events").read("a")
    assert event["involvedObject"]["name"] == "p"
    assert event["message"] == "hello"
    assert event["reportingComponent"] == "example.com/me"
    assert event["eventTime"] == "2024-01-02T03:04:05.678901Z"


def test_a_body_of_another_version_of_the_same_kind_is_refused(
    space: Space, autoscalers: dict[str, Collection]
) -> None:
    body = {
        "apiVersion": "autoscaling/v1",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "a"},
        "spec": {"scaleTargetRef": TARGET, "maxReplicas": 5},
    }
    answer = space.client.post(autoscalers["v2"].path, body)
    assert answer.status == 400


@pytest.mark.both_dialects
@pytest.mark.parametrize(
    ("group", "version", "resource", "warning"),
    [
        (
            "autoscaling",
            "v2beta2",
            "horizontalpodautoscalers",
            "autoscaling/v2beta2 HorizontalPodAutoscaler is deprecated in v1.23+, unavailable in"
            " v1.26+; use autoscaling/v2 HorizontalPodAutoscaler",
        ),
        (
            "storage.@",
            "v1beta1",
            "csistoragecapacities",
            "storage.@/v1beta1 CSIStorageCapacity is deprecated in v1.24+, unavailable in v1.27+;"
            " use storage.@/v1 CSIStorageCapacity",
        ),
        (
            "flowcontrol.apiserver.@",
            "v1beta1",
            "flowschemas",
            "flowcontrol.apiserver.@/v1beta1 FlowSchema is deprecated in v1.23+, unavailable in"
            " v1.26+; use flowcontrol.apiserver.@/v1beta2 FlowSchema",
        ),
        ("", "v1", "componentstatuses", "v1 ComponentStatus is deprecated in v1.19+"),
    ],
    ids=lambda value: str(value)[:20],
)
def test_a_deprecated_version_says_so_with_every_answer(
    space: Space, group: str, version: str, resource: str, warning: str
) -> None:
    expected = [f'299 - "{space.dialect.group_name(warning)}"']
    things = space.everywhere(resource, group, version)
    assert things.list().warnings == expected
    assert things.get("none").warnings in ([], expected)


@pytest.mark.parametrize("since", ["0", "1"])
def test_a_deprecated_version_says_so_with_watches(space: Space, since: str) -> None:
    things = space.everywhere("horizontalpodautoscalers", "autoscaling", "v2beta2")
    answer = space.client.get(things.path, watch="1", timeoutSeconds="1", resourceVersion=since)
    (warning,) = answer.warnings
    assert "is deprecated in v1.23+" in warning


def test_pod_security_policies_say_that_they_are_deprecated(cluster: Space) -> None:
    text = "policy/v1beta1 PodSecurityPolicy is deprecated in v1.21+, unavailable in v1.25+"
    things = cluster.everywhere("podsecuritypolicies", "policy", "v1beta1")
    assert things.list().warnings == [f'299 - "{text}"']


def test_a_current_version_has_nothing_to_say(space: Space) -> None:
    for group, version, resource in (
        ("autoscaling", "v2", "horizontalpodautoscalers"),
        ("storage.@", "v1", "csistoragecapacities"),
        ("", "v1", "endpoints"),
    ):
        assert space.everywhere(resource, group, version).list().warnings == []
