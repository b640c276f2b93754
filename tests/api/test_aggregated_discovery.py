"""Aggregated discovery, release 1.36: all groups and their resources in one document."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.client import Answer, Client
from support.definitions import Kind
from support.namespaces import Space
from support.process import ServerProcess
from support.scripted_extension import Extended, ScriptedExtension
from support.waiting import eventually

from fairlead.codec.protobuf import envelope

FORM = "g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
AGGREGATED = f"application/json;{FORM}"
BETA = AGGREGATED.replace("v=v2", "v=v2beta1")
PROTOBUF = "application/vnd.kubernetes.protobuf"


@pytest.fixture
def client_1_36(server_1_36: ServerProcess) -> Iterator[Client]:
    client = server_1_36.client()
    yield client
    client.close()


def discovered(client: Client, path: str, accept: str = AGGREGATED, **headers: str) -> Answer:
    return client.get(path, headers={"Accept": accept, **headers})


def versions(client: Client, group: str) -> dict[str, Any]:
    items = discovered(client, "/apis").body["items"]
    [item] = [item for item in items if item["metadata"]["name"] == group]
    return {version["version"]: version for version in item["versions"]}


def test_the_document_holds_what_the_plain_ones_do(client_1_36: Client) -> None:
    answer = discovered(client_1_36, "/apis")
    assert answer.headers["Content-Type"] == AGGREGATED
    assert (answer.body["kind"], answer.body["apiVersion"]) == (
        "APIGroupDiscoveryList",
        "apidiscovery.k8s.io/v2",
    )
    plain = client_1_36.get("/apis").body["groups"]
    assert [item["metadata"]["name"] for item in answer.body["items"]] == [
        group["name"] for group in plain
    ]
    for group in plain:
        shown = [version["version"] for version in group["versions"]]
        assert list(versions(client_1_36, group["name"])) == shown


def test_a_resource_has_its_subresources(client_1_36: Client) -> None:
    [core] = discovered(client_1_36, "/api").body["items"]
    [version] = core["versions"]
    assert (core["metadata"], version["freshness"]) == ({}, "Current")
    [scaled] = [r for r in version["resources"] if r["resource"] == "replicationcontrollers"]
    assert scaled == {
        "resource": "replicationcontrollers",
        "responseKind": {"group": "", "version": "", "kind": "ReplicationController"},
        "scope": "Namespaced",
        "singularResource": "replicationcontroller",
        "verbs": [
            "create",
            "delete",
            "deletecollection",
            "get",
            "list",
            "patch",
            "update",
            "watch",
        ],
        "shortNames": ["rc"],
        "categories": ["all"],
        "subresources": [
            {
                "subresource": "scale",
                "responseKind": {"group": "autoscaling", "version": "v1", "kind": "Scale"},
                "verbs": ["get", "patch", "update"],
            },
            {
                "subresource": "status",
                "responseKind": {"group": "", "version": "", "kind": "ReplicationController"},
                "verbs": ["get", "patch", "update"],
            },
        ],
    }


def test_a_document_that_the_client_has_is_not_sent_again(client_1_36: Client) -> None:
    first = discovered(client_1_36, "/api")
    tag = first.headers["ETag"]
    assert len(tag) == 130
    assert (first.headers["Vary"], first.headers["Cache-Control"]) == ("Accept", "public")
    again = discovered(client_1_36, "/api", **{"If-None-Match": tag})
    assert (again.status, again.raw, again.headers["ETag"]) == (304, b"", tag)
    assert discovered(client_1_36, "/api", **{"If-None-Match": '"other"'}).status == 200


def test_the_tag_of_the_document_changes_with_a_definition(space_1_36: Space) -> None:
    before = discovered(space_1_36.client, "/apis").headers["ETag"]
    group = Kind(space_1_36).install().group
    assert discovered(space_1_36.client, "/apis").headers["ETag"] != before
    for name, version in versions(space_1_36.client, group).items():
        for resource in version["resources"]:
            kind = resource["responseKind"]
            assert (kind["group"], kind["version"]) == (group, name)


def test_protobuf(client_1_36: Client) -> None:
    answer = discovered(client_1_36, "/apis", f"{PROTOBUF};{FORM}")
    assert answer.headers["Content-Type"] == f"{PROTOBUF};{FORM}"
    assert envelope(answer.content)[:2] == ("apidiscovery.k8s.io/v2", "APIGroupDiscoveryList")
    assert b"deployments" in answer.content


@pytest.mark.parametrize(
    ("accept", "kind"),
    [
        (f"{AGGREGATED};profile=nopeer", "APIGroupDiscoveryList"),
        (f"{AGGREGATED},{BETA},application/json", "APIGroupDiscoveryList"),
        (f"{BETA},application/json", "APIGroupList"),
        (f"application/json,{AGGREGATED}", "APIGroupList"),
        (f"{AGGREGATED};q=0.5,application/json", "APIGroupList"),
        (f"*/*;{FORM}", "APIGroupDiscoveryList"),
        (BETA, "Status"),
        (AGGREGATED.replace("v=v2", "v=v3"), "Status"),
    ],
)
def test_the_first_known_form_is_sent(client_1_36: Client, accept: str, kind: str) -> None:
    answer = discovered(client_1_36, "/apis", accept)
    assert answer.body["kind"] == kind
    assert answer.status == (406 if kind == "Status" else 200)


def test_release_1_25_has_no_aggregated_discovery(client: Client) -> None:
    assert discovered(client, "/apis").status == 406


def test_singular_names_are_those_of_kinds(client_1_36: Client) -> None:
    listed = client_1_36.get("/apis/apps/v1").body["resources"]
    names = {entry["name"]: entry["singularName"] for entry in listed}
    assert (names["deployments"], names["deployments/scale"]) == ("deployment", "")


@pytest.fixture(scope="module")
def extended(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Extended]:
    extended = Extended(tmp_path_factory.mktemp("extended-1.36"), "kubernetes", "--release=1.36")
    yield extended
    extended.server.stop()


GADGETS = {
    "resources": [
        {"name": "gadgets", "kind": "Gadget", "namespaced": True, "verbs": ["get"]},
        {"name": "gadgets/status", "kind": "Gadget", "namespaced": True, "verbs": ["get", 3]},
        {"name": ""},
        7,
    ]
}


def test_the_resources_of_an_extension_server_are_listed(
    extended: Extended, tmp_path: Path
) -> None:
    server = ScriptedExtension(tmp_path)
    server.say("/apis/gadgets.example.com/v1", GADGETS)
    extended.register(server.port, "gadgets.example.com")

    def version() -> Any:
        return versions(extended.client, "gadgets.example.com")["v1"]

    eventually(lambda: version()["freshness"] == "Current", "the resources are known")
    [gadgets] = version()["resources"]
    assert (gadgets["resource"], gadgets["scope"]) == ("gadgets", "Namespaced")
    assert gadgets["subresources"][0]["verbs"] == ["get"]
    server.say("/apis/gadgets.example.com/v1", {}, 503)
    extended.api_services.label("v1.gadgets.example.com", changed="1")
    eventually(lambda: version()["freshness"] == "Stale", "the server does not answer")
    assert version()["resources"] == [gadgets]
    extended.api_services.delete("v1.gadgets.example.com")
    server.close()
