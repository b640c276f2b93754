"""Objects in several versions: without conversion, and converted by a webhook."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from support.conversion_webhook import ConversionServer, Object
from support.definitions import Kind, version
from support.namespaces import Space
from support.neighbour import own_address
from support.process import FreshServer

APPLY = "application/apply-patch+yaml"


def addressed(name: str, *, storage: bool, **fields: str) -> Object:
    api_version = version(name, storage=storage)
    spec = api_version["schema"]["openAPIV3Schema"]["properties"]["spec"]
    spec["properties"] = {field: {"type": kind} for field, kind in fields.items()}
    return api_version


def old_and_new(stored: str = "v1") -> tuple[Object, Object]:
    return (
        addressed("v1", storage=stored == "v1", address="string"),
        addressed("v2", storage=stored == "v2", host="string", port="integer"),
    )


@pytest.fixture
def webhook(tmp_path: Path) -> Iterator[ConversionServer]:
    server = ConversionServer(tmp_path)
    yield server
    server.close()


@pytest.fixture
def kind(kubernetes: Space, webhook: ConversionServer) -> Kind:
    return Kind(kubernetes, *old_and_new(), conversion=webhook.conversion()).install()


V1, V2 = {"address": "here:80"}, {"host": "here", "port": 80}


def test_an_object_is_read_in_the_version_that_is_asked_for(kind: Kind) -> None:
    assert kind.create("a", spec=V1)["spec"] == V1
    value = kind.collection("v2").read("a")
    assert (value["apiVersion"], value["spec"]) == (f"{kind.group}/v2", V2)


def test_an_object_is_kept_in_the_version_of_its_definition(
    kind: Kind, webhook: ConversionServer
) -> None:
    assert kind.create("a", "v2", spec=V2)["spec"] == V2
    webhook.reviews.clear()
    assert kind.collection("v1").read("a")["spec"] == V1
    assert webhook.reviews == []


def test_a_list_goes_to_the_webhook_in_one_piece(kind: Kind, webhook: ConversionServer) -> None:
    for name in "abc":
        kind.create(name, spec=V1)
    webhook.reviews.clear()
    items = kind.collection("v2").list().body["items"]
    assert [item["spec"] for item in items] == [V2] * 3
    assert {item["apiVersion"] for item in items} == {f"{kind.group}/v2"}
    [review] = webhook.reviews
    assert len(review["request"]["objects"]) == 3
    assert review["request"]["desiredAPIVersion"] == f"{kind.group}/v2"


def test_a_watch_shows_its_own_version(kind: Kind) -> None:
    with kind.collection("v2").watch() as watch:
        kind.create("a", spec=V1)
        kind.collection("v1").patch("a", {"spec": {"address": "there:81"}})
        kind.collection("v1").delete("a")
        events = watch.take(3)
    assert [event.type for event in events] == ["ADDED", "MODIFIED", "DELETED"]
    assert [event.object["spec"]["host"] for event in events] == ["here", "there", "there"]
    assert {event.object["apiVersion"] for event in events} == {f"{kind.group}/v2"}


def test_fields_select_converted_objects(space_1_36: Space, webhook: ConversionServer) -> None:
    old, new = old_and_new()
    new["selectableFields"] = [{"jsonPath": ".spec.host"}, {"jsonPath": ".spec.port"}]
    kind = Kind(space_1_36, old, new, conversion=webhook.conversion()).install()
    objects, here = kind.collection("v2"), {"fieldSelector": "spec.host=here"}
    with objects.watch(**here) as watch:
        for name, address in (("a", "here:80"), ("b", "there:80"), ("c", "here:81")):
            kind.create(name, spec={"address": address})
        kind.collection("v1").patch("b", {"spec": {"address": "here:82"}})
        kind.collection("v1").patch("a", {"spec": {"address": "there:80"}})
        events = watch.take(4)
    assert [(event.type, event.object["metadata"]["name"]) for event in events] == [
        ("ADDED", "a"),
        ("ADDED", "c"),
        ("ADDED", "b"),
        ("DELETED", "a"),
    ]
    assert objects.names(**here) == ["b", "c"]
    assert objects.names(fieldSelector="spec.host=here,spec.port!=82") == ["c"]
    first = objects.list(**here, limit="1").body
    assert [item["metadata"]["name"] for item in first["items"]] == ["b"]
    assert objects.names(**here, limit="1", **{"continue": first["metadata"]["continue"]}) == ["c"]
    assert objects.client.delete(f"{objects.path}?fieldSelector=spec.host%3Dhere").status == 200
    assert objects.names() == ["a"]


def test_updates_and_patches_work_in_their_own_version(kind: Kind) -> None:
    kind.create("a", spec=V1)
    answer = kind.collection("v2").patch("a", {"spec": {"port": 81}})
    assert answer.body["spec"] == {"host": "here", "port": 81}
    assert kind.collection("v1").read("a")["spec"] == {"address": "here:81"}
    value = kind.collection("v2").read("a")
    value["spec"]["host"] = "there"
    assert kind.collection("v2").update(value)["spec"] == {"host": "there", "port": 81}
    assert kind.collection("v1").read("a")["spec"] == {"address": "there:81"}


def test_owners_in_another_version_keep_what_they_own(kind: Kind) -> None:
    path = kind.collection("v1").item("a")
    config = kind.value("a", spec=V1)
    assert kind.client.patch(path, config, kind=APPLY, fieldManager="old").status == 201
    other = kind.value("a", "v2", spec={"host": "there", "port": 80})
    path = kind.collection("v2").item("a")
    answer = kind.client.patch(path, other, kind=APPLY, fieldManager="new")
    assert answer.status == 409, answer.text
    assert "old" in answer.message
    forced = kind.client.patch(path, other, kind=APPLY, fieldManager="new", force="true")
    assert forced.body["spec"] == {"host": "there", "port": 80}


def test_deleting_what_finalizers_hold_shows_the_version_that_was_asked_for(kind: Kind) -> None:
    kind.create("a", spec=V1, metadata={"finalizers": ["example.com/held"]})
    assert kind.collection("v2").delete("a").body["spec"] == V2
    kind.collection("v2").patch("a", {"metadata": {"finalizers": None}})
    assert kind.collection("v1").get("a").status == 404


def test_objects_follow_a_change_of_the_stored_version(kind: Kind) -> None:
    kind.create("a", spec=V1)
    kind.set_versions(*old_and_new("v2"))
    assert kind.collection("v2").read("a")["spec"] == V2
    assert kind.collection("v1").read("a")["spec"] == V1
    kind.create("b", "v1", spec=V1)
    assert kind.collection("v2").read("b")["spec"] == V2
    assert kind.definition()["status"]["storedVersions"] == ["v1", "v2"]


def test_a_write_without_a_change_moves_an_object_to_the_stored_version(
    kind: Kind, webhook: ConversionServer
) -> None:
    value = kind.create("a", spec=V1)
    kind.set_versions(*old_and_new("v2"))
    moved = kind.collection("v2").patch("a", {}).body
    assert moved["metadata"]["resourceVersion"] != value["metadata"]["resourceVersion"]
    webhook.reviews.clear()
    kind.collection("v2").read("a")
    assert webhook.reviews == []


@pytest.mark.parametrize(("given", "sent"), [(("v1beta1", "v1"), "v1beta1"), (("v7", "v1"), "v1")])
def test_the_first_review_version_that_is_known_is_sent(
    kubernetes: Space, webhook: ConversionServer, given: tuple[str, ...], sent: str
) -> None:
    conversion = webhook.conversion(*given)
    kind = Kind(kubernetes, *old_and_new(), conversion=conversion).install()
    kind.create("a", spec=V1)
    kind.collection("v2").read("a")
    group = kubernetes.dialect.group_name("apiextensions.@")
    assert webhook.reviews[-1]["apiVersion"] == f"{group}/{sent}"


def test_labels_and_annotations_may_change_and_nothing_else(
    kind: Kind, webhook: ConversionServer
) -> None:
    item = kind.create("a", spec=V1, metadata={"labels": {"a": "1"}})

    def convert(value: Object, api_version: str) -> Object:
        metadata = {
            **value["metadata"],
            "labels": {"b": "2"},
            "generation": 99,
            "finalizers": ["example.com/new"],
        }
        return {**value, "apiVersion": api_version, "metadata": metadata, "spec": V2}

    webhook.convert = convert
    metadata = kind.collection("v2").read("a")["metadata"]
    assert metadata["labels"] == {"b": "2"}
    assert "finalizers" not in metadata
    assert metadata["generation"] == item["metadata"]["generation"]


def renamed(value: Object, api_version: str) -> Object:
    return {**value, "apiVersion": api_version, "metadata": {**value["metadata"], "name": "b"}}


def mislabeled(value: Object, api_version: str) -> Object:
    return {
        **value,
        "apiVersion": api_version,
        "metadata": {**value["metadata"], "labels": {"a b": "c"}},
    }


def of_kind(value: Object, api_version: str) -> Object:
    return {**value, "apiVersion": api_version, "kind": "Other"}


def numbered(value: Object, api_version: str) -> Object:
    metadata = {**value["metadata"], "annotations": {"a": 1}}
    return {**value, "apiVersion": api_version, "metadata": metadata}


@pytest.mark.parametrize(
    ("convert", "text"),
    [
        (
            lambda value, _: value,
            "returned invalid object at index 0: invalid groupVersion"
            " (expected {group}/v2, received {group}/v1)",
        ),
        (
            of_kind,
            "returned invalid object at index 0: invalid kind (expected Widget, received Other)",
        ),
        (renamed, "returned invalid object: must have the same name: a != b"),
        (mislabeled, 'returned invalid metadata: metadata.labels: Invalid value: "a b": name part'),
        (
            numbered,
            "returned invalid metadata: metadata.annotations[a] must be a string, but is int64 in"
            " converted object",
        ),
    ],
)
def test_an_object_that_is_another_is_refused(
    kind: Kind, webhook: ConversionServer, convert: Callable[[Object, str], Any], text: str
) -> None:
    kind.create("a", spec=V1)
    webhook.convert = convert
    answer = kind.collection("v2").get("a")
    assert (answer.status, answer.body.get("reason")) == (500, None)
    expected = text.format(group=kind.group)
    assert answer.message.startswith(
        f"conversion webhook for {kind.group}/v1, Kind=Widget {expected}"
    )


def test_a_value_that_is_no_object_is_refused(kind: Kind, webhook: ConversionServer) -> None:
    kind.create("a", spec=V1)
    webhook.convert = lambda value, _: 7
    answer = kind.collection("v2").get("a")
    assert (answer.status, answer.message) == (
        500,
        "json: cannot unmarshal number into Go value of type unstructured.detector",
    )


@pytest.mark.parametrize(
    ("respond", "text"),
    [
        (lambda review: {**review, "response": None}, "no response provided"),
        (lambda review: {**review, "kind": "Other"}, "expected webhook response of"),
        (lambda review: [], "json: cannot unmarshal array into Go value of type struct"),
        (
            lambda review: {**review, "apiVersion": "apiextensions.k8s.io/v1beta1"},
            "converting (v1beta1.ConversionReview) to (v1.ConversionReview): unknown conversion",
        ),
        (lambda review: _with(review, uid="other"), "expected response.uid="),
        (lambda review: _with(review, result={"status": "Failure", "message": "no way"}), "no way"),
        (
            lambda review: _with(review, result={"status": "Failure"}),
            "response.result.status was 'Failure', not 'Success'",
        ),
        (lambda review: _with(review, convertedObjects=[]), "returned 0 objects, expected 1"),
    ],
)
def test_a_review_that_is_none_is_refused(
    kind: Kind, webhook: ConversionServer, respond: Callable[[Object], Any], text: str
) -> None:
    kind.create("a", spec=V1)
    webhook.respond = respond
    answer = kind.collection("v2").get("a")
    assert answer.status == 500
    assert text in answer.message
    webhook.respond = lambda review: review
    assert kind.collection("v2").read("a")["spec"] == V2


def _with(review: Object, **changes: Any) -> Object:
    return {**review, "response": {**review["response"], **changes}}


def test_a_webhook_that_is_not_there_fails_that_version_only(
    kind: Kind, webhook: ConversionServer
) -> None:
    kind.create("a", spec=V1)
    webhook.close()
    answer = kind.collection("v2").get("a")
    assert answer.status == 500
    url = f"https://127.0.0.1:{webhook.port}/convert?timeout=30s"
    assert f'failed: Post "{url}": dial tcp' in answer.message
    assert kind.collection("v1").read("a")["spec"] == V1


def test_a_webhook_with_an_unknown_certificate_is_not_asked(
    kubernetes: Space, webhook: ConversionServer, tmp_path: Path
) -> None:
    other = ConversionServer(tmp_path / "other")
    webhook.bundle = other.bundle
    other.close()
    kind = Kind(kubernetes, *old_and_new(), conversion=webhook.conversion()).install()
    kind.create("a", spec=V1)
    answer = kind.collection("v2").get("a")
    assert answer.status == 500
    assert "x509: certificate signed by unknown authority" in answer.message


def test_a_service_is_found_where_the_flag_says(fresh_server: FreshServer, tmp_path: Path) -> None:
    webhook = ConversionServer(tmp_path / "webhook", "convert.work.svc")
    server = fresh_server("--service-address-map", f"work/convert=127.0.0.1:{webhook.port}")
    space = Space(server, server.client())
    service = {"namespace": "work", "name": "convert", "path": "/crd"}
    conversion = webhook.conversion(service=service)
    kind = Kind(space, *old_and_new(), conversion=conversion).install()
    kind.create("a", spec=V1)
    assert kind.collection("v2").read("a")["spec"] == V2
    webhook.close()


def test_a_service_is_found_by_its_endpoints(kubernetes: Space, tmp_path: Path) -> None:
    space, client, address = kubernetes, kubernetes.client, own_address()
    webhook = ConversionServer(tmp_path, f"convert.{space.name}.svc", address=address)
    ports = [{"name": "https", "port": 443, "targetPort": webhook.port}]
    space.collection("services").create("convert", spec={"ports": ports})
    subset = {
        "addresses": [{"ip": address}],
        "ports": [{"name": "https", "port": webhook.port}],
    }
    space.collection("endpoints").create("convert", subsets=[subset])
    conversion = webhook.conversion(service={"namespace": space.name, "name": "convert"})
    kind = Kind(space, *old_and_new(), conversion=conversion).install()
    kind.create("a", spec=V1)
    assert kind.collection("v2").read("a")["spec"] == V2
    webhook.close()
    assert "connection refused" in client.get(kind.collection("v2").item("a")).message


def test_a_service_that_does_not_exist_is_told(
    kubernetes: Space, webhook: ConversionServer
) -> None:
    service = {"namespace": kubernetes.name, "name": "nobody"}
    conversion = webhook.conversion(service=service)
    kind = Kind(kubernetes, *old_and_new(), conversion=conversion).install()
    kind.create("a", spec=V1)
    assert 'service "nobody" not found' in kind.collection("v2").get("a").message


def test_without_conversion_only_the_version_changes(space: Space) -> None:
    first = addressed("v1", storage=True, address="string")
    second = addressed("v2", storage=False, address="string", host="string")
    kind = Kind(space, first, second).install()
    kind.create("a", "v1", spec={"address": "here:80"})
    value = kind.collection("v2").read("a")
    assert (value["apiVersion"], value["spec"]) == (f"{kind.group}/v2", {"address": "here:80"})
    item = kind.create("b", "v2", spec={"host": "lost", "address": "kept"})
    assert item["spec"] == {"address": "kept"}


def test_what_is_written_in_another_version_has_the_defaults_of_the_stored_one(
    space: Space,
) -> None:
    stored = addressed("v1", storage=True, address="string", zone="string")
    fields = stored["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]
    fields["zone"]["default"] = "here"
    other = addressed("v2", storage=False, address="string", zone="string")
    kind = Kind(space, stored, other).install()
    kind.create("a", "v2", spec=V1)
    for name in ("v1", "v2"):
        assert kind.collection(name).read("a")["spec"] == {**V1, "zone": "here"}


def test_a_dry_run_shows_what_would_be_read_back(space: Space) -> None:
    first = addressed("v1", storage=True, address="string")
    second = addressed("v2", storage=False, address="string", host="string")
    kind = Kind(space, first, second).install()
    objects = kind.collection("v2")
    kind.create("b", "v2", spec={"host": "lost", "address": "kept"})
    shown = objects.patch("b", {"spec": {"host": "x", "address": "new"}}, dryRun="All").body
    assert (shown["apiVersion"], shown["spec"]) == (f"{kind.group}/v2", {"address": "new"})
    shown["metadata"] = {"name": "c"}
    shown["spec"]["host"] = "lost"
    tried = space.client.post(objects.path, shown, dryRun="All").body
    assert (tried["apiVersion"], tried["spec"]) == (f"{kind.group}/v2", {"address": "new"})


def test_without_conversion_owners_of_both_versions_meet(space: Space) -> None:
    kind = Kind(space, version("v1"), version("v2", storage=False)).install()
    path = kind.collection("v1").item("a")
    config = kind.value("a", spec={"size": 1})
    assert kind.client.patch(path, config, kind=APPLY, fieldManager="old").status == 201
    other = kind.value("a", "v2", spec={"size": 2, "color": "red"})
    path = kind.collection("v2").item("a")
    assert kind.client.patch(path, other, kind=APPLY, fieldManager="new").status == 409
    del other["spec"]["size"]
    answer = kind.client.patch(path, other, kind=APPLY, fieldManager="new")
    assert answer.body["spec"] == {"size": 1, "color": "red"}
    config["spec"] = {}
    path = kind.collection("v1").item("a")
    answer = kind.client.patch(path, config, kind=APPLY, fieldManager="old")
    assert answer.body["spec"] == {"color": "red"}


def test_an_apply_that_does_not_fit_the_version_of_another_owner_is_refused(space: Space) -> None:
    stored = addressed("v1", storage=True, address="string", zone="string")
    other = addressed("v2", storage=False, address="object", zone="string")
    kind = Kind(space, stored, other).install()
    there = kind.collection("v2").item("a")
    config = kind.value("a", "v2", spec={"zone": "here"})
    assert kind.client.patch(there, config, kind=APPLY, fieldManager="other").status == 201
    config = kind.value("a", "v1", spec={"address": "text"})
    path = kind.collection("v1").item("a")
    for force in ("false", "true"):
        answer = kind.client.patch(path, config, kind=APPLY, fieldManager="me", force=force)
        assert (answer.status, answer.body["reason"]) == (400, "BadRequest")
        assert "does not fit the schema of another version" in answer.body["message"]
    assert kind.collection("v1").read("a")["spec"] == {"zone": "here"}


@pytest.mark.both_dialects
def test_an_apply_that_changes_nothing_fills_no_defaults(space: Space) -> None:
    stored = addressed("v1", storage=True, address="string", zone="string")
    other = addressed("v2", storage=False, address="string", zone="string")
    fields = other["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]
    fields["zone"]["default"] = "here"
    kind = Kind(space, stored, other).install()
    kind.create("a", "v1", spec=V1)
    config, path = kind.value("a", "v2", spec=V1), kind.collection("v2").item("a")
    for manager in ("one", "two"):
        applied = space.client.patch(path, config, kind=APPLY, fieldManager=manager).body
        assert (applied["spec"], applied["metadata"]["generation"]) == (V1, 1)
    config["metadata"]["labels"] = {"a": "b"}
    applied = space.client.patch(path, config, kind=APPLY, fieldManager="one").body
    assert (applied["spec"]["zone"], applied["metadata"]["generation"]) == ("here", 2)
