"""POST: names, fields set by the server, and refusals."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from support.namespaces import Space
from support.process import ServerProcess

UID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")


def test_a_created_object_is_answered_as_it_is_stored(space: Space) -> None:
    secret = space.secrets.create("a", data={"k": "dg=="})
    assert (secret["kind"], secret["apiVersion"]) == ("Secret", "v1")
    assert space.secrets.read("a") == secret


def test_the_server_sets_uid_creation_time_and_version(space: Space) -> None:
    metadata = space.secrets.create("a")["metadata"]
    assert UID.fullmatch(metadata["uid"])
    assert TIME.fullmatch(metadata["creationTimestamp"])
    assert metadata["resourceVersion"].isdigit()
    assert metadata["namespace"] == space.name


def test_what_clients_send_for_them_does_not_count(space: Space) -> None:
    sent = {
        "uid": "7d9ab9a4-6d6c-4d6c-8d6c-0123456789ab",
        "creationTimestamp": "2001-01-01T00:00:00Z",
        "deletionTimestamp": "2001-01-01T00:00:00Z",
        "deletionGracePeriodSeconds": 5,
        "selfLink": "/x",
        "generation": 7,
    }
    metadata = space.secrets.create("a", metadata=sent)["metadata"]
    assert metadata["uid"] != sent["uid"]
    assert not metadata["creationTimestamp"].startswith("2001")
    for name in ("deletionTimestamp", "deletionGracePeriodSeconds", "selfLink"):
        assert name not in metadata


def test_the_first_generation_is_1_where_a_kind_counts_them(space: Space) -> None:
    spec = {
        "selector": {"matchLabels": {"a": "b"}},
        "template": {
            "metadata": {"labels": {"a": "b"}},
            "spec": {"containers": [{"name": "c", "image": "i"}]},
        },
    }
    deployment = space.collection("deployments", "apps").create(
        "a", metadata={"generation": 7}, spec=spec
    )
    assert deployment["metadata"]["generation"] == 1


def test_a_name_is_unique_in_its_namespace(space: Space) -> None:
    space.secrets.create("a")
    answer = space.client.post(space.secrets.path, {"metadata": {"name": "a"}})
    assert answer.status == 409
    assert answer.body == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": 'secrets "a" already exists',
        "reason": "AlreadyExists",
        "details": {"name": "a", "kind": "secrets"},
        "code": 409,
    }
    Space(space.server, space.client).secrets.create("a")


def test_a_deleted_name_can_be_used_again(space: Space) -> None:
    first = space.secrets.create("a")
    space.secrets.remove("a")
    second = space.secrets.create("a")
    assert second["metadata"]["uid"] != first["metadata"]["uid"]
    assert int(second["metadata"]["resourceVersion"]) > int(first["metadata"]["resourceVersion"])


def test_a_name_is_generated_from_a_stem_and_five_characters(space: Space) -> None:
    answer = space.client.post(space.secrets.path, {"metadata": {"generateName": "stem-"}})
    assert answer.status == 201
    metadata = answer.body["metadata"]
    assert re.fullmatch(r"stem-[bcdfghjklmnpqrstvwxz2456789]{5}", metadata["name"])
    assert metadata["generateName"] == "stem-"


def test_a_given_name_wins_over_a_generated_one(space: Space) -> None:
    body = {"metadata": {"name": "a", "generateName": "stem-"}}
    assert space.client.post(space.secrets.path, body).body["metadata"]["name"] == "a"


def test_a_long_stem_is_cut_so_that_the_name_fits(space: Space) -> None:
    body = {"metadata": {"generateName": "x" * 80}}
    name = space.client.post(space.secrets.path, body).body["metadata"]["name"]
    assert len(name) == 63
    assert name.startswith("x" * 58)


def test_generated_names_differ(space: Space) -> None:
    body = {"metadata": {"generateName": "a-"}}
    names = {
        space.client.post(space.secrets.path, body).body["metadata"]["name"] for _ in range(20)
    }
    assert len(names) == 20


def test_a_collision_of_generated_names_is_tried_again(
    fresh_server: Callable[..., ServerProcess],
) -> None:
    prelude = (
        "import random;"
        " names = iter('same same same other'.split() + [f'n{i}' for i in range(1000)]);"
        " random.choices = lambda letters, k: [next(names)]"
    )
    server = fresh_server(prelude=prelude)
    space = Space(server, server.client())
    body = {"metadata": {"generateName": "a-"}}
    first = space.client.post(space.secrets.path, body)
    second = space.client.post(space.secrets.path, body)
    assert [answer.body["metadata"]["name"] for answer in (first, second)] == ["a-same", "a-other"]


def test_too_many_collisions_are_a_conflict(fresh_server: Callable[..., ServerProcess]) -> None:
    prelude = "import random; random.choices = lambda letters, k: ['x']"
    server = fresh_server(prelude=prelude)
    space = Space(server, server.client())
    body = {"metadata": {"generateName": "a-"}}
    assert space.client.post(space.secrets.path, body).status == 201
    answer = space.client.post(space.secrets.path, body)
    assert (answer.status, answer.body["reason"]) == (409, "AlreadyExists")
    assert answer.message == (
        'secrets "a-x" already exists, the server was not able to generate a unique name for the'
        " object"
    )


def test_a_name_is_required(space: Space) -> None:
    answer = space.client.post(space.secrets.path, {"metadata": {}})
    assert answer.status == 422
    assert answer.causes == [
        (
            "metadata.name",
            "FieldValueRequired",
            "Required value: name or generateName is required",
        )
    ]


@pytest.mark.parametrize("name", ["Bad", "-a", "a_b", "a/b", "a%b", ".", "..", "a" * 254, "a b"])
def test_a_bad_name_is_invalid(space: Space, name: str) -> None:
    answer = space.client.post(space.secrets.path, {"metadata": {"name": name}})
    assert (answer.status, answer.body["reason"]) == (422, "Invalid")
    assert {field for field, _, _ in answer.causes} == {"metadata.name"}


def test_a_version_cannot_be_chosen(space: Space) -> None:
    body = {"metadata": {"name": "a", "resourceVersion": "5"}}
    answer = space.client.post(space.secrets.path, body)
    assert answer.status == 400
    assert "resourceVersion should not be set on objects to be created" in answer.message


def test_a_chosen_version_matters_only_to_the_store(space: Space) -> None:
    body = {"metadata": {"name": "a", "resourceVersion": "5"}}
    answer = space.client.post(f"{space.secrets.path}?dryRun=All", body)
    assert (answer.status, answer.body["metadata"]["resourceVersion"]) == (201, "5")
    body["metadata"]["name"] = "A"
    assert space.client.post(space.secrets.path, body).status == 422


@pytest.mark.parametrize("version", ["0", "latest"])
def test_what_is_no_version_is_ignored_in_a_new_object(space: Space, version: str) -> None:
    body = {"metadata": {"name": "a", "resourceVersion": version}}
    answer = space.client.post(space.secrets.path, body)
    assert answer.status == 201
    assert answer.body["metadata"]["resourceVersion"] != version


def test_kind_and_version_may_be_left_out_or_must_fit(space: Space) -> None:
    for body in (
        {"kind": "Secret"},
        {"apiVersion": "v1"},
        {"kind": "Secret", "apiVersion": "v1"},
        {},
    ):
        answer = space.client.post(space.secrets.path, {**body, "metadata": {"generateName": "a-"}})
        assert answer.status == 201, answer.text


def test_another_kind_is_refused(space: Space) -> None:
    body = {"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": "a"}}
    answer = space.client.post(space.secrets.path, body)
    assert answer.status == 400
    assert answer.message == (
        'ConfigMap in version "v1" cannot be handled as a Secret: converting (v1.ConfigMap) to'
        " (core.Secret): unknown conversion"
    )


@pytest.mark.parametrize(
    ("version", "kind"),
    [
        ("v1", "List"),
        ("v1", "ConfigMapList"),
        ("apps/v1", "DeploymentList"),
        ("apps/v1", "DeleteOptions"),
        ("nowhere/v1", "Status"),
    ],
)
def test_a_type_that_no_resource_is_of_is_told_from_an_unknown_one(
    space: Space, version: str, kind: str
) -> None:
    answer = space.client.post(space.secrets.path, {"kind": kind, "apiVersion": version})
    assert answer.status == 400
    assert answer.message == (
        f'{kind} in version "v1" cannot be handled as a Secret: converting (v1.{kind}) to'
        " (core.Secret): unknown conversion"
    )


def test_an_unknown_kind_or_version_is_refused(space: Space) -> None:
    for kind, version in (("Nonsense", "v1"), ("Secret", "apps/v1"), ("Secret", "v7")):
        body = {"kind": kind, "apiVersion": version, "metadata": {"name": "a"}}
        answer = space.client.post(space.secrets.path, body)
        assert answer.status == 400
        assert f'no kind "{kind}" is registered for version "{version}"' in answer.message


def test_services_of_apis_know_no_types_of_other_groups(space: Space) -> None:
    services = space.everywhere("apiservices", "apiregistration.@")
    body = {"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": "a"}}
    answer = space.client.post(services.path, body)
    assert answer.status == 400
    assert answer.message == (
        'ConfigMap in version "v1" cannot be handled as a APIService: no kind "ConfigMap" is'
        ' registered for version "v1" in scheme'
        ' "k8s.io/kube-aggregator/pkg/apiserver/scheme/scheme.go:32"'
    )
    body = {"kind": "APIServiceList", "apiVersion": services.path[6:].rpartition("/")[0]}
    assert "unknown conversion" in space.client.post(services.path, body).message


@pytest.mark.parametrize("version", ["/v1", "/", ""])
def test_an_empty_group_in_front_of_the_version_is_the_core_group(
    space: Space, version: str
) -> None:
    body = {"kind": "Secret", "apiVersion": version, "metadata": {"name": "a"}}
    assert space.client.post(space.secrets.path, body).status == 201


def test_a_group_without_a_version_means_the_version_of_the_path(space: Space) -> None:
    body = {"kind": "PodDisruptionBudget", "apiVersion": "policy/", "metadata": {"name": "a"}}
    budgets = space.collection("poddisruptionbudgets", "policy")
    assert space.client.post(budgets.path, body).status == 201


def test_a_version_that_is_none_is_told(space: Space) -> None:
    body = {"kind": "Secret", "apiVersion": "a/b/c", "metadata": {"name": "a"}}
    answer = space.client.post(space.secrets.path, body)
    assert answer.status == 400
    assert answer.message.startswith(
        "the object provided is unrecognized (must be of type Secret): unexpected GroupVersion"
        " string: a/b/c ("
    )
    other = space.client.post(space.secrets.path, {**body, "apiVersion": "v1/"})
    assert other.status == 400
    assert other.message.startswith(
        "Secret in version \"\" cannot be handled as a Secret: Object 'apiVersion' is missing in"
    )


def test_the_namespace_is_that_of_the_path(space: Space) -> None:
    body = {"metadata": {"name": "a", "namespace": "other"}}
    answer = space.client.post(space.secrets.path, body)
    assert answer.status == 400
    assert answer.message == (
        "the namespace of the provided object does not match the namespace sent on the request"
    )


def test_a_missing_namespace_is_not_found(space: Space) -> None:
    answer = space.client.post(
        "/api/v1/namespaces/no-such-place/secrets", {"metadata": {"name": "a"}}
    )
    assert (answer.status, answer.message) == (404, 'namespaces "no-such-place" not found')


def test_the_missing_namespace_comes_before_the_bad_name(space: Space) -> None:
    answer = space.client.post(
        "/api/v1/namespaces/no-such-place/secrets", {"metadata": {"name": "Bad Name"}}
    )
    assert answer.status == 404


def test_what_cannot_be_decoded_comes_before_the_missing_namespace(space: Space) -> None:
    answer = space.client.post("/api/v1/namespaces/no-such-place/secrets", {"metadata": 5})
    assert answer.status == 400


def test_a_collection_across_namespaces_takes_no_objects(space: Space) -> None:
    assert space.client.post("/api/v1/secrets", {"metadata": {"name": "a"}}).status == 405


def test_an_item_path_takes_no_new_object(space: Space) -> None:
    assert space.client.post(space.secrets.item("a"), {"metadata": {"name": "a"}}).status == 405


def test_repeated_owners_are_dropped_with_a_warning(space: Space) -> None:
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "n", "uid": "u"}
    body = {"metadata": {"name": "a", "ownerReferences": [owner, owner]}}
    answer = space.client.post(space.secrets.path, body)
    assert answer.body["metadata"]["ownerReferences"] == [owner]
    [warning] = answer.warnings
    assert warning.startswith('299 - ".metadata.ownerReferences contains duplicate entries;')
    assert warning.endswith('duplicate UID(s) observed: u"')


def test_a_spec_that_nests_deeply_is_refused(space: Space) -> None:
    name = '{"a":' * 300 + "1" + "}" * 300
    body = f'{{"metadata":{{"name":"a"}},"spec":{{"containers":[{{"name":{name}}}]}}}}'
    path = f"/api/v1/namespaces/{space.name}/pods"
    assert space.client.post(path, body).status == 400


def test_one_owner_at_most_is_the_controller(space: Space) -> None:
    owners = [
        {"apiVersion": "v1", "kind": "K", "name": name, "uid": name, "controller": True}
        for name in "abc"
    ]
    body = {"metadata": {"name": "a", "ownerReferences": owners}}
    causes = space.client.post(space.secrets.path, body).causes
    assert [field for field, _, _ in causes] == ["metadata.ownerReferences"] * 2
    messages = [message for _, _, message in causes]
    text = "Invalid value: []v1.OwnerReference{v1.OwnerReference{APIVersion:"
    assert all(message.startswith(text) for message in messages)
    ends = [message.rpartition(" references for ")[2] for message in messages]
    assert ends == ["a and b", "a and c"]


def test_repeated_owners_of_a_patch_are_warned_of_as_admitted_ones(space: Space) -> None:
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "n", "uid": "u"}
    space.secrets.create("a")
    answer = space.secrets.patch("a", {"metadata": {"ownerReferences": [owner, owner]}})
    assert answer.body["metadata"]["ownerReferences"] == [owner]
    [warning] = answer.warnings
    assert "contains duplicate entries after mutating admission happens; API" in warning


def test_metadata_is_validated_with_all_its_causes_in_order(space: Space) -> None:
    body = {
        "metadata": {
            "name": "Bad",
            "labels": {"bad key": "ok", "ok": "-bad"},
            "finalizers": ["a b"],
            "ownerReferences": [{}],
        }
    }
    answer = space.client.post(space.secrets.path, body)
    assert answer.status == 422
    assert [field for field, _, _ in answer.causes] == [
        "metadata.name",
        "metadata.labels",
        "metadata.labels",
        "metadata.ownerReferences.apiVersion",
        "metadata.ownerReferences.kind",
        "metadata.ownerReferences.name",
        "metadata.ownerReferences.uid",
        "metadata.finalizers",
        "metadata.finalizers[0]",
    ]


def test_annotations_have_a_size_limit(space: Space) -> None:
    body = {"metadata": {"name": "a", "annotations": {"k": "x" * 262_144}}}
    answer = space.client.post(space.secrets.path, body)
    assert answer.causes == [
        ("metadata.annotations", "FieldValueTooLong", "Too long: must have at most 262144 bytes")
    ]


def test_only_the_first_yaml_document_is_read(space: Space) -> None:
    text = "metadata: {name: a}\n---\nmetadata: {name: b}\n"
    answer = space.client.post(
        space.secrets.path, text, headers={"Content-Type": "application/yaml"}
    )
    assert (answer.status, answer.body["metadata"]["name"]) == (201, "a")
    assert space.secrets.names() == ["a"]


def test_the_case_of_a_media_type_does_not_matter(space: Space) -> None:
    headers = {"Content-Type": "Application/JSON"}
    answer = space.client.post(space.secrets.path, {"metadata": {"name": "a"}}, headers=headers)
    assert answer.status == 201
