"""PUT: optimistic concurrency, immutable fields, and updates that create."""

from __future__ import annotations

import pytest
from support.client import Object
from support.namespaces import Space, random_word
from support.waiting import eventually

MODIFIED = (
    "the object has been modified; please apply your changes to the latest version and try again"
)


def test_an_update_replaces_the_object_and_raises_its_version(space: Space) -> None:
    config_map = space.config_maps.create("a", labels={"x": "1"}, data={"k": "v"})
    changed = space.config_maps.update({"metadata": {"name": "a"}, "data": {"l": "w"}})
    assert changed["data"] == {"l": "w"}
    assert "labels" not in changed["metadata"]
    assert int(changed["metadata"]["resourceVersion"]) > int(
        config_map["metadata"]["resourceVersion"]
    )
    assert space.config_maps.read("a") == changed


def test_the_identity_of_an_object_stays(space: Space) -> None:
    config_map = space.config_maps.create("a")
    changed = space.config_maps.update({"metadata": {"name": "a"}, "data": {"l": "w"}})
    for name in ("uid", "creationTimestamp", "namespace", "name"):
        assert changed["metadata"][name] == config_map["metadata"][name]


def test_an_update_from_the_current_version_succeeds(space: Space) -> None:
    config_map = space.config_maps.create("a")
    config_map["data"] = {"k": "v"}
    assert space.config_maps.put(config_map).status == 200


def test_an_update_from_an_old_version_is_a_conflict(space: Space) -> None:
    config_map = space.config_maps.create("a")
    space.config_maps.update({**config_map, "data": {"k": "v"}})
    answer = space.config_maps.put({**config_map, "data": {"k": "w"}})
    assert answer.status == 409
    assert answer.body == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": f'Operation cannot be fulfilled on configmaps "a": {MODIFIED}',
        "reason": "Conflict",
        "details": {"name": "a", "kind": "configmaps"},
        "code": 409,
    }
    assert space.config_maps.read("a")["data"] == {"k": "v"}


def test_a_version_of_the_future_is_a_conflict_too(space: Space) -> None:
    config_map = space.config_maps.create("a")
    config_map["metadata"]["resourceVersion"] = "999999999"
    assert space.config_maps.put({**config_map, "data": {"k": "w"}}).status == 409


@pytest.mark.parametrize("version", ["", "0", None])
def test_an_update_without_a_version_is_unconditional(space: Space, version: str | None) -> None:
    space.config_maps.create("a")
    body: Object = {"metadata": {"name": "a", "resourceVersion": version}, "data": {"k": "v"}}
    assert space.config_maps.put(body).status == 200


def test_a_version_that_is_no_version_is_refused(space: Space) -> None:
    space.config_maps.create("a")
    body: Object = {"metadata": {"name": "a", "resourceVersion": "abc"}, "data": {"k": "v"}}
    answer = space.config_maps.put(body)
    assert answer.status in (400, 422)
    assert "abc" in answer.message


def test_an_update_that_changes_nothing_keeps_the_version(space: Space) -> None:
    config_map = space.config_maps.create("a", data={"k": "v"})
    assert space.config_maps.update(config_map) == config_map
    assert space.config_maps.update({"metadata": {"name": "a"}, "data": {"k": "v"}}) == config_map
    assert space.config_maps.read("a") == config_map


def test_the_order_of_keys_is_no_change(space: Space) -> None:
    config_map = space.config_maps.create("a", data={"k": "v", "l": "w"})
    changed = space.config_maps.update({"data": {"l": "w", "k": "v"}, "metadata": {"name": "a"}})
    assert changed["metadata"]["resourceVersion"] == config_map["metadata"]["resourceVersion"]


def test_the_uid_is_a_precondition(space: Space) -> None:
    config_map = space.config_maps.create("a")
    other = "7d9ab9a4-6d6c-4d6c-8d6c-0123456789ac"
    answer = space.config_maps.put({"metadata": {"name": "a", "uid": other}})
    assert (answer.status, answer.body["reason"]) == (409, "Conflict")
    assert (
        f"Precondition failed: UID in precondition: {other}, UID in object meta:"
        f" {config_map['metadata']['uid']}"
    ) in answer.message


@pytest.mark.parametrize(("query", "root"), [("", "/registry"), ("?dryRun=All", "")])
def test_a_dry_run_names_the_key_without_its_root(space: Space, query: str, root: str) -> None:
    space.config_maps.create("a")
    body = {"metadata": {"name": "a", "uid": "x"}}
    answer = space.client.put(space.config_maps.item("a") + query, body)
    assert f"Key: {root}/configmaps/{space.name}/a, ResourceVersion: 0," in answer.message


def test_of_an_object_made_anew_the_uid_is_told_before_the_version(space: Space) -> None:
    config_map = space.config_maps.create("a")
    space.config_maps.delete("a")
    space.config_maps.create("a")
    answer = space.config_maps.put(config_map)
    assert answer.status == 409
    assert f"UID in precondition: {config_map['metadata']['uid']}" in answer.message


@pytest.mark.parametrize(
    ("field", "value", "expected"),
    [
        ("deletionTimestamp", "2001-01-01T00:00:00Z", "2001-01-01 00:00:00 +0000 UTC"),
        ("deletionGracePeriodSeconds", 7, "7"),
    ],
)
def test_server_set_fields_cannot_be_changed(
    space: Space, field: str, value: object, expected: str
) -> None:
    config_map = space.config_maps.create("a")
    config_map["metadata"][field] = value
    answer = space.config_maps.put(config_map)
    assert answer.status == 422
    assert {cause[0] for cause in answer.causes} == {f"metadata.{field}"}
    assert {cause[2] for cause in answer.causes} == {
        f"Invalid value: {expected}: field is immutable"
    }


def test_the_time_of_creation_stays_whatever_is_sent(space: Space) -> None:
    config_map = space.config_maps.create("a")
    sent = {"name": "a", "creationTimestamp": "2001-01-01T00:00:00Z"}
    changed = space.config_maps.update({"metadata": sent, "data": {"k": "v"}})
    assert changed["metadata"]["creationTimestamp"] == config_map["metadata"]["creationTimestamp"]


def test_generation_is_the_servers_count_of_changes(space: Space) -> None:
    policies = space.collection("networkpolicies", "networking.@")
    policy = policies.create("a", spec={"podSelector": {}, "policyTypes": ["Ingress"]})
    policy["metadata"]["generation"] = 99
    policy["metadata"]["labels"] = {"x": "1"}
    labelled = policies.update(policy)
    assert labelled["metadata"]["generation"] == 1
    labelled["spec"]["policyTypes"] = ["Egress"]
    assert policies.update(labelled)["metadata"]["generation"] == 2


def test_the_name_must_be_that_of_the_path(space: Space) -> None:
    space.config_maps.create("a")
    answer = space.client.put(space.config_maps.item("a"), {"metadata": {"name": "b"}})
    assert (answer.status, answer.message) == (
        400,
        "the name of the object (b) does not match the name on the URL (a)",
    )
    answer = space.client.put(space.config_maps.item("a"), {"metadata": {}})
    assert (answer.status, answer.message) == (
        400,
        "the name of the object (a based on URL) was undeterminable: name must be provided",
    )


def test_the_namespace_must_be_that_of_the_path(space: Space) -> None:
    space.config_maps.create("a")
    body: Object = {"metadata": {"name": "a", "namespace": "other"}}
    assert space.config_maps.put(body).status == 400


def test_an_update_of_nothing_is_not_found(space: Space) -> None:
    answer = space.config_maps.put({"metadata": {"name": "no"}})
    assert answer.status == 404
    assert answer.message == 'configmaps "no" not found'


def test_a_refused_update_changes_nothing(space: Space) -> None:
    config_map = space.config_maps.create("a", data={"k": "v"})
    answer = space.config_maps.put({**config_map, "data": {"bad key": "v"}})
    assert answer.status == 422
    assert space.config_maps.read("a") == config_map


UPSERTED = [
    ("endpoints", "", {}),
    ("limitranges", "", {"spec": {"limits": []}}),
    ("roles", "rbac.authorization.@", {"rules": []}),
    (
        "rolebindings",
        "rbac.authorization.@",
        {"roleRef": {"apiGroup": "rbac.authorization.@", "kind": "Role", "name": "r"}},
    ),
    ("leases", "coordination.@", {"spec": {}}),
]
NOT_UPSERTED = [
    ("configmaps", "", {}),
    ("secrets", "", {}),
    ("serviceaccounts", "", {}),
    ("resourcequotas", "", {"spec": {}}),
    ("controllerrevisions", "apps", {"revision": 1, "data": {}}),
]


def _fitting(space: Space, fields: Object) -> Object:
    if "roleRef" in fields:
        group = space.dialect.group_name(fields["roleRef"]["apiGroup"])
        return {"roleRef": {**fields["roleRef"], "apiGroup": group}}
    return fields


@pytest.mark.parametrize(("resource", "group", "fields"), UPSERTED, ids=lambda v: str(v)[:20])
def test_an_update_creates_where_the_kind_allows_it(
    space: Space, resource: str, group: str, fields: Object
) -> None:
    collection = space.collection(resource, group)
    answer = collection.put({"metadata": {"name": "new"}, **_fitting(space, fields)})
    assert answer.status == 201, answer.text
    assert answer.body["metadata"]["uid"]
    assert collection.read("new") == answer.body


@pytest.mark.both_dialects
@pytest.mark.parametrize("resource", ["clusterroles", "clusterrolebindings"])
def test_cluster_scoped_roles_are_created_by_update_too(space: Space, resource: str) -> None:
    name = random_word()
    things = space.everywhere(resource, "rbac.authorization.@")
    body: Object = {"metadata": {"name": name}}
    if resource == "clusterrolebindings":
        group = space.dialect.group_name("rbac.authorization.@")
        body["roleRef"] = {"apiGroup": group, "kind": "ClusterRole", "name": "r"}
    assert things.put(body).status == 201


def test_runtime_classes_are_created_by_update_too(space: Space) -> None:
    classes = space.everywhere("runtimeclasses", "node.@")
    name = random_word()
    assert classes.put({"metadata": {"name": name}}).causes[0][0] == "handler"
    assert classes.put({"metadata": {"name": name}, "handler": "runc"}).status == 201


@pytest.mark.parametrize(("resource", "group", "fields"), NOT_UPSERTED, ids=lambda v: str(v)[:20])
def test_an_update_does_not_create_where_the_kind_does_not_allow_it(
    space: Space, resource: str, group: str, fields: Object
) -> None:
    collection = space.collection(resource, group)
    assert collection.put({"metadata": {"name": "new"}, **fields}).status == 404


def test_an_update_that_creates_ignores_the_version(space: Space) -> None:
    body: Object = {"metadata": {"name": "new", "resourceVersion": "5"}}
    assert space.collection("endpoints").put(body).status == 201


def test_an_update_that_creates_does_not_take_a_uid(space: Space) -> None:
    uid = "7d9ab9a4-6d6c-4d6c-8d6c-0123456789ab"
    answer = space.collection("endpoints").put({"metadata": {"name": "new", "uid": uid}})
    assert answer.status == 409
    assert f"UID in precondition: {uid}, UID in object meta: " in answer.message


def test_an_update_that_creates_needs_its_namespace(space: Space) -> None:
    answer = space.client.put(
        "/api/v1/namespaces/no-such-place/endpoints/a", {"metadata": {"name": "a"}}
    )
    assert (answer.status, answer.message) == (404, 'namespaces "no-such-place" not found')


CONDITIONAL = [
    ("leases", "coordination.@", True, {"spec": {}}),
    ("poddisruptionbudgets", "policy", True, {"spec": {}}),
    ("csidrivers", "storage.@", False, {"spec": {}}),
    ("runtimeclasses", "node.@", False, {"handler": "h"}),
    ("validatingwebhookconfigurations", "admissionregistration.@", False, {}),
]


@pytest.mark.parametrize(
    ("resource", "group", "namespaced", "fields"), CONDITIONAL, ids=lambda v: str(v)[:20]
)
def test_some_kinds_must_be_updated_from_a_version(
    space: Space, resource: str, group: str, namespaced: bool, fields: Object
) -> None:
    name = random_word()
    things = space.collection(resource, group) if namespaced else space.everywhere(resource, group)
    things.create(name, **fields)
    for version in ("", "0"):
        answer = things.put({"metadata": {"name": name, "resourceVersion": version}, **fields})
        assert answer.status == 422
        assert answer.causes == [
            (
                "metadata.resourceVersion",
                "FieldValueInvalid",
                "Invalid value: 0x0: must be specified for an update",
            )
        ]
    # A controller may write its status meanwhile.
    eventually(lambda: things.put(things.read(name)).status == 200, "the version counts")


def test_a_status_update_changes_the_status_and_metadata_only(space: Space) -> None:
    quotas = space.collection("resourcequotas")
    quota = quotas.create("a", spec={"hard": {"pods": "5"}}, status={"hard": {"pods": "9"}})
    assert "hard" not in quota.get("status", {})
    body = {
        "metadata": {"name": "a", "labels": {"x": "1"}},
        "spec": {"hard": {"pods": "7"}},
        "status": {"hard": {"pods": "5"}, "used": {"pods": "1"}},
    }
    answer = space.client.put(quotas.item("a", "status"), body)
    assert answer.status == 200, answer.text
    assert answer.body["status"] == body["status"]
    assert answer.body["spec"] == {"hard": {"pods": "5"}}
    assert answer.body["metadata"]["labels"] == {"x": "1"}


def test_an_update_does_not_change_the_status(space: Space) -> None:
    quotas = space.collection("resourcequotas")
    quota = quotas.create("a", spec={"hard": {"pods": "5"}})
    quota["status"] = {"hard": {"pods": "5"}}
    del quota["metadata"]["resourceVersion"]  # the quota is counted meanwhile
    changed = space.client.put(quotas.item("a", "status"), quota).body
    del changed["metadata"]["resourceVersion"]
    changed["spec"]["hard"]["pods"] = "6"
    changed["status"] = {"hard": {"pods": "8"}}
    updated = quotas.update(changed)
    assert updated["status"]["hard"]["pods"] in ("5", "6")
    assert updated["spec"]["hard"] == {"pods": "6"}


def test_a_status_can_be_read_and_is_not_deleted_or_created(space: Space) -> None:
    quotas = space.collection("resourcequotas")
    quota = quotas.create("a", spec={"hard": {"pods": "5"}})
    path = quotas.item("a", "status")
    assert space.client.get(path).body["metadata"]["uid"] == quota["metadata"]["uid"]
    assert space.client.delete(path).status == 405
    assert space.client.post(path, {}).status == 405


def test_a_status_update_obeys_the_version(space: Space) -> None:
    quotas = space.collection("resourcequotas")
    quota = quotas.create("a", spec={"hard": {"pods": "5"}})
    assert quotas.patch("a", {"metadata": {"labels": {"x": "1"}}}).status == 200
    quota["status"] = {"hard": {"pods": "5"}}
    assert space.client.put(quotas.item("a", "status"), quota).status == 409


def test_a_status_of_nothing_is_not_found(space: Space) -> None:
    path = space.collection("resourcequotas").item("no", "status")
    answer = space.client.put(path, {"metadata": {"name": "no"}})
    assert (answer.status, answer.message) == (404, 'resourcequotas "no" not found')


def test_a_kind_without_status_has_no_such_path(space: Space) -> None:
    space.config_maps.create("a")
    answer = space.client.get(space.config_maps.item("a", "status"))
    assert (answer.status, answer.message) == (
        404,
        "the server could not find the requested resource",
    )
