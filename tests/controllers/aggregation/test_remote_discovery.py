"""Groups of extension servers in discovery, by their priorities."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from support.client import Object
from support.kubectl import Kubectl, compared
from support.namespaces import random_word
from support.registered import Shelved


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shelved]:
    running = Shelved(tmp_path_factory.mktemp("shelved"), "kubernetes")
    yield running
    running.close()


@pytest.fixture
def shelved(running: Shelved) -> Shelved:
    running.shelf.reset()
    return running


def groups(shelved: Shelved) -> list[str]:
    return [group["name"] for group in shelved.client.get("/apis").body["groups"]]


def version(group: str, name: str) -> Object:
    return {"groupVersion": f"{group}/{name}", "version": name}


def test_a_registered_group_is_listed_with_its_versions(shelved: Shelved) -> None:
    group = f"{random_word()}.example.com"
    for name in ("v1alpha1", "v2", "v10"):
        shelved.register(group=group, version=name)
    answer = shelved.client.get(f"/apis/{group}")
    assert answer.body == {
        "kind": "APIGroup",
        "apiVersion": "v1",
        "name": group,
        "versions": [version(group, "v10"), version(group, "v2"), version(group, "v1alpha1")],
        "preferredVersion": version(group, "v10"),
    }
    [listed] = [
        item for item in shelved.client.get("/apis").body["groups"] if item["name"] == group
    ]
    assert listed["versions"] == answer.body["versions"]


def test_a_version_of_higher_priority_is_preferred(shelved: Shelved) -> None:
    group = f"{random_word()}.example.com"
    shelved.register(group=group, version="v2")
    shelved.register(group=group, version="v1", versionPriority=20)
    preferred = shelved.client.get(f"/apis/{group}").body["preferredVersion"]
    assert preferred == version(group, "v1")


def test_a_group_stands_where_its_highest_priority_puts_it(shelved: Shelved) -> None:
    group = f"{random_word()}.example.com"
    shelved.register(group=group, version="v1", groupPriorityMinimum=100)
    assert groups(shelved)[-1] == group
    name = shelved.register(group=group, version="v2", groupPriorityMinimum=17450)
    place = groups(shelved).index(group)
    assert groups(shelved)[place - 1 : place + 2] == ["autoscaling", group, "batch"]
    shelved.services.remove(name)
    assert groups(shelved)[-1] == group


def test_nothing_comes_before_the_group_that_all_are_registered_in(shelved: Shelved) -> None:
    group = f"{random_word()}.example.com"
    shelved.register(group=group, groupPriorityMinimum=20000)
    assert groups(shelved)[:3] == ["apiregistration.k8s.io", group, "apps"]


def test_nobody_takes_over_the_group_that_all_are_registered_in(shelved: Shelved) -> None:
    name = shelved.register(group="apiregistration.k8s.io")
    shelved.becomes(name, "True")
    assert name in shelved.services.names()
    shelved.services.remove(name)


def test_groups_of_the_same_priority_go_by_name(shelved: Shelved) -> None:
    word = random_word()
    created = [f"{letter}-{word}.example.com" for letter in "cab"]
    for group in created:
        shelved.register(group=group, groupPriorityMinimum=3333)
    assert [group for group in groups(shelved) if word in group] == sorted(created)


def test_a_server_that_cannot_be_used_is_listed(shelved: Shelved) -> None:
    name = shelved.register("absent")
    shelved.becomes(name, "False")
    group = name.partition(".")[2]
    assert group in groups(shelved)
    assert shelved.client.get(f"/apis/{group}").status == 200


def test_a_group_goes_with_its_last_registration(shelved: Shelved) -> None:
    name = shelved.register()
    group = name.partition(".")[2]
    shelved.services.remove(name)
    assert group not in groups(shelved)
    assert shelved.client.get(f"/apis/{group}").status == 404


def test_the_resources_of_a_version_are_told_by_who_serves_it(shelved: Shelved) -> None:
    name = shelved.register()
    shelved.becomes(name, "True")
    group = name.partition(".")[2]
    answer = shelved.client.get(f"/apis/{group}/v1")
    assert answer.body["groupVersion"] == f"{group}/v1"
    assert answer.body["resources"][0]["name"] == "books"


def test_the_resources_of_a_version_are_not_told_while_nobody_serves_it(shelved: Shelved) -> None:
    name = shelved.register("nobody")
    shelved.becomes(name, "False")
    answer = shelved.client.get(f"/apis/{name.partition('.')[2]}/v1")
    assert answer.status == 503
    assert "service unavailable" in answer.text


@compared
def test_kubectl_finds_what_others_serve(shelved: Shelved, tmp_path: Path) -> None:
    name = shelved.register()
    shelved.becomes(name, "True")
    group = name.partition(".")[2]
    space = shelved.space()
    shelved.shelf.put(space.name, "dune")
    kubectl = Kubectl(shelved.server, space.name, tmp_path)
    assert kubectl("get", f"books.{group}", "--output=name") == f"book.{group}/dune\n"
    [row] = [line for line in kubectl("get", "apiservices").splitlines() if name in line]
    assert row.split()[:3] == [name, "default/shelf", "True"]


def test_paths_of_registered_versions_are_listed(shelved: Shelved) -> None:
    group = shelved.register().partition(".")[2]
    listed = shelved.client.get("/").body["paths"]
    assert {f"/apis/{group}", f"/apis/{group}/v1"} <= set(listed)


def test_a_version_of_a_builtin_group_can_be_served_elsewhere(shelved: Shelved) -> None:
    name = shelved.register(group="batch", version="v9", versionPriority=1)
    versions = [item["version"] for item in shelved.client.get("/apis/batch").body["versions"]]
    assert versions == ["v1", "v9"]
    shelved.services.remove(name)


@pytest.mark.parametrize(
    ("method", "path", "verb", "resource"),
    [
        ("GET", "/books", "list", "books"),
        ("GET", "/books?watch=1", "watch", "books"),
        ("GET", "/watch/books", "watch", "books"),
        ("DELETE", "/namespaces/default/books", "deletecollection", "books"),
        ("GET", "/namespaces/default/books/a", "get", "books"),
        ("PUT", "/namespaces/default/books/a/pages", "update", "books/pages"),
        ("PATCH", "/namespaces/default/books/a", "patch", "books"),
        ("POST", "/namespaces/default/books", "create", "books"),
    ],
)
def test_the_rights_to_what_others_serve_go_by_verb_and_resource(
    shelved: Shelved, method: str, path: str, verb: str, resource: str
) -> None:
    group = shelved.register().partition(".")[2]
    alice = shelved.server.client("alice-token")
    answer = alice.request(method, f"/apis/{group}/v1{path}")
    assert answer.status == 403
    text = f'cannot {verb} resource "{resource}" in API group "{group}"'
    assert text in answer.message
