"""The AdmissionReview that a webhook receives."""

from __future__ import annotations

import re
from typing import Any

import pytest
from support.client import JSON, Object, Query
from support.running import run_pod
from support.webhook import Hooked, deny

APPLY = "application/apply-patch+yaml"
UID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
CONFIG_MAP = {"group": "", "version": "v1", "kind": "ConfigMap"}
CONFIG_MAPS = {"group": "", "version": "v1", "resource": "configmaps"}


def _options(hooked: Hooked, kind: str, **more: Any) -> Object:
    return {"kind": kind, "apiVersion": hooked.space.dialect.group_name("meta.@/v1"), **more}


@pytest.mark.both_dialects
def test_a_create_is_told_whole(hooked: Hooked) -> None:
    path = hooked.validate()
    config_map = hooked.space.config_maps.create("a", data={"k": "v"}, labels={"l": "m"})
    [review] = hooked.server.reviews[path]
    assert list(review) == ["kind", "apiVersion", "request"]
    assert review["kind"] == "AdmissionReview"
    assert review["apiVersion"] == hooked.space.dialect.group_name("admission.@/v1")
    request = review["request"]
    assert UID.fullmatch(request.pop("uid"))
    seen = request.pop("object")
    assert seen == {**config_map, "metadata": seen["metadata"]}
    assert seen["metadata"] == {
        name: value for name, value in config_map["metadata"].items() if name != "resourceVersion"
    }
    user = request.pop("userInfo")
    assert user["username"] == "admin"
    assert user["uid"] == "uid-admin"
    assert set(user["groups"]) == {"system:masters", "system:authenticated"}
    assert request == {
        "kind": CONFIG_MAP,
        "resource": CONFIG_MAPS,
        "requestKind": CONFIG_MAP,
        "requestResource": CONFIG_MAPS,
        "name": "a",
        "namespace": hooked.space.name,
        "operation": "CREATE",
        "oldObject": None,
        "dryRun": False,
        "options": _options(hooked, "CreateOptions"),
    }


def test_what_is_still_to_be_decided_about_a_new_object_is_left_out(hooks: Hooked) -> None:
    changing, judging = hooks.mutate(), hooks.validate()
    things = hooks.space.config_maps
    assert things.client.post(things.path, {"metadata": {"generateName": "g-"}}).status == 201
    [early], [late] = hooks.requests(changing), hooks.requests(judging)
    assert "name" not in early
    metadata = early["object"]["metadata"]
    assert metadata["generateName"] == "g-"
    assert not {"name", "uid"} & metadata.keys()
    assert metadata["managedFields"]
    assert late["name"].startswith("g-")
    assert late["object"]["metadata"]["name"] == late["name"]
    assert UID.fullmatch(late["object"]["metadata"]["uid"])


def test_an_update_is_told_with_what_it_replaces(hooked: Hooked) -> None:
    things = hooked.space.config_maps
    value = things.create("a", data={"k": "1"})
    path = hooked.validate()
    things.put(
        {"metadata": {"name": "a"}, "data": {"k": "2"}}, fieldManager="me", fieldValidation="Strict"
    )
    [request] = hooked.requests(path)
    assert request["operation"] == "UPDATE"
    assert request["object"]["data"] == {"k": "2"}
    assert request["object"]["metadata"]["uid"] == value["metadata"]["uid"]
    assert request["object"]["metadata"]["resourceVersion"] == value["metadata"]["resourceVersion"]
    assert request["oldObject"] == value
    assert request["options"] == _options(
        hooked, "UpdateOptions", fieldManager="me", fieldValidation="Strict"
    )


def test_a_patch_is_told_as_an_update(hooks: Hooked) -> None:
    things = hooks.space.config_maps
    things.create("a")
    path = hooks.validate()
    assert things.patch("a", {"data": {"k": "1"}}, fieldManager="me").status == 200
    [request] = hooks.requests(path)
    assert request["operation"] == "UPDATE"
    assert request["options"] == _options(hooks, "UpdateOptions", fieldManager="me")


def test_an_apply_that_creates_is_told_as_a_create(hooks: Hooked) -> None:
    path = hooks.validate()
    config = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}
    things = hooks.space.config_maps
    answer = things.client.patch(things.item("a"), config, kind=APPLY, fieldManager="me")
    assert answer.status == 201
    [request] = hooks.requests(path)
    assert request["operation"] == "CREATE"
    assert request["options"] == _options(hooks, "CreateOptions", fieldManager="me")


def test_a_delete_is_told_with_what_goes(hooked: Hooked) -> None:
    things = hooked.space.config_maps
    created = things.create("a")
    path = hooked.mutate()
    things.delete("a", {"gracePeriodSeconds": 0, "propagationPolicy": "Background"})
    [request] = hooked.requests(path)
    assert request["operation"] == "DELETE"
    assert request["object"] is None
    assert request["oldObject"] == created
    assert request["options"] == _options(
        hooked, "DeleteOptions", gracePeriodSeconds=0, propagationPolicy="Background"
    )


def test_each_object_of_a_collection_is_asked_about(hooks: Hooked) -> None:
    collection = hooks.space.collection("secrets")
    for name in ("a", "b", "c"):
        collection.create(name)
    path = hooks.validate(resources=["secrets"])
    assert collection.client.delete(collection.path).status == 200
    names = sorted(request["oldObject"]["metadata"]["name"] for request in hooks.requests(path))
    assert names == ["a", "b", "c"]


def test_a_dry_run_is_told_as_one(hooks: Hooked) -> None:
    path = hooks.validate(sideEffects="NoneOnDryRun")
    things = hooks.space.config_maps
    assert things.client.post(things.path, {"metadata": {"name": "a"}}, dryRun="All").status == 201
    [request] = hooks.requests(path)
    assert request["dryRun"] is True
    assert request["options"] == _options(hooks, "CreateOptions", dryRun=["All"])


def test_a_request_about_a_namespace_is_in_it(hooks: Hooked) -> None:
    name = hooks.space.name
    path = hooks.validate(resources=["namespaces"])
    namespaces = hooks.space.everywhere("namespaces")
    assert namespaces.patch(name, {"metadata": {"labels": {"a": "b"}}}).status == 200
    [request] = hooks.requests(path)
    assert (request["name"], request["namespace"]) == (name, name)


def test_extra_of_the_user_is_told(hooks: Hooked) -> None:
    path = hooks.validate()
    things = hooks.space.config_maps
    headers = {
        "Impersonate-User": "jane",
        "Impersonate-Group": "system:masters",
        "Impersonate-Extra-Scopes": "all",
        "Impersonate-Uid": "u-1",
    }
    answer = things.client.post(things.path, {"metadata": {"name": "a"}}, headers=headers)
    assert answer.status == 201, answer.text
    [request] = hooks.requests(path)
    assert request["userInfo"] == {
        "username": "jane",
        "uid": "u-1",
        "groups": ["system:masters", "system:authenticated"],
        "extra": {"scopes": ["all"]},
    }


def test_the_call_says_how_long_we_wait(hooks: Hooked) -> None:
    path = hooks.validate(timeoutSeconds=7)
    hooks.space.config_maps.create("a")
    [head] = hooks.server.headers[path]
    assert head[":path"] == f"{path}?timeout=7s"
    assert head["content-type"] == JSON
    assert head["host"] == f"127.0.0.1:{hooks.server.port}"


def test_a_webhook_has_no_longer_than_the_request(hooks: Hooked) -> None:
    path = hooks.validate(timeoutSeconds=20)
    things = hooks.space.config_maps
    assert things.client.post(things.path, {"metadata": {"name": "a"}}, timeout="9s").status == 201
    [head] = hooks.server.headers[path]
    assert head[":path"] == f"{path}?timeout=9s"


def test_what_is_deleted_with_its_collection_is_not_named(hooks: Hooked) -> None:
    hooks.space.config_maps.create("a", labels={"x": "1"})
    rule = {"operations": ["DELETE"], "apiGroups": [""], "apiVersions": ["v1"]}
    path = hooks.validate(rules=[{**rule, "resources": ["configmaps"]}])
    things = hooks.space.config_maps
    assert things.client.delete(things.path, labelSelector="x=1").status == 200
    [request] = hooks.requests(path)
    assert "name" not in request
    assert request["oldObject"]["metadata"]["name"] == "a"


def test_a_token_review_is_named_as_it_was_sent(hooks: Hooked) -> None:
    group = hooks.space.dialect.group_name("authentication.@")
    rule = {"operations": ["CREATE"], "apiVersions": ["v1"], "resources": ["tokenreviews"]}
    path = hooks.validate(rules=[{**rule, "apiGroups": [group]}])
    reviews = hooks.space.everywhere("tokenreviews", "authentication.@")
    body = {"metadata": {"name": "mine"}, "spec": {"token": "x"}}
    assert hooks.space.client.post(reviews.path, body).status == 201
    [request] = hooks.requests(path)
    assert request["name"] == "mine"


def _scaled(hooks: Hooked) -> Any:
    deployments = hooks.space.collection("deployments", "apps")
    labels = {"app": "x"}
    template = {
        "metadata": {"labels": labels},
        "spec": {"containers": [{"name": "c", "image": "i"}]},
    }
    spec = {"replicas": 0, "selector": {"matchLabels": labels}, "template": template}
    deployments.create("d", spec=spec)
    return deployments


def test_a_scale_is_told_as_such(hooks: Hooked) -> None:
    deployments = _scaled(hooks)
    path = hooks.validate(apiGroups=["apps"], resources=["*/scale"])
    answer = hooks.space.client.patch(deployments.item("d", "scale"), {"spec": {"replicas": 2}})
    assert answer.status == 200, answer.text
    [request] = hooks.requests(path)
    assert request["kind"] == {"group": "autoscaling", "version": "v1", "kind": "Scale"}
    assert request["resource"] == {"group": "apps", "version": "v1", "resource": "deployments"}
    assert request["subResource"] == request["requestSubResource"] == "scale"
    assert request["object"]["kind"] == "Scale"
    assert request["object"]["apiVersion"] == "autoscaling/v1"
    assert request["object"]["spec"] == {"replicas": 2}
    assert request["oldObject"]["spec"] == {}


def test_a_status_is_told_with_the_whole_object(hooks: Hooked) -> None:
    deployments = _scaled(hooks)
    path = hooks.validate(apiGroups=["apps"], resources=["deployments/status"])
    answer = hooks.space.client.patch(deployments.item("d", "status"), {"status": {"replicas": 1}})
    assert answer.status == 200, answer.text
    request = hooks.requests(path)[0]
    assert request["subResource"] == "status"
    assert request["object"]["kind"] == "Deployment"
    assert request["object"]["spec"]["replicas"] == 0


def test_an_eviction_is_told_as_such_and_its_delete_is_not(hooks: Hooked) -> None:
    run_pod(hooks.space, "p")
    path = hooks.validate(resources=["pods", "pods/eviction"])
    pods = hooks.space.collection("pods")
    answer = pods.client.post(
        pods.item("p", "eviction"),
        {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "p"}},
    )
    assert answer.status == 201, answer.text
    [request] = hooks.requests(path)
    assert request["kind"] == {"group": "policy", "version": "v1", "kind": "Eviction"}
    assert request["object"]["kind"] == "Eviction"
    assert (request["operation"], request["subResource"]) == ("CREATE", "eviction")


def test_a_binding_is_told_as_such(hooks: Hooked) -> None:
    pods = hooks.space.collection("pods")
    spec = {"automountServiceAccountToken": False, "containers": [{"name": "c", "image": "i"}]}
    pods.create("p", spec=spec)
    path = hooks.mutate(resources=["pods/binding"])
    binding = {"metadata": {"name": "p"}, "target": {"kind": "Node", "name": "n"}}
    assert pods.client.post(pods.item("p", "binding"), binding).status == 201
    [request] = hooks.requests(path)
    assert request["object"]["target"]["name"] == "n"
    assert request["kind"] == {"group": "", "version": "v1", "kind": "Binding"}


@pytest.mark.parametrize(
    ("sub", "kind", "query", "seen"),
    [
        ("exec", "PodExecOptions", {"command": "ls", "stdout": "1"}, {"command": ["ls"]}),
        ("attach", "PodAttachOptions", {"stdin": "1"}, {"stdin": True}),
        ("portforward", "PodPortForwardOptions", {"ports": "80"}, {"ports": [80]}),
        ("proxy", "PodProxyOptions", {}, {}),
    ],
)
def test_a_connection_is_told_with_its_options(
    hooks: Hooked, sub: str, kind: str, query: dict[str, Query], seen: Object
) -> None:
    run_pod(hooks.space, "p")
    path = hooks.validate(deny("stay out"), operations=["CONNECT"], resources=["pods/*"])
    pods = hooks.space.collection("pods")
    answer = pods.client.get(pods.item("p", sub), **query)
    assert answer.status == 400
    assert answer.message.endswith("denied the request: stay out")
    [request] = hooks.requests(path)
    assert (request["operation"], request["subResource"]) == ("CONNECT", sub)
    assert (request["name"], request["options"], request["oldObject"]) == ("p", None, None)
    assert request["kind"] == {"group": "", "version": "v1", "kind": kind}
    assert request["object"]["kind"] == kind
    assert seen.items() <= request["object"].items()


def test_warnings_of_webhooks_reach_the_client(hooks: Hooked) -> None:
    hooks.mutate(lambda request: {"allowed": True, "warnings": ["mind the gap"]})
    hooks.validate(lambda request: {"allowed": False, "warnings": ['say "no"', "mind the gap"]})
    things = hooks.space.config_maps
    answer = things.client.post(things.path, {"metadata": {"name": "a"}})
    assert answer.warnings == ['299 - "mind the gap"', '299 - "say \\"no\\""']


def test_warnings_stay_within_their_limits(hooks: Hooked) -> None:
    many = [f"{number:03}" + "x" * 400 for number in range(100)]
    hooks.validate(lambda request: {"allowed": True, "warnings": many})
    things = hooks.space.config_maps
    answer = things.client.post(things.path, {"metadata": {"name": "a"}})
    texts = [warning.removeprefix('299 - "').removesuffix('"') for warning in answer.warnings]
    assert texts == [text[:256] for text in many[: len(texts)]]
    assert 4096 - 256 < sum(map(len, texts)) <= 4096
