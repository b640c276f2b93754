"""Definitions: their names, their conditions, and when they are served."""

from __future__ import annotations

from base64 import b64encode
from hashlib import sha256
from time import perf_counter

import pytest
from support.definitions import Kind, version
from support.namespaces import Space
from support.pace import in_time
from support.process import FreshServer
from support.waiting import eventually

from fairlead.codec.protobuf import to_message
from fairlead.codec.types.builtin import BuiltinTypes
from fairlead.resources.registry import Resources

APPLY = "application/apply-patch+yaml"


def test_a_definition_is_established_and_served_at_once(space: Space) -> None:
    kind = Kind(space)
    assert kind.post().status == 201
    started = perf_counter()
    kind.wait()
    assert in_time(perf_counter() - started, 1)
    message = kind.brief_condition("Established")
    assert message == ("True", "InitialNamesAccepted", "the initial names have been accepted")
    assert kind.brief_condition("NamesAccepted") == ("True", "NoConflicts", "no conflicts found")


def test_the_accepted_names_are_those_that_were_asked_for(space: Space) -> None:
    kind = Kind(space, names={"shortNames": ["wd"], "categories": ["all"]}).install()
    names = kind.definition()["status"]["acceptedNames"]
    assert names == {
        "plural": "widgets",
        "singular": "widget",
        "shortNames": ["wd"],
        "kind": "Widget",
        "listKind": "WidgetList",
        "categories": ["all"],
    }


def test_a_kind_that_another_definition_has_is_a_conflict_until_that_goes(space: Space) -> None:
    first = Kind(space, names={"shortNames": ["wd"]}).install()
    second = Kind(space, plural="gadgets", names={"shortNames": ["wd", "gd"]})
    assert second.post().status == 201
    eventually(lambda: second.condition("NamesAccepted") is not None, "it is so")
    assert second.brief_condition("NamesAccepted") == (
        "False",
        "ListKindConflict",
        '"WidgetList" is already in use',
    )
    assert second.brief_condition("Established") == (
        "False",
        "NotAccepted",
        "not all names are accepted",
    )
    assert second.definition()["status"]["acceptedNames"] == {"plural": "gadgets", "kind": ""}
    assert space.client.get(second.collection().path).status == 404
    assert first.remove().status == 200
    eventually(lambda: second.has("Established", "True"), "it is so")
    second.wait()


@pytest.mark.both_dialects
def test_a_name_of_a_built_in_resource_of_the_group_is_a_conflict(space: Space) -> None:
    group = space.dialect.group_name("networking.@")
    kind = Kind(space, plural="ingresses", kind="Other", group=group)
    domain = space.dialect.label("api-approved.@")
    kind.body["metadata"]["annotations"] = {domain: "unapproved, a test"}
    assert kind.post().status == 201
    eventually(lambda: kind.condition("NamesAccepted") is not None, "it is so")
    assert kind.brief_condition("NamesAccepted") == (
        "False",
        "PluralConflict",
        '"ingresses" is already in use',
    )
    path = f"/apis/{group}/v1/namespaces/{space.name}/ingresses"
    assert space.client.get(path).body["kind"] == "IngressList"
    assert kind.remove().status == 200


@pytest.mark.both_dialects
def test_definitions_of_protected_groups_say_whether_they_are_approved(space: Space) -> None:
    group = f"{space.name}.{space.dialect.group_domain}"
    kind = Kind(space, group=group)
    key = space.dialect.label("api-approved.@")
    kind.body["metadata"]["annotations"] = {key: "https://example.com/approved"}
    kind.install()
    approved = "KubernetesAPIApprovalPolicyConformant"
    text = "approved in https://example.com/approved"
    assert kind.brief_condition(approved) == ("True", "ApprovedAnnotation", text)
    kind.change({"metadata": {"annotations": {key: "unapproved, a trial"}}})
    eventually(lambda: kind.has(approved, "False"), "it is so")
    text = 'not approved: "unapproved, a trial"'
    assert kind.brief_condition(approved) == ("False", "UnapprovedAnnotation", text)
    kind.remove()


def test_a_version_that_is_added_is_served_and_one_that_is_dropped_is_not(space: Space) -> None:
    kind = Kind(space).install()
    kind.set_versions(version("v1"), version("v2", storage=False))
    kind.wait("v2")
    kind.set_versions(version("v1"), version("v2", storage=False, served=False))
    kind.wait("v2", status=404)
    assert space.client.get(kind.collection().path).status == 200


def test_the_stored_versions_are_remembered(space: Space) -> None:
    kind = Kind(space).install()
    kind.set_versions(version("v1", storage=False), version("v2"))
    assert kind.definition()["status"]["storedVersions"] == ["v1", "v2"]


def test_only_watches_of_the_version_that_goes_end(space: Space) -> None:
    kind = Kind(space, version("v1"), version("v2", storage=False)).install()
    old, new = kind.collection("v1"), kind.collection("v2")
    with old.watch(timeoutSeconds=20) as staying, new.watch(timeoutSeconds=20) as going:
        kind.set_versions(version("v1"), version("v2", storage=False, served=False))
        assert going.rest() == []
        kind.create("a", spec={"size": 1})
        assert staying.next().brief == ("ADDED", "a")


def test_a_change_of_the_schema_disturbs_no_watch(space: Space) -> None:
    kind = Kind(space).install()
    with kind.collection().watch(timeoutSeconds=20) as watch:
        changed = version()
        spec = changed["schema"]["openAPIV3Schema"]["properties"]["spec"]
        spec["properties"]["color"]["default"] = "red"
        kind.set_versions(changed)
        kind.create("a", spec={"size": 1})
        assert watch.next().object["spec"] == {"size": 1, "color": "red"}


def test_objects_of_before_get_the_defaults_of_now(space: Space) -> None:
    kind = Kind(space).install()
    kind.create("a", spec={"size": 1})
    changed = version()
    changed["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]["color"]["default"] = (
        "red"
    )
    kind.set_versions(changed)
    eventually(lambda: kind.collection().read("a")["spec"].get("color") == "red", "it is so")
    assert kind.collection().list().body["items"][0]["spec"] == {"size": 1, "color": "red"}


@pytest.mark.both_dialects
def test_a_deleted_definition_takes_its_objects_along(space: Space) -> None:
    kind = Kind(space).install()
    kind.create("a")
    answer = kind.remove()
    assert answer.status == 200
    finalizer = space.dialect.group_name("customresourcecleanup.apiextensions.@")
    assert answer.body["metadata"]["finalizers"] == [finalizer]
    eventually(lambda: kind.definitions.get(kind.name).status == 404, "it is so")
    assert space.client.get(kind.collection().path).status == 404
    kind.install()
    assert kind.collection().names() == []


def test_a_definition_waits_for_the_finalizers_of_its_objects(space: Space) -> None:
    kind = Kind(space).install()
    kind.create("a", metadata={"finalizers": ["example.com/held"]})
    assert kind.remove().status == 200
    in_progress = ("True", "InstanceDeletionInProgress", "CustomResource deletion is in progress")
    eventually(lambda: kind.brief_condition("Terminating") == in_progress, "it is so")
    refused = kind.client.post(kind.collection().path, kind.value("b"))
    assert refused.status == 405
    assert refused.message == "create not allowed while custom resource definition is terminating"
    assert kind.collection().patch("a", {"metadata": {"finalizers": None}}).status == 200
    eventually(lambda: kind.definitions.get(kind.name).status == 404, "it is so")


def test_definitions_are_served_when_the_server_is_ready_again(fresh_server: FreshServer) -> None:
    server = fresh_server()
    client = server.client()
    kind = Kind(Space(server, client), version("v1"), version("v2", storage=False)).install()
    kind.create("a", spec={"size": 3})
    server.stop()
    server.start()
    client.close()
    for name in ("v1", "v2"):
        kind.space.client = kind.client = server.client()
        assert kind.collection(name).read("a")["spec"] == {"size": 3}


def test_a_remembered_apply_is_worked_out_again_under_another_schema(space: Space) -> None:
    kind = Kind(space).install()
    path = kind.collection().item("a")
    config = kind.value("a", spec={"size": 1})
    for _ in range(2):
        kind.client.patch(path, config, kind=APPLY, fieldManager="m")
    changed = version()
    changed["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]["color"]["default"] = (
        "red"
    )
    kind.set_versions(changed)
    answer = kind.client.patch(path, config, kind=APPLY, fieldManager="m")
    assert answer.body["spec"] == {"size": 1, "color": "red"}


@pytest.mark.both_dialects
@pytest.mark.parametrize("version_name", ["v1", "v9"])
def test_who_writes_the_status_gets_no_built_in_objects(space: Space, version_name: str) -> None:
    group = space.dialect.group_name("networking.@")
    ingresses = space.collection("ingresses", "networking.@")
    backend = {"service": {"name": "a", "port": {"number": 80}}}
    ingresses.create("a", spec={"defaultBackend": backend})
    kind = Kind(space, plural="ingresses", kind="Other", group=group)
    kind.body["spec"]["versions"] = [version(version_name)]
    annotation = space.dialect.label("api-approved.@")
    kind.body["metadata"]["annotations"] = {annotation: "unapproved, a test"}
    assert kind.post().status == 201
    names = {"plural": "ingresses", "kind": "Other", "listKind": "OtherList", "singular": "other"}
    condition = {"type": "Established", "status": "True", "reason": "R", "message": "m"}
    status = {"acceptedNames": names, "conditions": [condition]}
    path = f"{kind.definitions.path}/{kind.name}/status"
    assert kind.client.patch(path, {"status": status}).status == 200
    assert ingresses.list().body["kind"] == "IngressList"
    assert space.client.get(f"/apis/{group}/v9/ingresses").status == 404
    kind.remove()
    eventually(lambda: kind.definitions.get(kind.name).status == 404, "the definition is gone")
    assert ingresses.list().names == ["a"]


def test_many_definitions_that_come_at_once_are_all_served(space: Space) -> None:
    kinds = [Kind(space, plural=f"things{n}", kind=f"Thing{n}") for n in range(20)]
    for kind in kinds:
        assert kind.post().status == 201
    for kind in kinds:
        kind.wait()
    listed = space.client.get(f"/apis/{kinds[0].group}/v1").body["resources"]
    assert len(listed) == 20
    for kind in kinds:
        kind.remove()
    gone = f"/apis/{kinds[0].group}"
    eventually(lambda: space.client.get(gone).status == 404, "the group is gone")


def test_discovery_tells_in_which_version_objects_are_kept(space: Space) -> None:
    kind = Kind(space)
    assert kind.post().status == 201
    kind.wait()
    [resource] = space.client.get(f"/apis/{kind.group}/v1").body["resources"]
    digest = sha256(f"{kind.group}/v1/{resource['kind']}".encode()).digest()
    assert resource["storageVersionHash"] == b64encode(digest[:8]).decode()
    kind.remove()


@pytest.mark.both_dialects
def test_a_definition_in_protobuf_keeps_the_schemas_of_lists_and_maps(space: Space) -> None:
    texts = {"type": "string"}
    fields = {
        "names": {"type": "array", "items": texts},
        "colors": {"type": "object", "additionalProperties": texts},
    }
    schema = {"openAPIV3Schema": {"type": "object", "properties": fields}}
    kind = Kind(space, version(schema=schema, subresources={"status": {}}))
    resources = Resources(space.dialect, BuiltinTypes(space.dialect))
    group = space.dialect.group_name("apiextensions.@")
    head = {"apiVersion": f"{group}/v1", "kind": "CustomResourceDefinition"}
    struct = resources.struct_of(head["apiVersion"], head["kind"])
    assert struct is not None
    headers = {"Content-Type": space.dialect.protobuf_media_type}
    body = to_message(struct, {**head, **kind.body})
    assert kind.client.post(kind.definitions.path, body, headers=headers).status == 201
    kind.wait()
    created = kind.definition()["spec"]["versions"][0]
    assert (created["schema"], created["subresources"]) == (schema, {"status": {}})
    kind.create("a", names=["one"], colors={"sky": "blue"})
