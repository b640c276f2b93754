"""Answers that release 1.36 words differently, and parameters that it has beside those of 1.25."""

from __future__ import annotations

from typing import Any

import pytest
from support.namespaces import Space

APPLY = "application/apply-patch+yaml"


@pytest.mark.parametrize(
    ("config", "shown"),
    [
        ({"apiVersion": "v1", "kind": "Secret"}, "/v1, Kind=Secret"),
        ({"apiVersion": "apps/v2", "kind": "ConfigMap"}, "apps/v2, Kind=ConfigMap"),
        ({"apiVersion": "a/b/c", "kind": "ConfigMap"}, "/, Kind="),
        ({"apiVersion": 5, "kind": "ConfigMap"}, "/, Kind=ConfigMap"),
        ({"apiVersion": "v1"}, "/v1, Kind="),
        ({}, "/, Kind="),
    ],
)
def test_a_configuration_of_another_type(
    space_1_36: Space, config: dict[str, Any], shown: str
) -> None:
    path = space_1_36.config_maps.item("a")
    body = {**config, "metadata": {"name": "a"}}
    answer = space_1_36.client.patch(path, body, kind=APPLY, fieldManager="x")
    assert (answer.status, answer.message) == (400, f"invalid object type: {shown}")


@pytest.mark.parametrize(
    ("group", "resource", "name"),
    [("apps", "replicasets", "replicasets.apps"), ("", "replicationcontrollers", "")],
)
def test_a_scale_that_is_not_there(space_1_36: Space, group: str, resource: str, name: str) -> None:
    collection = space_1_36.collection(resource, group)
    answer = collection.client.get(collection.item("no", "scale"))
    assert answer.message == f'{name or resource} "no" not found'


def test_a_stream_of_logs_cannot_be_chosen(space_1_36: Space) -> None:
    pods = space_1_36.collection("pods")
    answer = pods.client.get(pods.item("a", "log"), stream="Stdout")
    assert answer.causes == [
        ("stream", "FieldValueForbidden", "Forbidden: may not be specified"),
    ]


def test_selectors_of_shards_are_ignored(space_1_36: Space) -> None:
    space_1_36.secrets.create("a")
    assert space_1_36.secrets.names(shardSelector="%%") == ["a"]


def test_an_unsafe_delete_is_a_plain_one(space_1_36: Space) -> None:
    space_1_36.secrets.create("a")
    query = {"ignoreStoreReadErrorWithClusterBreakingPotential": "true"}
    assert space_1_36.secrets.delete("a", **query).status == 200


def test_fields_of_slices_that_cannot_be_selected(space_1_36: Space) -> None:
    slices = space_1_36.everywhere("resourceslices", "resource.k8s.io")
    assert slices.list(fieldSelector="spec.nodeName=a,spec.driver=b").status == 200
    assert slices.list(fieldSelector="spec.pool=a").message == (
        "field label not supported for resource.k8s.io/v1, Kind=ResourceSlice: spec.pool"
    )


def test_a_template_without_a_time_of_creation(space_1_36: Space) -> None:
    containers = [{"name": "a", "image": "i"}]
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": containers}}
    created = space_1_36.collection("podtemplates").create("a", template=template)
    assert created["template"]["metadata"] == {"labels": {"a": "b"}}


def test_a_directive_with_nothing_to_act_on_is_dropped(space_1_36: Space) -> None:
    space_1_36.config_maps.create("a")
    path = space_1_36.config_maps.item("a")
    strategic = "application/strategic-merge-patch+json"
    patch = {"data": {"$patch": "replace"}, "metadata": {"labels": {"x": "1"}}}
    patched = space_1_36.client.patch(path, patch, kind=strategic)
    assert (patched.status, patched.body.get("data")) == (200, None)
    assert patched.body["metadata"]["labels"] == {"x": "1"}


def test_a_replacement_with_a_uid_is_no_creation(space_1_36: Space) -> None:
    value = {"metadata": {"name": "no", "uid": "x"}}
    assert space_1_36.secrets.put(value).status == 404
    leases = space_1_36.collection("leases", "coordination.k8s.io")
    assert leases.put(value).status == 409


def test_services_are_created_by_replacing_them(space_1_36: Space) -> None:
    services = space_1_36.collection("services")
    value = {"metadata": {"name": "a"}, "spec": {"ports": [{"port": 80}]}}
    assert services.put(value).status == 201


@pytest.mark.parametrize(
    ("version", "is_known"), [("v1alpha1", False), ("v1beta1", True), ("v1beta3", True)]
)
def test_a_version_that_is_known_but_not_served(
    space_1_36: Space, version: str, is_known: bool
) -> None:
    group = "flowcontrol.apiserver.k8s.io"
    body = {"apiVersion": f"{group}/{version}", "kind": "FlowSchema", "metadata": {"name": "a"}}
    answer = space_1_36.client.post(f"/apis/{group}/v1/flowschemas", body)
    expected = f"the API version in the data ({group}/{version}) does not match the expected"
    assert answer.status == 400
    assert answer.message.startswith(expected) is is_known


def test_an_exact_revision_that_is_not_reached_names_no_time_to_retry(space_1_36: Space) -> None:
    answer = space_1_36.secrets.list(resourceVersion=10**12, resourceVersionMatch="Exact")
    assert (answer.status, "retryAfterSeconds" in answer.body["details"]) == (504, False)


def test_a_path_below_watch_is_checked_as_a_list(space_1_36: Space) -> None:
    path = f"/api/v1/watch/namespaces/{space_1_36.name}/secrets"
    answer = space_1_36.client.get(
        path, resourceVersion="0", sendInitialEvents="true", resourceVersionMatch="NotOlderThan"
    )
    assert [message for _, _, message in answer.causes] == [
        "Forbidden: sendInitialEvents is forbidden for list"
    ]


def test_an_item_without_an_optional_key_has_owners(space_1_36: Space) -> None:
    claims = space_1_36.collection("resourceclaims", "resource.k8s.io")
    request = {"name": "r", "exactly": {"deviceClassName": "c"}}
    claims.create("a", spec={"devices": {"requests": [request]}})
    device = {"driver": "d.e", "pool": "p", "device": "d"}
    status = {"allocation": {"devices": {"results": [{"request": "r", **device}]}}}
    path = claims.item("a", "status")
    assert space_1_36.client.patch(path, {"status": status}).status == 200
    body = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": {"name": "a"}}
    body["status"] = {"devices": [{**device, "data": {"x": 1}}]}
    applied = space_1_36.client.patch(path, body, kind=APPLY, fieldManager="driver")
    assert applied.status == 200, applied.text
    (entry,) = (e for e in applied.body["metadata"]["managedFields"] if e["manager"] == "driver")
    (step,) = entry["fieldsV1"]["f:status"]["f:devices"]
    assert step == 'k:{"device":"d","driver":"d.e","pool":"p"}'


@pytest.mark.parametrize(
    ("spec", "where", "kind"),
    [
        ("x", "FlowSchema.spec", "v1.FlowSchemaSpec"),
        ({"rules": 5}, "FlowSchemaSpec.spec.rules", "[]v1.PolicyRulesWithSubjects"),
        (
            {"distinguisherMethod": {"type": 5}},
            "FlowDistinguisherMethod.spec.distinguisherMethod.type",
            "v1.FlowDistinguisherMethodType",
        ),
    ],
)
def test_errors_name_types_by_the_version_that_was_sent(
    space_1_36: Space, spec: object, where: str, kind: str
) -> None:
    schemas = space_1_36.everywhere("flowschemas", "flowcontrol.apiserver.k8s.io")
    answer = space_1_36.client.post(schemas.path, {"metadata": {"name": "a"}, "spec": spec})
    assert answer.status == 400
    assert answer.body["message"].endswith(f"into Go struct field {where} of type {kind}")


def test_refused_metadata_of_a_review_is_shown_as_json(space_1_36: Space) -> None:
    path = f"{space_1_36.base('authorization.k8s.io')}/selfsubjectaccessreviews"
    body = {"metadata": {"name": "a"}, "spec": {"resourceAttributes": {"verb": "get"}}}
    [(_, _, message)] = space_1_36.client.post(path, body, fieldManager="fm").causes
    start = 'Invalid value: {"name":"a","managedFields":[{"manager":"fm","operation":"Update",'
    assert message.startswith(start)
    assert message.endswith(
        '"f:spec":{"f:resourceAttributes":{".":{},"f:verb":{}}}}}]}: must be empty'
    )
