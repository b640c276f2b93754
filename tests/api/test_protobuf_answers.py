"""Answers in protobuf equal those in JSON, also from cached messages."""

from __future__ import annotations

from typing import Any

import pytest
from support.namespaces import Space

from fairlead.api.negotiation import Representation
from fairlead.api.protobuf_cache import enveloped_message
from fairlead.base.dialect import KUBERNETES
from fairlead.codec.protobuf import envelope, from_message, to_message, watch_frame
from fairlead.codec.types.builtin import BuiltinTypes
from fairlead.resources.registry import Resources
from fairlead.storage.derived_cache import FORMS
from fairlead.storage.version import Version

Object = dict[str, Any]
POD: Object = {
    "metadata": {"name": "a", "labels": {"x": "y"}},
    "spec": {"containers": [{"name": "c", "image": "i", "ports": [{"containerPort": 80}]}]},
}


class Reading:
    """Sends the same request in JSON and in protobuf."""

    def __init__(self, space: Space) -> None:
        self.client = space.client
        self.dialect = space.dialect
        self.resources = Resources(space.dialect, BuiltinTypes(space.dialect))
        self.media_type = space.dialect.protobuf_media_type

    def headers(self, form: str = "") -> dict[str, str]:
        return {"Accept": self.media_type + form}

    def in_protobuf(self, path: str, form: str = "") -> bytes:
        answer = self.client.get(path, headers=self.headers(form))
        assert (answer.status, answer.headers["Content-Type"]) == (200, self.media_type)
        return answer.content

    def from_json(self, path: str, form: str = "") -> bytes:
        return self.written(
            self.client.get(path, headers={"Accept": f"application/json{form}"}).body
        )

    def written(self, value: Object) -> bytes:
        struct = self.resources.struct_of(value["apiVersion"], value["kind"])
        assert struct is not None
        return to_message(struct, value)

    def agree(self, path: str, form: str = "") -> None:
        """Compare both answers. Lists have the version of the whole server: repeated if other
        writes came between."""
        for _ in range(50):
            before, result = self.from_json(path, form), self.in_protobuf(path, form)
            if self.from_json(path, form) == before:
                break
        assert result == before

    def metadata(self, kind: str = "PartialObjectMetadata") -> str:
        return f";as={kind};g={self.dialect.meta_group};v=v1"


@pytest.fixture
def reading(space: Space) -> Reading:
    return Reading(space)


def test_an_object_is_the_same_at_first_and_later(space: Space, reading: Reading) -> None:
    space.ready_for_pods()
    pods = space.collection("pods")
    assert space.client.post(pods.path, POD).status == 201
    for _ in range(2):
        reading.agree(pods.item("a"))
        reading.agree(pods.path)


def test_a_change_is_seen_at_once(space: Space, reading: Reading) -> None:
    space.config_maps.create("a", data={"k": "1"})
    path = space.config_maps.item("a")
    before = reading.in_protobuf(path)
    space.client.patch(path, {"data": {"k": "2"}})
    assert reading.in_protobuf(path) != before
    reading.agree(path)
    reading.agree(space.config_maps.path)


def test_what_is_written_in_protobuf_is_answered_as_it_is_stored(
    space: Space, reading: Reading
) -> None:
    body = reading.written({"apiVersion": "v1", "kind": "Pod", **POD})
    headers = {**reading.headers(), "Content-Type": reading.media_type}
    space.ready_for_pods()
    pods = space.collection("pods")
    answer = space.client.post(pods.path, body, headers=headers)
    assert answer.status == 201
    assert answer.content == reading.from_json(pods.item("a"))


def test_so_is_what_is_changed(space: Space, reading: Reading) -> None:
    """With managedFields."""
    space.config_maps.create("a", data={"k": "1"})
    path, headers = space.config_maps.item("a"), reading.headers()
    merge = {**headers, "Content-Type": "application/merge-patch+json"}
    answer = space.client.request("PATCH", path, {"data": {"k": "2"}}, headers=merge)
    assert answer.content == reading.from_json(path)
    value = {**space.client.get(path).body, "data": {"k": "3"}}
    answer = space.client.put(path, value, headers=headers)
    assert answer.content == reading.from_json(path)
    same = space.client.get(path).body
    answer = space.client.put(path, same, headers=headers)
    assert answer.content == reading.from_json(path)


def test_so_is_what_is_stored_in_another_version(space: Space, reading: Reading) -> None:
    scaler: Object = {
        "metadata": {"name": "h"},
        "spec": {
            "maxReplicas": 3,
            "scaleTargetRef": {"kind": "Deployment", "name": "d"},
            "targetCPUUtilizationPercentage": 70,
        },
    }
    collection = space.collection("horizontalpodautoscalers", "autoscaling", "v1")
    answer = space.client.post(collection.path, scaler, headers=reading.headers())
    assert answer.status == 201
    assert answer.content == reading.from_json(collection.item("h"))


def test_a_dry_run_is_answered_without_a_version(space: Space, reading: Reading) -> None:
    value = {"metadata": {"name": "a"}, "data": {"k": "1"}}
    path, headers = space.config_maps.path, reading.headers()
    answer = space.client.post(path, value, headers=headers, dryRun="All")
    assert answer.status == 201
    _, _, content = envelope(answer.content)
    struct = reading.resources.struct_of("v1", "ConfigMap")
    assert struct is not None
    assert "resourceVersion" not in from_message(struct, content)["metadata"]


def test_a_number_that_is_too_large_for_its_field_is_named(space: Space, reading: Reading) -> None:
    space.ready_for_pods()
    container = {"name": "c", "image": "i", "ports": [{"containerPort": 2**32}]}
    pod = {**POD, "spec": {"containers": [container]}}
    body = reading.written({"apiVersion": "v1", "kind": "Pod", **pod})
    headers = {"Content-Type": reading.media_type}
    answer = space.client.post(space.collection("pods").path, body, headers=headers)
    assert answer.status == 400
    assert "containers.ports.containerPort of type int32" in answer.message


@pytest.mark.parametrize("first", ["whole", "metadata"])
def test_metadata_is_the_same_whatever_was_asked_for_before(
    space: Space, reading: Reading, first: str
) -> None:
    space.secrets.create_all("a", "b")
    if first == "whole":
        reading.in_protobuf(space.secrets.path)
    for _ in range(2):
        reading.agree(space.secrets.item("a"), reading.metadata())
        reading.agree(space.secrets.path, reading.metadata("PartialObjectMetadataList"))
    reading.agree(space.secrets.path)


def test_versions_of_one_object_have_messages_of_their_own(space: Space, reading: Reading) -> None:
    name = "h"
    scaler: Object = {
        "metadata": {"name": name},
        "spec": {"maxReplicas": 3, "scaleTargetRef": {"kind": "Deployment", "name": "d"}},
    }
    versions = [
        space.collection("horizontalpodautoscalers", "autoscaling", v) for v in ("v1", "v2")
    ]
    assert space.client.post(versions[0].path, scaler).status == 201
    for _ in range(2):
        for version in versions:
            reading.agree(version.item(name))
            reading.agree(version.path)
            reading.agree(version.item(name), reading.metadata())


def test_an_empty_list_is_a_list(space: Space, reading: Reading) -> None:
    reading.agree(space.secrets.path)
    reading.agree(space.secrets.path, reading.metadata("PartialObjectMetadataList"))


def test_events_carry_the_objects_that_reads_answer(space: Space, reading: Reading) -> None:
    secret = space.secrets.create("a", data={"k": "dg=="})
    changed = space.client.patch(space.secrets.item("a"), {"data": {"k": "dw=="}}).body
    space.client.delete(space.secrets.item("a"))
    since = str(int(secret["metadata"]["resourceVersion"]) - 1)
    with space.secrets.watch(resourceVersion=since) as watch:
        objects = [event.object for event in watch.take(3)]
    assert objects[1] == changed
    for form, part in (
        ("", objects),
        (reading.metadata(), [_metadata(reading, o) for o in objects]),
    ):
        answer = space.client.get(
            space.secrets.path,
            headers=reading.headers(form),
            watch=1,
            resourceVersion=since,
            timeoutSeconds=1,
        )
        kinds = ("ADDED", "MODIFIED", "DELETED")
        frames = [
            watch_frame(kind, reading.written(o)) for kind, o in zip(kinds, part, strict=True)
        ]
        assert answer.raw == b"".join(frames)


def _metadata(reading: Reading, value: Object) -> Object:
    return {
        "kind": "PartialObjectMetadata",
        "apiVersion": f"{reading.dialect.meta_group}/v1",
        "metadata": value["metadata"],
    }


def test_a_message_is_made_once_for_a_stored_version() -> None:
    resource = Resources(KUBERNETES, BuiltinTypes(KUBERNETES)).named("core/v1/configmaps")
    form = Representation(KUBERNETES.protobuf_media_type)
    body = b'"metadata":{"name":"a","resourceVersion":"7"},"data":{"a":"b"}}'
    version = Version("n/a", 7, "v1", body)
    first = enveloped_message(resource, form, version)
    kept = FORMS.get(version, resource.struct)
    assert envelope(first) == ("v1", "ConfigMap", kept[2:])  # behind its key and size
    enveloped_message(resource, form, version)
    assert FORMS.get(version, resource.struct) is kept
    version.set_revision(8)
    assert envelope(enveloped_message(resource, form, version))[2] == kept[2:].replace(b"7", b"8")
