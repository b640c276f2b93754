"""Mutating webhooks: their changes, order and number of calls."""

from __future__ import annotations

import json
from typing import Any

import pytest
from support.client import Answer, Object
from support.running import run_pod
from support.webhook import Hooked, Respond, allow, encoded, patching


def _create(hooks: Hooked, name: str = "a", **fields: Any) -> Answer:
    things = hooks.space.config_maps
    return things.client.post(things.path, {"metadata": {"name": name}, **fields})


def _add_patch(path: str, value: Any) -> Object:
    return {"op": "add", "path": path, "value": value}


def _appending(word: str) -> Respond:
    """Appends its word to the words of earlier webhooks."""

    def respond(request: Object) -> Any:
        before = (request["object"].get("data") or {}).get("words", "")
        return patching(_add_patch("/data", {"words": f"{before}{word}"}))(request)

    return respond


def test_a_patch_changes_what_is_stored(hooked: Hooked) -> None:
    hooked.mutate(
        patching(_add_patch("/data", {"k": "v"}), _add_patch("/metadata/labels", {"l": "m"}))
    )
    answer = _create(hooked)
    assert answer.status == 201
    stored = hooked.space.config_maps.read("a")
    assert stored == answer.body
    assert (stored["data"], stored["metadata"]["labels"]) == ({"k": "v"}, {"l": "m"})


def test_webhooks_change_an_object_in_the_order_of_their_names(hooks: Hooked) -> None:
    for word in "abc":
        hooks.mutate(_appending(word))
    assert _create(hooks).body["data"] == {"words": "abc"}


def test_webhooks_of_one_configuration_are_asked_in_their_order(hooks: Hooked) -> None:
    webhooks = []
    for number in (2, 1):
        path = f"/{hooks.space.name}/in-order-{number}"
        hooks.server.serve(path, _appending(str(number)))
        webhooks.append(hooks.webhook(path))
    hooks.install("mutating", *webhooks)
    assert _create(hooks).body["data"] == {"words": "21"}


def test_a_judge_sees_what_was_made_of_the_object(hooks: Hooked) -> None:
    hooks.mutate(patching(_add_patch("/data", {"k": "v"})))
    path = hooks.validate()
    assert _create(hooks).status == 201
    assert hooks.requests(path)[0]["object"]["data"] == {"k": "v"}


def test_defaults_are_filled_in_after_a_change(hooks: Hooked) -> None:
    spec = {"ports": [{"port": 80}], "selector": {"a": "b"}}
    hooks.mutate(patching(_add_patch("/spec", spec)), resources=["services"])
    judge = hooks.validate(resources=["services"])
    services = hooks.space.collection("services")
    service = services.create("s", spec={"ports": [{"port": 1}]})
    assert service["spec"]["ports"] == [{"port": 80, "protocol": "TCP", "targetPort": 80}]
    assert service["spec"]["sessionAffinity"] == "None"
    assert hooks.requests(judge)[0]["object"]["spec"]["ports"] == service["spec"]["ports"]


def test_unknown_fields_that_a_webhook_adds_are_dropped(hooks: Hooked) -> None:
    hooks.mutate(patching(_add_patch("/nonsense", 1), _add_patch("/metadata/odd", "x")))
    answer = _create(hooks)
    assert answer.status == 201
    assert "nonsense" not in answer.body
    assert "odd" not in answer.body["metadata"]


def test_what_a_webhook_makes_invalid_is_refused(hooks: Hooked) -> None:
    hooks.mutate(patching(_add_patch("/data", {"bad key": "v"})))
    answer = _create(hooks)
    assert answer.status == 422
    assert "data[bad key]" in answer.message


def test_an_update_and_its_old_object_stay_apart(hooks: Hooked) -> None:
    things = hooks.space.config_maps
    things.create("a", data={"k": "1"})
    hooks.mutate(_appending("x"))
    judge = hooks.validate()
    answer = things.patch("a", {"data": {"k": "2"}})
    assert answer.body["data"] == {"words": "x"}
    request = hooks.requests(judge)[0]
    assert (request["oldObject"]["data"], request["object"]["data"]) == ({"k": "1"}, {"words": "x"})


def test_the_status_is_out_of_reach_of_an_update(hooks: Hooked) -> None:
    services = hooks.space.collection("services")
    services.create("s", spec={"ports": [{"port": 80}]})
    status = {"loadBalancer": {"ingress": [{"ip": "1.2.3.4"}]}}
    hooks.mutate(patching(_add_patch("/status", status)), resources=["services"])
    answer = services.patch("s", {"metadata": {"labels": {"a": "b"}}})
    assert answer.status == 200
    assert answer.body["status"] == {"loadBalancer": {}}


@pytest.mark.parametrize("field", ["uid", "creationTimestamp"])
def test_what_the_server_decides_is_out_of_reach(hooks: Hooked, field: str) -> None:
    wanted = {"uid": "mine", "creationTimestamp": "2001-01-01T00:00:00Z"}
    hooks.mutate(patching(_add_patch(f"/metadata/{field}", wanted[field])))
    answer = _create(hooks)
    assert answer.status == 201
    assert answer.body["metadata"].get(field) != wanted[field]


def test_an_object_cannot_be_moved_to_another_namespace(hooks: Hooked) -> None:
    hooks.mutate(patching(_add_patch("/metadata/namespace", "default")))
    answer = _create(hooks)
    assert answer.status == 400
    assert "does not match the namespace sent on the request" in answer.message


def test_an_object_cannot_become_another(hooks: Hooked) -> None:
    things = hooks.space.config_maps
    things.create("a")
    hooks.mutate(patching(_add_patch("/metadata/name", "b")))
    answer = things.patch("a", {"data": {"k": "1"}})
    assert answer.status == 422
    assert "metadata.name" in answer.message


def test_managed_fields_that_a_webhook_breaks_are_those_from_before(hooks: Hooked) -> None:
    hooks.mutate(patching(_add_patch("/metadata/managedFields", [{"operation": "Steal"}])))
    answer = _create(hooks, data={"k": "v"})
    assert answer.status == 201
    [entry] = answer.body["metadata"]["managedFields"]
    assert entry["fieldsV1"] == {"f:data": {".": {}, "f:k": {}}}
    assert ".metadata.managedFields was in an invalid state after admission" in answer.warnings[0]


def test_fields_that_a_webhook_wrote_have_no_owner(hooks: Hooked) -> None:
    hooks.mutate(patching(_add_patch("/data/added", "x")))
    [entry] = _create(hooks, data={"k": "v"}).body["metadata"]["managedFields"]
    assert entry["fieldsV1"] == {"f:data": {".": {}, "f:k": {}}}


LIST = {"op": "add", "path": "/metadata/finalizers", "value": []}


@pytest.mark.parametrize(
    ("operations", "why"),
    [
        (
            [{"op": "test", "path": "/kind", "value": "Pod"}],
            "testing value /kind failed: test failed",
        ),
        (
            [{"op": "remove", "path": "/nothing"}],
            "error in remove for path: '/nothing': Unable to remove nonexistent key: nothing:"
            " missing value",
        ),
        (
            [{"op": "add", "path": "/no/way", "value": 1}],
            'add operation does not apply: doc is missing path: "/no/way": missing value',
        ),
        (
            [{"op": "replace", "path": "/no/way", "value": 1}],
            "replace operation does not apply: doc is missing path: /no/way: missing value",
        ),
        (
            [LIST, {"op": "add", "path": "/metadata/finalizers/9", "value": 1}],
            "error in add for path: '/metadata/finalizers/9': Unable to access invalid index: 9:"
            " invalid index referenced",
        ),
        (
            [LIST, {"op": "remove", "path": "/metadata/finalizers/x"}],
            "error in remove for path: '/metadata/finalizers/x': strconv.Atoi: parsing"
            ' "x": invalid syntax',
        ),
        ([{"op": "dance", "path": "/data"}], "Unexpected kind: dance"),
        ([{"op": "add", "path": "/data", "value": 7}], "cannot unmarshal number"),
        ([{"op": "replace", "path": "/kind", "value": "Secret"}], "became a v1, Kind=Secret"),
        ({"op": "add"}, "json: cannot unmarshal object into Go value of type jsonpatch.Patch"),
        ("text", "json: cannot unmarshal string into Go value of type jsonpatch.Patch"),
        ([7], "json: cannot unmarshal number into Go value of type jsonpatch.Operation"),
    ],
)
def test_a_patch_that_does_not_fit_fails_the_write(
    hooks: Hooked, operations: Any, why: str
) -> None:
    patch = {"allowed": True, "patchType": "JSONPatch", "patch": encoded(operations)}
    hooks.mutate(lambda request: patch, failurePolicy="Ignore")
    answer = _create(hooks)
    assert answer.status == 500
    assert answer.body["reason"] == "InternalError"
    assert why in answer.message


def test_nothing_can_be_changed_about_a_delete(hooks: Hooked) -> None:
    hooks.space.config_maps.create("a")
    path = hooks.mutate(patching(_add_patch("/data", {})), operations=["DELETE"])
    answer = hooks.space.config_maps.delete("a")
    assert answer.status == 500
    text = (
        f'admission webhook "{hooks.name_of(path)}.example.com" attempted to modify the object,'
        " which is not supported for this operation"
    )
    assert answer.message == f"Internal error occurred: {text}"


def test_an_empty_patch_changes_nothing(hooks: Hooked) -> None:
    again = hooks.mutate(reinvocationPolicy="IfNeeded")
    hooks.mutate(patching())
    assert _create(hooks).status == 201
    assert len(hooks.requests(again)) == 1


def test_a_scale_can_be_changed(hooks: Hooked) -> None:
    labels = {"app": "x"}
    template = {
        "metadata": {"labels": labels},
        "spec": {"containers": [{"name": "c", "image": "i"}]},
    }
    deployments = hooks.space.collection("deployments", "apps")
    spec = {"replicas": 0, "selector": {"matchLabels": labels}, "template": template}
    deployments.create("d", spec=spec)
    hooks.mutate(
        patching(
            _add_patch("/spec/replicas", 3), _add_patch("/metadata/labels", {"sneaky": "label"})
        ),
        apiGroups=["apps"],
        resources=["deployments/scale"],
    )
    answer = hooks.space.client.patch(deployments.item("d", "scale"), {"spec": {"replicas": 9}})
    assert answer.status == 200, answer.text
    stored = deployments.read("d")
    assert stored["spec"]["replicas"] == 3
    assert "labels" not in stored["metadata"]


def test_a_binding_can_be_changed(hooks: Hooked) -> None:
    pods = hooks.space.collection("pods")
    spec = {"automountServiceAccountToken": False, "containers": [{"name": "c", "image": "i"}]}
    pods.create("p", spec=spec)
    hooks.mutate(patching(_add_patch("/target/name", "elsewhere")), resources=["pods/binding"])
    binding = {"metadata": {"name": "p"}, "target": {"kind": "Node", "name": "n"}}
    assert pods.client.post(pods.item("p", "binding"), binding).status == 201
    assert pods.read("p")["spec"]["nodeName"] == "elsewhere"


def _rounds(hooks: Hooked, *paths: str) -> list[int]:
    return [len(hooks.requests(path)) for path in paths]


def test_a_webhook_is_asked_again_if_a_later_one_changed_the_object(hooks: Hooked) -> None:
    first = hooks.mutate(reinvocationPolicy="IfNeeded")
    never = hooks.mutate()
    changing = hooks.mutate(
        patching(_add_patch("/data", {"k": "v"})), reinvocationPolicy="IfNeeded"
    )
    last = hooks.mutate(reinvocationPolicy="IfNeeded")
    assert _create(hooks).status == 201
    assert _rounds(hooks, first, never, changing, last) == [2, 1, 1, 1]
    early, late = hooks.requests(first)
    assert "data" not in early["object"]
    assert late["object"]["data"] == {"k": "v"}
    assert early["uid"] != late["uid"]


def test_a_webhook_is_asked_at_most_once_more(hooks: Hooked) -> None:
    paths = [hooks.mutate(_appending(word), reinvocationPolicy="IfNeeded") for word in "ab"]
    assert _create(hooks).body["data"] == {"words": "abab"}
    assert _rounds(hooks, *paths) == [2, 2]


def test_a_webhook_that_changes_nothing_any_more_is_asked_twice(hooks: Hooked) -> None:
    patch = patching(_add_patch("/data", {"k": "v"}))
    first = hooks.mutate(patch, reinvocationPolicy="IfNeeded")
    second = hooks.mutate(patch, reinvocationPolicy="IfNeeded")
    assert _create(hooks).status == 201
    assert _rounds(hooks, first, second) == [1, 1]


def test_a_webhook_that_was_not_selected_is_not_asked_in_the_second_round(hooks: Hooked) -> None:
    selector = {"matchLabels": {"chosen": "yes"}}
    skipped = hooks.mutate(objectSelector=selector, reinvocationPolicy="IfNeeded")
    hooks.mutate(patching(_add_patch("/metadata/labels", {"chosen": "yes"})))
    assert _create(hooks).status == 201
    assert _rounds(hooks, skipped) == [0]


def test_built_in_plugins_run_again_after_a_webhook(hooks: Hooked) -> None:
    """DefaultTolerationSeconds gives every pod two tolerations; a webhook takes them away."""

    respond = patching({"op": "remove", "path": "/spec/tolerations"})
    path = hooks.mutate(respond, resources=["pods"], operations=["CREATE"])
    pods = hooks.space.collection("pods")
    spec = {"automountServiceAccountToken": False, "containers": [{"name": "c", "image": "i"}]}
    pod = pods.create("p", spec=spec)
    assert len(pod["spec"]["tolerations"]) == 2
    assert len(hooks.requests(path)) == 1


def test_a_plugin_that_changes_the_object_again_has_willing_webhooks_asked(hooks: Hooked) -> None:
    remove = patching({"op": "remove", "path": "/spec/tolerations"})
    path = hooks.mutate(
        remove, resources=["pods"], operations=["CREATE"], reinvocationPolicy="IfNeeded"
    )
    pods = hooks.space.collection("pods")
    spec = {"automountServiceAccountToken": False, "containers": [{"name": "c", "image": "i"}]}
    pod = pods.create("p", spec=spec)
    assert len(hooks.requests(path)) == 2
    assert "tolerations" not in pod["spec"]


def test_a_dry_run_stores_nothing_and_asks_safe_webhooks(hooks: Hooked) -> None:
    hooks.mutate(patching(_add_patch("/data", {"k": "v"})))
    things = hooks.space.config_maps
    answer = things.client.post(things.path, {"metadata": {"name": "a"}}, dryRun="All")
    assert (answer.status, answer.body["data"]) == (201, {"k": "v"})
    assert things.get("a").status == 404


def test_an_object_that_moved_while_a_webhook_thought_is_changed_anew(hooks: Hooked) -> None:
    """No lock is held during the call, and no change is lost."""
    things = hooks.space.config_maps
    things.create("a", data={"first": "1"})
    other = hooks.space.client.clone()
    meddled: list[int] = []

    def respond(request: Object) -> Object:
        if not meddled:
            meddled.append(1)
            merge = {"Content-Type": "application/merge-patch+json"}
            body = json.dumps({"data": {"second": "2"}})
            meddled.append(other.request("PATCH", things.item("a"), body, headers=merge).status)
        return allow(request)

    selector = {"matchLabels": {"slow": "yes"}}
    path = hooks.validate(respond, objectSelector=selector)
    answer = things.patch("a", {"metadata": {"labels": {"slow": "yes"}}, "data": {"third": "3"}})
    other.close()
    assert meddled == [1, 200]
    assert answer.status == 200
    assert answer.body["data"] == {"first": "1", "second": "2", "third": "3"}
    seen = [request["oldObject"]["data"] for request in hooks.requests(path)]
    assert seen == [{"first": "1"}, {"first": "1", "second": "2"}]


def test_an_update_of_a_version_that_is_gone_after_the_webhook_is_refused(hooks: Hooked) -> None:
    things = hooks.space.config_maps
    value = things.create("a")
    other = hooks.space.client.clone()

    def respond(request: Object) -> Object:
        if request["userInfo"]["username"] == "admin" and not request["object"].get("data"):
            other.put(things.item("a"), {"metadata": {"name": "a"}, "data": {"k": "other"}})
        return allow(request)

    hooks.mutate(respond, operations=["UPDATE"])
    answer = things.put({**value, "metadata": {**value["metadata"], "labels": {"l": "m"}}})
    other.close()
    assert answer.status == 409
    assert things.read("a")["data"] == {"k": "other"}


def test_a_large_object_is_changed_too(hooks: Hooked) -> None:
    """That is done beside the loop."""
    hooks.mutate(patching(_add_patch("/data/k", "v")))
    answer = _create(hooks, data={"long": "x" * 600_000})
    assert answer.status == 201
    assert hooks.space.config_maps.read("a")["data"]["k"] == "v"


def test_an_object_that_a_webhook_makes_too_large_is_refused(hooks: Hooked) -> None:
    hooks.mutate(patching(_add_patch("/metadata/annotations", {"a": "x" * 5_000_000})))
    assert _create(hooks).status in (413, 422)


def test_the_options_of_a_connection_can_be_changed(hooks: Hooked) -> None:
    run_pod(hooks.space, "p")
    hooks.mutate(
        patching(_add_patch("/container", "other")), operations=["CONNECT"], resources=["pods/exec"]
    )
    pods = hooks.space.collection("pods")
    answer = pods.client.get(pods.item("p", "exec"), command="ls", container="c")
    assert answer.status == 400
    assert answer.message == "container other is not valid for pod p"


def test_options_of_a_connection_that_are_none_fail_it(hooks: Hooked) -> None:
    run_pod(hooks.space, "p")
    hooks.mutate(
        patching(_add_patch("/command", 7)), operations=["CONNECT"], resources=["pods/exec"]
    )
    pods = hooks.space.collection("pods")
    answer = pods.client.get(pods.item("p", "exec"), command="ls", container="c")
    assert answer.status == 500
    assert "cannot unmarshal number" in answer.message


def test_a_patch_that_makes_a_number_of_a_truth_is_refused(hooks: Hooked) -> None:
    """Although 1 and True are equal in Python."""
    hooks.mutate(patching({"op": "replace", "path": "/immutable", "value": 1}))
    answer = _create(hooks, immutable=True)
    assert answer.status == 500
    assert "cannot unmarshal number" in answer.message
