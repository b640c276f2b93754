"""History of a namespace that was deleted and created again, for users without other
permissions."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from support.history import Granted, as_alice, at_revision, column, grant_by_name, history, revision
from support.namespaces import Collection, Space
from support.waiting import eventually

READING = ("get", "list", "watch")


@dataclass(slots=True)
class Again:
    """A namespace of a second tenant, alice; the first tenant had a Secret in it at a revision."""

    space: Space
    before: str
    since: str

    @property
    def hers(self) -> Collection:
        return as_alice(self.space, self.space.collection("secrets"))


@pytest.fixture
def again(space: Space) -> Again:
    secrets, namespaces = space.collection("secrets"), space.everywhere("namespaces")
    old = secrets.create("password", stringData={"of": "the first tenant"})
    namespaces.patch(space.name, {"metadata": {"annotations": {"owner": "first"}}})
    namespaces.remove(space.name)
    eventually(lambda: namespaces.get(space.name).status == 404, "the namespace is gone")
    namespace = namespaces.create(space.name)
    Granted(space, "secrets", *READING)
    Granted(space, "namespaces", "get")
    return Again(space, revision(old), revision(namespace))


def test_an_object_of_the_former_namespace_is_not_shown(again: Again) -> None:
    answer = at_revision(again.hers, "password", again.before)
    assert (answer.status, answer.body["reason"]) == (410, "Expired")
    assert at_revision(again.hers, "password", again.since).status == 404
    assert history(again.hers, "password").status == 404
    assert history(again.hers, "password", before=again.since).body["items"] == []


def test_an_object_that_is_made_again_begins_with_its_creation(again: Again) -> None:
    again.space.collection("secrets").create("password")
    assert column(history(again.hers, "password"), "type") == ["ADDED"]


def test_what_happened_in_the_former_namespace_is_not_told(again: Again) -> None:
    again.space.collection("secrets").create("password")
    answer = history(again.hers)
    assert column(answer, "type") == ["ADDED"]
    assert answer.body["metadata"]["oldest"] == again.since
    everything = again.hers.client.get("/history", namespace=again.space.name)
    assert column(everything, "type") == ["ADDED"]


def test_the_feed_does_not_begin_before_the_namespace(again: Again) -> None:
    again.space.collection("secrets").create("password")
    client, place = again.hers.client, again.space.name
    with client.watch("/history", namespace=place, resourceVersion=again.before) as watch:
        first = watch.next()
    assert first.object["type"] == "ADDED"
    assert int(first.object["resourceVersion"]) > int(again.since)


def test_a_list_does_not_show_what_was_in_the_former_namespace(again: Again) -> None:
    query = {"resourceVersion": again.before, "resourceVersionMatch": "Exact"}
    answer = again.hers.list(**query)
    assert (answer.status, answer.body["reason"]) == (410, "Expired")
    assert again.hers.list(resourceVersion=again.before, limit="1").status == 410
    assert "password" in again.space.collection("secrets").list(**query).names
    query["resourceVersion"] = again.since
    assert again.hers.list(**query).names == []


def test_a_watch_does_not_begin_in_the_former_namespace(again: Again) -> None:
    again.space.collection("secrets").create("later")
    with again.hers.watch(resourceVersion=again.before) as watch:
        error = watch.next()
    assert (error.type, error.object["code"], error.object["reason"]) == ("ERROR", 410, "Expired")
    with again.hers.watch(resourceVersion=again.since) as watch:
        assert watch.next().brief == ("ADDED", "later")


def test_a_watch_may_begin_before_a_namespace_that_is_the_first_of_its_name(space: Space) -> None:
    before = revision(space.config_maps.create("x"))
    other = Space(space.server, space.client)
    Granted(other, "configmaps", *READING)
    other.config_maps.create("a")
    with as_alice(other, other.config_maps).watch(
        resourceVersion=before, fieldSelector="metadata.name=a"
    ) as watch:
        assert watch.next().brief == ("ADDED", "a")


def test_neither_is_the_former_namespace_itself(again: Again) -> None:
    hers = as_alice(again.space, again.space.everywhere("namespaces"))
    types = column(history(hers, again.space.name), "type")
    assert types[0] == "ADDED"
    assert "DELETED" not in types
    assert at_revision(hers, again.space.name, again.before).status == 410


def test_nor_to_who_may_read_only_namespaces_of_that_name(again: Again) -> None:
    name = again.space.name
    grant_by_name(again.space, "namespaces", name, *READING)
    hers = as_alice(again.space, again.space.everywhere("namespaces"))
    assert "DELETED" not in column(history(hers, name), "type")
    assert at_revision(hers, name, again.before).status == 410
    named = {"fieldSelector": f"metadata.name={name}", "resourceVersion": again.before}
    assert hers.list(**named, resourceVersionMatch="Exact").status == 410
    assert hers.list(**named, limit="1").status == 410
    with hers.watch(**named) as watch:
        assert watch.next().object["code"] == 410
    named["resourceVersion"] = again.since
    assert hers.list(**named, resourceVersionMatch="Exact").names == [name]


def test_who_may_read_all_namespaces_is_told_of_those_before(again: Again) -> None:
    secrets = again.space.collection("secrets")
    assert at_revision(secrets, "password", again.before).status == 200
    assert column(history(secrets, "password"), "type") == ["ADDED", "DELETED"]


def test_a_namespace_that_was_not_made_again_has_all_of_its_past(space: Space) -> None:
    old = space.config_maps.create("a", data={"x": "1"})
    space.config_maps.patch("a", {"data": {"x": "2"}})
    Granted(space, "configmaps", *READING)
    hers = as_alice(space, space.config_maps)
    assert at_revision(hers, "a", revision(old)).body["data"] == {"x": "1"}
    assert column(history(hers, "a"), "type") == ["ADDED", "MODIFIED"]
