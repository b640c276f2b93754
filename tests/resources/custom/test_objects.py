"""Objects of custom kinds: all requests of clients."""

from __future__ import annotations

import json

import pytest
from support.client import YAML, Object
from support.definitions import Kind, version
from support.namespaces import Space
from support.waiting import eventually

STRATEGIC = "application/strategic-merge-patch+json"
APPLY = "application/apply-patch+yaml"


@pytest.fixture
def kind(space: Space) -> Kind:
    subresources = {
        "status": {},
        "scale": {
            "specReplicasPath": ".spec.replicas",
            "statusReplicasPath": ".status.replicas",
            "labelSelectorPath": ".status.selector",
        },
    }
    return Kind(space, version(subresources=subresources)).install()


@pytest.fixture
def plain(space: Space) -> Kind:
    return Kind(space).install()


def test_items_of_a_list_say_what_they_are(plain: Kind) -> None:
    plain.create("a", spec={"size": 1})
    body = plain.collection().list().body
    assert (body["kind"], body["apiVersion"]) == ("WidgetList", f"{plain.group}/v1")
    assert [item["kind"] for item in body["items"]] == ["Widget"]
    assert body["metadata"]["continue"] == ""


def test_a_list_in_yaml_is_the_same_as_in_json(plain: Kind) -> None:
    plain.create("a", spec={"size": 1})
    collection = plain.collection()
    answer = plain.client.get(collection.path, headers={"Accept": YAML})
    assert answer.body["items"] == collection.list().body["items"]


def test_a_page_says_how_to_go_on(plain: Kind) -> None:
    for name in "abc":
        plain.create(name)
    first = plain.collection().list(limit=2)
    token = first.body["metadata"]["continue"]
    assert token
    assert plain.collection().names(limit=2, continue_=token) == ["c"]


@pytest.mark.both_dialects
def test_there_is_no_binary_form(plain: Kind, space: Space) -> None:
    created = plain.create("a")
    binary = space.dialect.protobuf_media_type
    path = plain.collection().item("a")
    assert plain.client.get(path, headers={"Accept": binary}).status == 406
    answer = plain.client.get(path, headers={"Accept": f"{binary},application/json"})
    assert answer.body == created
    sent = plain.client.post(plain.collection().path, b"k8s\x00", headers={"Content-Type": binary})
    assert sent.status == 415


@pytest.mark.both_dialects
@pytest.mark.parametrize("accept", ["text/html", "application/json;as=Chair", "a/b,c/d"])
def test_406_names_every_form(plain: Kind, space: Space, accept: str) -> None:
    plain.create("a")
    for path in (plain.collection().path, plain.collection().item("a")):
        answer = plain.client.get(path, headers={"Accept": accept})
        assert answer.status == 406
        assert answer.message == (
            "only the following media types are accepted: application/json, application/yaml,"
            f" {space.dialect.protobuf_media_type}"
        )


@pytest.mark.parametrize("method", ["HEAD", "POST", "DELETE"])
def test_any_method_tells_what_is_in_a_group_of_custom_kinds(plain: Kind, method: str) -> None:
    assert plain.client.request(method, f"/apis/{plain.group}/v1").status == 200


def test_any_form_of_an_application_is_json(plain: Kind) -> None:
    created = plain.create("a")
    accept = {"Accept": "application/*"}
    assert plain.client.get(plain.collection().item("a"), headers=accept).body == created


@pytest.mark.both_dialects
def test_metadata_alone_can_be_asked_for(plain: Kind, space: Space) -> None:
    plain.create("a", spec={"size": 1})
    accept = f"application/json;as=PartialObjectMetadata;v=v1;g={space.dialect.meta_group}"
    body = plain.client.get(plain.collection().item("a"), headers={"Accept": accept}).body
    assert body["kind"] == "PartialObjectMetadata"
    assert "spec" not in body


def test_a_write_of_an_object_needs_its_name(plain: Kind) -> None:
    path = plain.collection().path
    for answer in (
        plain.client.put(path, plain.value("a")),
        plain.client.patch(path, {"spec": {}}),
    ):
        assert (answer.status, answer.message) == (400, "name must be provided")
    assert plain.client.patch(path, {}, kind=STRATEGIC).status == 415


def test_no_object_is_made_below_a_name(plain: Kind) -> None:
    assert plain.client.post(plain.collection().item("other"), plain.value("a")).status == 405


def test_heads_are_read_as_what_they_are_of(plain: Kind) -> None:
    plain.create("a")
    collection = plain.collection()
    for path, status in (
        (collection.path, 200),
        (collection.item("a"), 200),
        (collection.item("b"), 404),
    ):
        answer = plain.client.request("HEAD", path)
        assert (answer.status, answer.raw) == (status, b"")
        assert answer.headers["Content-Type"] == "application/json"


def test_what_is_no_verb_is_not_supported(plain: Kind) -> None:
    answer = plain.client.request("OPTIONS", plain.collection().path)
    kind = f"widgets.{plain.group}"
    assert answer.status == 405
    assert answer.message == f' is not supported on resources of kind "{kind}"'


def test_verbs_of_former_times_are_not_supported(plain: Kind) -> None:
    answer = plain.client.get(plain.collection().item("a").replace("/v1/", "/v1/proxy/"))
    assert answer.status == 405
    assert answer.message == f'proxy is not supported on resources of kind "widgets.{plain.group}"'


def test_a_strategic_patch_is_refused_with_what_is_accepted(plain: Kind) -> None:
    plain.create("a")
    answer = plain.client.patch(plain.collection().item("a"), {"spec": {}}, kind=STRATEGIC)
    assert answer.status == 415
    accepted = answer.message.partition("accepted media types include: ")[2].split(", ")
    assert accepted == ["application/json-patch+json", "application/merge-patch+json", APPLY]


def test_a_put_needs_the_version_that_it_replaces(plain: Kind) -> None:
    value = plain.create("a", spec={"size": 1})
    del value["metadata"]["resourceVersion"]
    answer = plain.collection().put(value)
    assert answer.status == 422
    assert answer.causes[0][0] == "metadata.resourceVersion"


def test_an_object_has_to_say_what_it_is(plain: Kind) -> None:
    path = plain.collection().path
    value = plain.value("a")
    assert plain.client.post(path, {**value, "kind": "Gadget"}).causes == [
        ("kind", "FieldValueInvalid", 'Invalid value: "Gadget": must be Widget')
    ]
    assert plain.client.post(path, {**value, "apiVersion": "v1"}).status == 400
    assert plain.client.post(path, {"metadata": {"name": "a"}}).status == 400


@pytest.mark.parametrize(
    ("patch", "why"),
    [
        (
            {"kind": 5},
            "couldn't get version/kind; json parse error: json: cannot unmarshal number into Go"
            " struct field .kind of type string",
        ),
        ({"apiVersion": "a/b/c"}, "unexpected GroupVersion string: a/b/c"),
        ({"kind": None}, "Object 'Kind' is missing in '{"),
    ],
)
def test_a_patch_that_leaves_no_type_is_refused(plain: Kind, patch: Object, why: str) -> None:
    plain.create("a", spec={"size": 1})
    answer = plain.client.patch(plain.collection().item("a"), patch)
    ((field, _, text),) = answer.causes
    assert (answer.status, field) == (422, "patch")
    assert why in text


def test_a_patch_to_another_group_is_told_of_its_kind_there(plain: Kind) -> None:
    plain.create("a", spec={"size": 1})
    answer = plain.client.patch(plain.collection().item("a"), {"apiVersion": "apps/v1"})
    assert answer.status == 422
    assert answer.message.startswith('Widget.apps "a" is invalid: apiVersion: ')


def test_a_refused_patch_is_shown_as_it_may_stand_in_a_page(kubernetes: Space) -> None:
    kind = Kind(kubernetes).install()
    kind.create("a", spec={"color": "<b> & c"})
    answer = kind.collection().patch("a", {"x": 1}, fieldValidation="Strict")
    assert r"\"color\":\"\\u003cb\\u003e \\u0026 c\"" in answer.message


def test_which_object_is_meant_is_looked_at_before_its_kind(plain: Kind) -> None:
    created = plain.create("a", spec={"size": 1})
    things, client = plain.collection(), plain.client
    other = {**created, "kind": "Gadget"}
    assert client.put(things.item("b"), other).status == 400
    gone = {**other, "metadata": {"name": "b"}}
    assert client.put(things.item("b"), gone).status == 404
    stale = {**other, "metadata": {"name": "a", "resourceVersion": "1"}}
    assert client.put(things.item("a"), stale).status == 409
    assert client.put(things.item("a"), other).causes == [
        ("kind", "FieldValueInvalid", 'Invalid value: "Gadget": must be Widget')
    ]
    assert things.read("a") == created


@pytest.mark.both_dialects
def test_unknown_fields_are_told_by_part_and_name(space: Space) -> None:
    embedded = {
        "type": "object",
        f"x-{space.dialect.marker}-embedded-resource": True,
        f"x-{space.dialect.marker}-preserve-unknown-fields": True,
    }
    schema = {"type": "object", "properties": {"b": embedded, "c": {"type": "object"}}}
    kind = Kind(space, version(schema={"openAPIV3Schema": schema})).install()
    body = {
        "apiVersion": f"{kind.group}/v1",
        "kind": kind.kind,
        "z": 1,
        "b": {"apiVersion": "v1", "kind": "X", "metadata": {"name": "b", "nope": 1}, "own": 1},
        "c": {"y": 1},
        "metadata": {"name": "a", "nope": 1},
    }
    answer = kind.client.post(kind.collection().path, body)
    assert answer.warnings == [
        f'299 - "unknown field \\"{path}\\""'
        for path in ("metadata.nope", "c.y", "z", "b.metadata.nope")
    ]


@pytest.mark.both_dialects
def test_an_embedded_object_of_other_types_cannot_be_read(space: Space) -> None:
    embedded = {
        "type": "object",
        f"x-{space.dialect.marker}-embedded-resource": True,
        f"x-{space.dialect.marker}-preserve-unknown-fields": True,
    }
    schema = {"type": "object", "properties": {"list": {"type": "array", "items": embedded}}}
    kind = Kind(space, version(schema={"openAPIV3Schema": schema})).install()
    answer = kind.client.post(
        kind.collection().path, {**kind.value("a"), "list": [{"apiVersion": "v1", "kind": 5}]}
    )
    assert (answer.status, answer.message) == (
        400,
        'Widget in version "v1" cannot be handled as a Widget:'
        " list[0].kind: Invalid value: 5: must be a string",
    )


@pytest.mark.both_dialects
def test_metadata_in_a_default_is_without_what_metadata_has_not(space: Space) -> None:
    default = {"apiVersion": "v1", "kind": "X", "metadata": {"name": "b"}}
    embedded = {
        "type": "object",
        "default": {**default, "metadata": {"name": "b", "nope": 1}},
        f"x-{space.dialect.marker}-embedded-resource": True,
        f"x-{space.dialect.marker}-preserve-unknown-fields": True,
    }
    schema = {"type": "object", "properties": {"b": embedded}}
    kind = Kind(space, version(schema={"openAPIV3Schema": schema})).install()
    assert kind.create("a")["b"] == default


@pytest.mark.both_dialects
@pytest.mark.parametrize(("before", "after"), [(True, 1), (0, False), ({"a": [1]}, {"a": [True]})])
def test_a_truth_is_no_number(space: Space, before: object, after: object) -> None:
    free = {"type": "object", f"x-{space.dialect.marker}-preserve-unknown-fields": True}
    schema = {"type": "object", "properties": {"spec": free}}
    kind = Kind(space, version(schema={"openAPIV3Schema": schema})).install()
    collection = kind.collection()
    for name, write in (
        ("put", lambda value: collection.update({**value, "spec": {"b": after}})),
        ("patched", lambda value: collection.patch("patched", {"spec": {"b": after}}).body),
    ):
        value = kind.create(name, spec={"b": before})
        write(value)
        item = collection.read(name)
        assert json.dumps(item["spec"]["b"]) == json.dumps(after)
        assert item["metadata"]["generation"] == 2
        assert item["metadata"]["resourceVersion"] != value["metadata"]["resourceVersion"]


def test_status_and_the_rest_are_written_apart(kind: Kind) -> None:
    created = kind.create("a", spec={"size": 1}, status={"phase": "new"})
    assert "status" not in created
    answer = kind.client.patch(
        kind.collection().item("a", "status"),
        {"spec": {"size": 2}, "status": {"phase": "ready"}, "metadata": {"labels": {"a": "b"}}},
    )
    body = answer.body
    assert (body["spec"], body["status"]) == ({"size": 1}, {"phase": "ready"})
    assert body["metadata"]["generation"] == 1
    assert "labels" not in body["metadata"]


@pytest.mark.parametrize(
    ("patch", "with_status", "without"),
    [
        ({"spec": {"size": 2}}, 2, 2),
        ({"status": {"phase": "x"}}, 1, 2),
        ({"metadata": {"labels": {"a": "b"}}}, 1, 1),
    ],
)
def test_the_generation_counts_what_a_client_wants(
    space: Space, patch: dict[str, object], with_status: int, without: int
) -> None:
    for subresources, expected in (({"status": {}}, with_status), (None, without)):
        plural = "widgets" if subresources else "gadgets"
        name = "Widget" if subresources else "Gadget"
        created = Kind(
            space, version(subresources=subresources), plural=plural, kind=name
        ).install()
        created.create("a", spec={"size": 1})
        answer = created.collection().patch("a", patch)
        assert answer.body["metadata"]["generation"] == expected


def test_a_subresource_that_is_not_there_is_not_found(plain: Kind) -> None:
    plain.create("a")
    for name in ("status", "scale", "nonsense"):
        answer = plain.client.get(plain.collection().item("a", name))
        assert (answer.status, answer.message) == (404, f'{plain.name} "a" not found')


def test_a_scale_shows_and_sets_the_replicas(kind: Kind) -> None:
    kind.create("a", spec={"replicas": 3})
    state = {"status": {"replicas": 2, "selector": "app=a"}}
    kind.client.patch(kind.collection().item("a", "status"), state)
    path = kind.collection().item("a", "scale")
    scale = kind.client.get(path).body
    assert (scale["kind"], scale["apiVersion"]) == ("Scale", "autoscaling/v1")
    assert scale["spec"] == {"replicas": 3}
    assert scale["status"] == {"replicas": 2, "selector": "app=a"}
    scale["spec"]["replicas"] = 5
    assert kind.client.put(path, scale).body["spec"] == {"replicas": 5}
    assert kind.collection().read("a")["spec"]["replicas"] == 5
    assert kind.collection().read("a")["metadata"]["generation"] == 2
    assert kind.client.patch(path, {"spec": {"replicas": 1}}).body["spec"] == {"replicas": 1}


def test_a_scale_can_lie_anywhere_in_the_spec(space: Space) -> None:
    api_version = version()
    spec = api_version["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]
    spec["pool"] = {"type": "object", "properties": {"count": {"type": "integer"}}}
    paths = {"specReplicasPath": ".spec.pool.count", "statusReplicasPath": ".status.replicas"}
    api_version["subresources"] = {"scale": paths}
    kind = Kind(space, api_version).install()
    kind.create("a", spec={"pool": {"count": 1}})
    path = kind.collection().item("a", "scale")
    answer = kind.client.patch(path, {"spec": {"replicas": 4}})
    assert answer.status == 200, answer.text
    assert kind.collection().read("a")["spec"]["pool"]["count"] == 4


def test_a_scale_cannot_be_applied(kind: Kind) -> None:
    kind.create("a", spec={"replicas": 3})
    config = {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "a"}}
    path = kind.collection().item("a", "scale")
    answer = kind.client.patch(path, config, kind=APPLY, fieldManager="m")
    assert answer.status == 415


def test_a_scale_of_an_object_without_replicas_is_no_scale(kind: Kind) -> None:
    kind.create("a", spec={})
    assert kind.client.get(kind.collection().item("a", "scale")).status == 404


def test_a_patch_of_a_scale_may_give_an_object_its_first_replicas(kind: Kind) -> None:
    kind.create("a", spec={})
    path = kind.collection().item("a", "scale")
    answer = kind.client.patch(path, {"metadata": {"labels": {"a": "b"}}})
    assert (answer.status, answer.message) == (
        400,
        'the spec replicas field ".spec.replicas" cannot be empty',
    )
    assert kind.client.patch(path, {"spec": {"replicas": 2}}).status == 200
    assert kind.collection().read("a")["spec"] == {"replicas": 2}


def test_a_scale_is_put_for_any_version_but_for_its_object_only(kind: Kind) -> None:
    kind.create("a", spec={"replicas": 1})
    path = kind.collection().item("a", "scale")
    scale = {"apiVersion": "autoscaling/v1", "kind": "Scale", "spec": {"replicas": 2}}
    assert kind.client.put(path, {**scale, "metadata": {"name": "a"}}).status == 200
    other = kind.client.put(path, {**scale, "metadata": {"name": "a", "uid": "other"}})
    assert (other.status, other.body["reason"]) == (409, "Conflict")
    assert "Precondition failed: UID in precondition: other, UID in object meta" in other.message


def test_replicas_of_a_scale_are_refused_as_those_of_the_object(kind: Kind) -> None:
    kind.create("a", spec={"replicas": 1})
    answer = kind.client.patch(kind.collection().item("a", "scale"), {"spec": {"replicas": -5}})
    assert answer.status == 422
    assert answer.message == (
        f'Widget.{kind.group} "a" is invalid: .spec.replicas: Invalid value: -5: should be a'
        " non-negative integer"
    )


def test_a_status_is_refused_with_an_object_that_no_longer_fits(kind: Kind) -> None:
    kind.create("a", spec={"size": 9})
    narrower = version(subresources={"status": {}})
    narrower["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]["size"] = {
        "type": "integer",
        "maximum": 5,
    }
    kind.set_versions(narrower)

    def refusal() -> str:
        answer = kind.client.patch(
            kind.collection().item("a", "status"), {"status": {"phase": "x"}}, dryRun="All"
        )
        return str(answer.body.get("message"))

    wanted = "spec.size in body should be less than or equal to 5"
    eventually(lambda: wanted in refusal(), "the new schema holds")


@pytest.mark.parametrize("wanted", [-1, 2**31])
def test_replicas_have_the_range_of_a_scale(kind: Kind, wanted: int) -> None:
    answer = kind.client.post(kind.collection().path, kind.value("a", spec={"replicas": wanted}))
    assert answer.status == 422
    assert answer.causes[0][0] == ".spec.replicas"


@pytest.mark.both_dialects
@pytest.mark.parametrize(
    ("part", "content", "field", "why"),
    [
        (
            "spec",
            {"replicas": "x"},
            ".spec.replicas",
            "0: .spec.replicas accessor error: x is of the type string, expected int64",
        ),
        (
            "spec",
            5,
            ".spec.replicas",
            "0: .spec.replicas accessor error: 5 is of the type int64, expected"
            " map[string]interface{}",
        ),
        (
            "status",
            {"selector": 5},
            ".status.selector",
            '"": .status.selector accessor error: 5 is of the type int64, expected string',
        ),
    ],
)
def test_what_a_scale_shows_has_its_type(
    space: Space, part: str, content: object, field: str, why: str
) -> None:
    anything = {f"x-{space.dialect.marker}-preserve-unknown-fields": True}
    schema = {"type": "object", "properties": {"spec": anything, "status": anything}}
    scale = {
        "specReplicasPath": ".spec.replicas",
        "statusReplicasPath": ".status.replicas",
        "labelSelectorPath": ".status.selector",
    }
    kind = Kind(
        space, version(schema={"openAPIV3Schema": schema}, subresources={"scale": scale})
    ).install()
    body = {"apiVersion": f"{kind.group}/v1", "kind": kind.kind, "metadata": {"name": "a"}}
    answer = kind.client.post(kind.collection().path, {**body, part: content})
    assert answer.status == 422
    assert answer.causes == [(field, "FieldValueInvalid", f"Invalid value: {why}")]


def test_only_names_and_namespaces_can_be_selected_by(plain: Kind, space: Space) -> None:
    plain.create("a", metadata={"labels": {"x": "1"}})
    plain.create("b")
    assert plain.collection().names(fieldSelector="metadata.name=b") == ["b"]
    assert plain.collection().names(fieldSelector=f"metadata.namespace={space.name}") == ["a", "b"]
    assert plain.collection().names(labelSelector="x=1") == ["a"]
    answer = plain.collection().list(fieldSelector="spec.size=1")
    assert (answer.status, answer.message) == (400, "field label not supported: spec.size")


def test_a_dry_run_leaves_nothing(plain: Kind) -> None:
    path = plain.collection().path
    assert plain.client.post(path, plain.value("a"), dryRun="All").status == 201
    assert plain.collection().names() == []


@pytest.mark.both_dialects
def test_a_collection_can_be_deleted_by_label(plain: Kind) -> None:
    plain.create("a", metadata={"labels": {"x": "1"}})
    plain.create("b")
    assert plain.client.delete(plain.collection().path, labelSelector="x=1").status == 200
    assert plain.collection().names() == ["b"]


def test_a_deletion_answers_with_a_status(plain: Kind) -> None:
    plain.create("a")
    body = plain.collection().delete("a").body
    assert (body["kind"], body["status"]) == ("Status", "Success")


def test_bookmarks_come_to_those_who_ask(plain: Kind) -> None:
    with plain.collection().watch(allowWatchBookmarks="true", timeoutSeconds=3) as watch:
        result = watch.rest()
    assert [event.type for event in result] == ["BOOKMARK"]
    assert result[0].object["kind"] == "Widget"


def test_cluster_scoped_kinds_have_no_namespace(space: Space) -> None:
    kind = Kind(space, scope="Cluster").install()
    value = kind.create("a")
    assert "namespace" not in value["metadata"]
    inside = space.collection("widgets", kind.group)
    assert space.client.get(inside.path).status == 404
    assert kind.collection().names(fieldSelector="metadata.name=a") == ["a"]
    assert kind.collection().list(fieldSelector="metadata.namespace=x").status == 400
    kind.remove()


def test_a_namespace_takes_its_custom_objects_along(space: Space) -> None:
    kind = Kind(space, version("v1"), version("v2", storage=False)).install()
    kind.create("a")
    assert space.client.delete(f"/api/v1/namespaces/{space.name}").status == 200
    path = f"/api/v1/namespaces/{space.name}"
    eventually(lambda: space.client.get(path).status == 404, "the namespace is gone")
    everywhere = space.everywhere("widgets", kind.group)
    assert everywhere.names() == []


def test_a_deprecated_version_warns_and_names_the_best_later_one(space: Space) -> None:
    old = version("v1beta1", storage=False, deprecated=True)
    older = version(
        "v1alpha1", storage=False, deprecated=True, deprecationWarning="use something else"
    )
    later = [version("v2", storage=False), version("v3", storage=False, served=False)]
    kind = Kind(space, version("v1"), old, older, *later).install()
    group = kind.group
    assert kind.collection("v1").list().warnings == []
    assert kind.collection("v1beta1").list().warnings == [
        f'299 - "{group}/v1beta1 Widget is deprecated; use {group}/v2 Widget"'
    ]
    assert kind.collection("v1alpha1").list().warnings == ['299 - "use something else"']
    absent = kind.client.get(kind.collection("v1alpha1").item("a", "scale"))
    assert (absent.status, absent.warnings) == (404, ['299 - "use something else"'])


def test_a_deprecated_version_names_no_earlier_one(space: Space) -> None:
    last = version("v2", storage=False, deprecated=True)
    kind = Kind(space, version("v1"), last).install()
    assert kind.collection("v2").list().warnings == [
        f'299 - "{kind.group}/v2 Widget is deprecated"'
    ]


def test_versions_are_listed_as_clients_prefer_them(space: Space) -> None:
    names = ("v1alpha1", "v2", "foo", "v1", "v2beta1", "v10", "v2beta2")
    kind = Kind(space, *(version(name, storage=name == "v1") for name in names)).install()
    group = space.client.get(f"/apis/{kind.group}").body
    versions = [item["version"] for item in group["versions"]]
    assert versions == ["v10", "v2", "v1", "v2beta2", "v2beta1", "v1alpha1", "foo"]
    assert group["preferredVersion"]["version"] == "v10"
    assert group["name"] in [group["name"] for group in space.client.get("/apis").body["groups"]]


def test_apply_merges_and_tells_conflicts(plain: Kind) -> None:
    path = plain.collection().item("a")
    config = plain.value("a", spec={"size": 1, "color": "red"})
    assert plain.client.patch(path, config, kind=APPLY, fieldManager="one").status == 201
    other = plain.value("a", spec={"size": 2})
    answer = plain.client.patch(path, other, kind=APPLY, fieldManager="two")
    assert answer.status == 409
    assert answer.causes == [(".spec.size", "FieldManagerConflict", 'conflict with "one"')]
    forced = plain.client.patch(path, other, kind=APPLY, fieldManager="two", force="true")
    assert forced.body["spec"] == {"size": 2, "color": "red"}


def test_only_those_with_a_right_to_the_group_and_resource_get_in(plain: Kind) -> None:
    somebody = {"Impersonate-User": "somebody"}
    path = plain.collection().path
    assert plain.client.get(path, headers=somebody).status == 403
    rbac = plain.space.base("rbac.authorization.@")
    role = f"{rbac}/namespaces/{plain.space.name}/roles"
    rules = [{"apiGroups": [plain.group], "resources": ["widgets"], "verbs": ["list"]}]
    plain.client.post(role, {"metadata": {"name": "reader"}, "rules": rules})
    binding = {
        "metadata": {"name": "reader"},
        "subjects": [{"kind": "User", "name": "somebody"}],
        "roleRef": {"apiGroup": rbac.split("/")[2], "kind": "Role", "name": "reader"},
    }
    plain.client.post(role.replace("/roles", "/rolebindings"), binding)
    assert plain.client.get(path, headers=somebody).status == 200
    assert plain.client.get(f"{path}/a", headers=somebody).status == 403
    review = {
        "spec": {
            "user": "somebody",
            "resourceAttributes": {
                "group": plain.group,
                "resource": "widgets",
                "verb": "list",
                "namespace": plain.space.name,
            },
        }
    }
    request = plain.space.base("authorization.@") + "/subjectaccessreviews"
    assert plain.client.post(request, review).body["status"]["allowed"] is True
