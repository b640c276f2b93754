"""dryRun=All: every step except the commit."""

from __future__ import annotations

import pytest
from support.client import Object
from support.namespaces import Space

UNSUPPORTED = 'Unsupported value: []string{{"{}"}}: supported values: "All"'


def test_a_create_answers_with_what_would_be_stored(space: Space) -> None:
    body = {"metadata": {"name": "a"}, "data": {"k": "dg=="}}
    answer = space.client.post(space.secrets.path, body, dryRun="All")
    assert answer.status == 201
    assert answer.body["type"] == "Opaque"
    assert answer.body["metadata"]["uid"]
    assert "resourceVersion" not in answer.body["metadata"]
    assert space.secrets.get("a").status == 404


def test_a_create_generates_a_name(space: Space) -> None:
    body = {"metadata": {"generateName": "a-"}}
    answer = space.client.post(space.secrets.path, body, dryRun="All")
    assert answer.body["metadata"]["name"].startswith("a-")
    assert space.secrets.names() == []


def test_a_create_of_what_exists_is_refused_as_ever(space: Space) -> None:
    space.secrets.create("a")
    body = {"metadata": {"name": "a"}}
    assert space.client.post(space.secrets.path, body, dryRun="All").status == 409


def test_an_invalid_object_is_refused_as_ever(space: Space) -> None:
    body = {"metadata": {"name": "Bad"}}
    assert space.client.post(space.secrets.path, body, dryRun="All").status == 422


def test_an_update_answers_with_what_would_be_stored(space: Space) -> None:
    config_map = space.config_maps.create("a", data={"k": "v"})
    answer = space.config_maps.put({"metadata": {"name": "a"}, "data": {"k": "w"}}, dryRun="All")
    assert (answer.status, answer.body["data"]) == (200, {"k": "w"})
    assert space.config_maps.read("a") == config_map


@pytest.mark.both_dialects
def test_a_conflicting_update_is_refused_as_ever(space: Space) -> None:
    config_map = space.config_maps.create("a")
    space.config_maps.label("a", x="1")
    assert space.config_maps.put({**config_map, "data": {"k": "w"}}, dryRun="All").status == 409


def test_an_update_that_would_create_creates_nothing(space: Space) -> None:
    endpoints = space.collection("endpoints")
    answer = endpoints.put({"metadata": {"name": "a"}}, dryRun="All")
    assert answer.status == 201
    assert endpoints.get("a").status == 404


def test_a_status_update_keeps_nothing(space: Space) -> None:
    quotas = space.collection("resourcequotas")
    quota = quotas.create("a", spec={"hard": {"pods": "5"}})
    del quota["metadata"]["resourceVersion"]  # the quota is counted meanwhile
    quota["status"] = {"hard": {"pods": "5"}, "used": {"pods": "3"}}
    answer = space.client.put(quotas.item("a", "status"), quota, dryRun="All")
    assert answer.body["status"]["used"] == {"pods": "3"}
    assert quotas.read("a").get("status", {}).get("used") != {"pods": "3"}


def test_a_patch_keeps_nothing(space: Space) -> None:
    config_map = space.config_maps.create("a", data={"k": "v"})
    answer = space.config_maps.patch("a", {"data": {"k": "x"}}, dryRun="All")
    assert answer.body["data"] == {"k": "x"}
    assert space.config_maps.read("a") == config_map


def test_a_deletion_deletes_nothing(space: Space) -> None:
    config_map = space.config_maps.create("a")
    for answer in (
        space.config_maps.delete("a", dryRun="All"),
        space.config_maps.delete("a", {"dryRun": ["All"]}),
    ):
        assert (answer.status, answer.body["status"]) == (200, "Success")
    assert space.config_maps.read("a") == config_map


def test_a_two_phase_deletion_marks_nothing(space: Space) -> None:
    config_map = space.config_maps.create("a", metadata={"finalizers": ["example.com/f"]})
    answer = space.config_maps.delete("a", dryRun="All")
    assert answer.body["metadata"]["deletionTimestamp"]
    assert space.config_maps.read("a") == config_map


def test_removing_the_last_finalizer_removes_nothing(space: Space) -> None:
    space.config_maps.create("a", metadata={"finalizers": ["example.com/f"]})
    space.config_maps.remove("a")
    value = space.config_maps.read("a")
    value["metadata"]["finalizers"] = []
    assert space.config_maps.put(value, dryRun="All").status == 200
    assert space.config_maps.get("a").status == 200


def test_saying_it_twice_is_saying_it_once(space: Space) -> None:
    body = {"metadata": {"name": "a"}}
    answer = space.client.post(space.secrets.path, body, dryRun=["All", "All"])
    assert answer.status == 201
    assert space.secrets.names() == []


@pytest.mark.both_dialects
@pytest.mark.parametrize("value", ["Sure", "true", "all", "None"])
def test_another_value_is_invalid_for_every_verb(space: Space, value: str) -> None:
    config_map: Object = space.config_maps.create("a")
    answers = [
        (space.client.post(space.config_maps.path, config_map, dryRun=value), "CreateOptions"),
        (space.config_maps.put(config_map, dryRun=value), "UpdateOptions"),
        (space.config_maps.patch("a", {}, dryRun=value), "PatchOptions"),
        (space.config_maps.delete("a", dryRun=value), "DeleteOptions"),
        (space.client.delete(space.config_maps.path, dryRun=value), "DeleteOptions"),
        (space.config_maps.delete("a", {"dryRun": [value]}), "DeleteOptions"),
    ]
    for answer, kind in answers:
        assert answer.status == 422
        assert answer.causes == [("dryRun", "FieldValueNotSupported", UNSUPPORTED.format(value))]
        assert answer.message.startswith(f'{kind}.{space.dialect.meta_group} "" is invalid: ')
    assert space.config_maps.get("a").status == 200


@pytest.mark.parametrize("value", [None, ""], ids=["?dryRun", "?dryRun="])
def test_a_bare_parameter_is_a_real_write_as_specified(cluster: Space, value: str | None) -> None:
    body = {"metadata": {"name": "a"}}
    assert cluster.client.post(cluster.secrets.path, body, dryRun=value).status == 201
    assert cluster.secrets.names() == ["a"]
    assert cluster.secrets.delete("a", dryRun=value).status == 200
    assert cluster.secrets.names() == []


@pytest.mark.parametrize("value", [None, ""], ids=["?dryRun", "?dryRun="])
def test_a_bare_parameter_is_invalid_as_in_the_reference(
    kubernetes: Space, value: str | None
) -> None:
    body = {"metadata": {"name": "a"}}
    answer = kubernetes.client.post(kubernetes.secrets.path, body, dryRun=value)
    assert answer.status == 422
    assert answer.causes == [("dryRun", "FieldValueNotSupported", UNSUPPORTED.format(""))]
