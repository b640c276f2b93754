"""Webhooks: which of them are called for a write."""

from __future__ import annotations

from typing import Any

import pytest
from support.client import Object
from support.webhook import Hooked, deny

APPLY = "application/apply-patch+yaml"


def _operations(hooks: Hooked, path: str) -> list[str]:
    """`OPERATION resource[/subresource]` of each request."""
    results = []
    for request in hooks.requests(path):
        sub = request.get("subResource")
        name = request["resource"]["resource"] + (f"/{sub}" if sub else "")
        results.append(f"{request['operation']} {name}")
    return results


def _walk(hooks: Hooked) -> None:
    """Create, change, scale and delete a deployment, and write a config map."""
    deployments = hooks.space.collection("deployments", "apps")
    labels = {"app": "x"}
    template = {
        "metadata": {"labels": labels},
        "spec": {"containers": [{"name": "c", "image": "i"}]},
    }
    spec = {"replicas": 0, "selector": {"matchLabels": labels}, "template": template}
    deployments.create("d", spec=spec)
    assert deployments.patch("d", {"metadata": {"labels": {"a": "b"}}}).status == 200
    scale = deployments.item("d", "scale")
    assert hooks.space.client.patch(scale, {"spec": {"replicas": 1}}).status == 200
    hooks.space.config_maps.create("m")
    assert deployments.delete("d").status == 200


ALL = [
    "CREATE deployments",
    "UPDATE deployments",
    "UPDATE deployments/scale",
    "CREATE configmaps",
    "DELETE deployments",
]


@pytest.mark.parametrize(
    ("rule", "requested"),
    [
        ({"resources": ["*/*"]}, ALL),
        ({"resources": ["*"]}, [item for item in ALL if "/" not in item]),
        ({"resources": ["deployments"]}, [ALL[0], ALL[1], ALL[4]]),
        ({"resources": ["deployments/*"]}, [*ALL[:3], ALL[4]]),
        ({"resources": ["*/scale"]}, [ALL[2]]),
        ({"resources": ["deployments/scale", "configmaps"]}, [ALL[2], ALL[3]]),
        ({"resources": ["*/*"], "operations": ["DELETE", "CREATE"]}, [ALL[0], ALL[3], ALL[4]]),
        ({"resources": ["*/*"], "apiGroups": [""]}, [ALL[3]]),
        ({"resources": ["*/*"], "apiGroups": ["apps"], "apiVersions": ["v1beta1"]}, []),
        ({"resources": ["*/*"], "scope": "Cluster"}, []),
        ({"resources": ["*/*"], "scope": "Namespaced"}, ALL),
    ],
    ids=lambda value: str(value.get("resources")) if isinstance(value, dict) else "",
)
def test_rules_name_the_writes(hooks: Hooked, rule: Object, requested: list[str]) -> None:
    every = {"operations": ["*"], "apiGroups": ["*"], "apiVersions": ["*"]}
    path = hooks.validate(**{**every, **rule})
    _walk(hooks)
    # What controllers do meanwhile is asked about too.
    ours = [request for request in _operations(hooks, path) if request in ALL]
    assert [item for item in ALL if item in ours] == requested
    assert set(ours) == set(requested)


def test_a_namespace_itself_is_of_the_cluster(hooks: Hooked) -> None:
    inside = hooks.validate(resources=["namespaces"], scope="Namespaced")
    outside = hooks.validate(resources=["namespaces"], scope="Cluster")
    namespaces = hooks.space.everywhere("namespaces")
    assert namespaces.patch(hooks.space.name, {"metadata": {"labels": {"a": "b"}}}).status == 200
    assert (_operations(hooks, inside), _operations(hooks, outside)) == ([], ["UPDATE namespaces"])


def test_other_namespaces_are_not_asked_about(hooks: Hooked) -> None:
    path = hooks.validate(deny())
    namespace = hooks.space.everywhere("namespaces").create(f"{hooks.space.name}-b")
    elsewhere = f"/api/v1/namespaces/{namespace['metadata']['name']}/configmaps"
    body = {"metadata": {"name": "a"}}
    assert hooks.space.client.post(elsewhere, body).status == 201
    assert _operations(hooks, path) == []


def test_a_namespace_selector_sees_labels_as_they_are_now(hooks: Hooked) -> None:
    path = hooks.validate(namespaceSelector={"matchLabels": {"guarded": hooks.space.name}})
    namespaces, things = hooks.space.everywhere("namespaces"), hooks.space.config_maps
    things.create("before")
    labels = {"guarded": hooks.space.name}
    assert namespaces.patch(hooks.space.name, {"metadata": {"labels": labels}}).status == 200
    things.create("after")
    assert [request["name"] for request in hooks.requests(path)] == ["after"]


def test_a_namespace_selector_judges_a_namespace_by_its_new_labels(hooks: Hooked) -> None:
    name = f"{hooks.space.name}-new"
    selector = {"matchLabels": {"fresh": hooks.space.name}}
    path = hooks.validate(resources=["namespaces"], namespaceSelector=selector)
    namespaces = hooks.space.everywhere("namespaces")
    namespaces.create(name, labels={"fresh": hooks.space.name})
    namespaces.create(f"{name}-other")
    assert [request["name"] for request in hooks.requests(path)] == [name]


def test_a_namespace_selector_means_nothing_to_the_cluster(hooks: Hooked) -> None:
    selector = {"matchLabels": {"no": "such"}}
    path = hooks.validate(
        apiGroups=["scheduling.k8s.io"],
        resources=["priorityclasses"],
        namespaceSelector=selector,
    )
    classes = hooks.space.everywhere("priorityclasses", "scheduling.@")
    classes.create(hooks.space.name, value=1)
    classes.remove(hooks.space.name)
    assert _operations(hooks, path) == ["CREATE priorityclasses", "DELETE priorityclasses"]


def test_an_object_selector_is_met_by_either_object(hooks: Hooked) -> None:
    path = hooks.validate(objectSelector={"matchLabels": {"check": "me"}})
    things = hooks.space.config_maps
    things.create("plain")
    things.create("a", labels={"check": "me"})
    things.label("a", other="x")  # was selected before
    things.label("a", third="y")  # is not any more
    things.label("a", check="me")  # is again
    things.remove("a")
    operations = [f"{request['operation']} {request['name']}" for request in hooks.requests(path)]
    assert operations == ["CREATE a", "UPDATE a", "UPDATE a", "DELETE a"]


@pytest.mark.parametrize("selector", [None, {}], ids=["absent", "empty"])
def test_without_a_selector_objects_without_labels_are_asked_about(
    hooked: Hooked, selector: Object | None
) -> None:
    path = hooked.validate(objectSelector=selector)
    hooked.space.config_maps.create("plain")
    assert _operations(hooked, path) == ["CREATE configmaps"]


@pytest.mark.both_dialects
@pytest.mark.parametrize(
    "rule",
    [{"key": "x", "operator": "DoesNotExist"}, {"key": "x", "operator": "NotIn", "values": ["1"]}],
    ids=["absence", "difference"],
)
def test_objects_without_labels_are_selected_only_in_the_reference(
    hooked: Hooked, rule: Object
) -> None:
    path = hooked.validate(objectSelector={"matchExpressions": [rule]})
    things = hooked.space.config_maps
    things.create("plain")
    things.create("labelled", labels={"y": "2"})
    specified = hooked.space.dialect.object_selectors_need_labels
    names = [request["name"] for request in hooked.requests(path)]
    assert names == (["labelled"] if specified else ["plain", "labelled"])


def test_what_has_no_labels_is_never_selected(hooks: Hooked) -> None:
    selector = {"matchExpressions": [{"key": "x", "operator": "DoesNotExist"}]}
    path = hooks.validate(operations=["CONNECT"], resources=["*/*"], objectSelector=selector)
    pods = hooks.space.collection("pods")
    assert pods.client.get(pods.item("p", "attach")).status == 404
    assert _operations(hooks, path) == []


def test_webhook_configurations_are_never_asked_about(hooks: Hooked) -> None:
    every = {"operations": ["*"], "apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*/*"]}
    selector = {"matchLabels": {"lock": hooks.space.name}}
    hooks.validate(deny(), **every, objectSelector=selector, namespaceSelector={})
    hooks.mutate(deny(), **every, objectSelector=selector, namespaceSelector={})
    for kind in ("validating", "mutating"):
        configurations = hooks.configurations(kind)
        configurations.create(hooks.space.name, labels={"lock": hooks.space.name}, webhooks=[])
        configurations.remove(hooks.space.name)
    labelled = {"metadata": {"name": "x", "labels": {"lock": hooks.space.name}}}
    assert hooks.space.client.post(hooks.space.config_maps.path, labelled).status == 400


def test_webhooks_are_asked_about_reviews_too(hooks: Hooked) -> None:
    every = {"operations": ["*"], "apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*/*"]}
    selector = {"matchLabels": {"lock": hooks.space.name}}
    hooks.mutate(deny(), **every, objectSelector=selector, namespaceSelector={})
    reviews = hooks.space.everywhere("selfsubjectaccessreviews", "authorization.@")
    body: Object = {
        "metadata": {"labels": {"lock": hooks.space.name}},
        "spec": {"nonResourceAttributes": {"path": "/", "verb": "get"}},
    }
    answer = reviews.client.post(reviews.path, body)
    assert answer.status == 400
    assert "denied the request" in answer.message


def test_a_change_of_a_configuration_holds_for_the_next_write(hooks: Hooked) -> None:
    things, judges = hooks.space.config_maps, hooks.configurations("validating")
    body = {"metadata": {"name": "a"}}
    hooks.validate(deny())
    name = f"{hooks.space.name}-0"
    for _ in range(5):
        assert things.client.post(things.path, body).status == 400
        value = judges.read(name)
        judges.update({**value, "webhooks": []})
        things.create("a")
        things.remove("a")
        judges.update({**judges.read(name), "webhooks": value["webhooks"]})
    assert things.client.post(things.path, body).status == 400
    judges.remove(name)
    things.create("a")


def test_an_apply_that_changes_nothing_is_asked_about_all_the_same(hooks: Hooked) -> None:
    things = hooks.space.config_maps
    config = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}

    def apply() -> Any:
        return things.client.patch(things.item("a"), config, kind=APPLY, fieldManager="me")

    assert [apply().status for _ in range(4)] == [201, 200, 200, 200]
    path = hooks.validate(deny(), operations=["UPDATE"])
    assert [apply().status for _ in range(3)] == [400, 400, 400]
    assert len(hooks.requests(path)) == 3


def test_an_equivalent_version_is_matched_and_told_in_the_version_of_the_rule(
    hooked: Hooked,
) -> None:
    path = hooked.validate(apiGroups=["autoscaling"], resources=["horizontalpodautoscalers"])
    exact = hooked.validate(
        apiGroups=["autoscaling"], resources=["horizontalpodautoscalers"], matchPolicy="Exact"
    )
    scalers = hooked.space.collection("horizontalpodautoscalers", "autoscaling", "v2")
    target = {"kind": "Deployment", "name": "d", "apiVersion": "apps/v1"}
    metric = {
        "type": "Resource",
        "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 70}},
    }
    spec = {"maxReplicas": 3, "scaleTargetRef": target, "metrics": [metric]}
    scalers.create("h", spec=spec)
    [request] = hooked.requests(path)
    kind = {"group": "autoscaling", "version": "v1", "kind": "HorizontalPodAutoscaler"}
    resource = {
        "group": "autoscaling",
        "version": "v1",
        "resource": "horizontalpodautoscalers",
    }
    assert (request["kind"], request["resource"]) == (kind, resource)
    assert request["requestKind"] == {**kind, "version": "v2"}
    assert request["requestResource"] == {**resource, "version": "v2"}
    assert request["object"]["apiVersion"] == "autoscaling/v1"
    assert request["object"]["spec"]["targetCPUUtilizationPercentage"] == 70
    assert "metrics" not in request["object"]["spec"]
    assert hooked.requests(exact) == []


def test_an_event_is_the_same_in_either_group(hooks: Hooked) -> None:
    path = hooks.validate(apiGroups=["events.k8s.io"], resources=["events"])
    event: Object = {
        "involvedObject": {"kind": "Pod", "name": "p", "namespace": hooks.space.name},
        "reason": "Because",
        "message": "note this",
    }
    hooks.space.collection("events").create("e", **event)
    result = [request for request in hooks.requests(path) if request["name"] == "e"]
    assert result[0]["requestResource"]["group"] == ""
    assert result[0]["object"]["apiVersion"] == "events.k8s.io/v1"
    assert result[0]["object"]["note"] == "note this"
