"""`fairlead history`: the kept versions of an object."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
import yaml
from support.commands import Commands
from support.power import Power
from support.terminals import on_terminal

from fairlead.cli.targets import ObjectReference
from fairlead.cli.versions import retained, served
from fairlead.client import ResourceType
from fairlead.client.errors import Expired

APPLY = "application/apply-patch+yaml"


def events_of(fairlead: Commands, *words: str) -> list[dict[str, Any]]:
    """The versions, as programs get them."""
    versions: list[dict[str, Any]] = json.loads(fairlead("history", *words, "-o", "json"))[
        "versions"
    ]
    return versions


def changed(fairlead: Commands, value: Any, manager: str = "one") -> None:
    answer = fairlead.space.config_maps.patch("a", value, fieldManager=manager)
    assert answer.status == 200, answer.text


@pytest.fixture
def life(fairlead: Commands) -> Commands:
    """A ConfigMap that was created and changed twice."""
    fairlead.space.config_maps.create("a", data={"x": "1"})
    changed(fairlead, {"data": {"x": "2"}}, "one")
    changed(fairlead, {"metadata": {"labels": {"l": "v"}}}, "two")
    return fairlead


def test_every_version_is_shown_as_a_difference_newest_last(life: Commands) -> None:
    first, second, third = life("history", "cm", "a").split("\nrevision ")[1:]
    assert first.splitlines()[0].endswith("created")
    assert re.search(r"^\+  x: ['\"]1['\"]$", first, re.MULTILINE)
    assert re.search(r"^-  x: ['\"]1['\"]\n\+  x: ['\"]2['\"]$", second, re.MULTILINE)
    assert "+    l: v" in third


def test_each_version_names_who_made_it_and_when(life: Commands) -> None:
    output = life("history", "cm", "a")
    assert re.findall(r"^By: +(.*)$", output, re.MULTILINE) == [
        "tests (Update)",
        "one (Update)",
        "two (Update)",
    ]
    stamp = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ \(\d+s ago\)"
    assert len(re.findall(rf"^When: +{stamp}$", output, re.MULTILINE)) == 3


def test_one_who_writes_twice_in_a_second_is_named_for_both(life: Commands) -> None:
    changed(life, {"data": {"x": "3"}}, "one")
    changed(life, {"data": {"x": "4"}}, "one")
    assert [manager["manager"] for manager in events_of(life, "cm", "a")[-1]["managers"]] == ["one"]


def test_an_applier_that_takes_a_field_is_its_author_and_not_who_lost_it(life: Commands) -> None:
    answer = life.space.client.patch(
        life.space.config_maps.item("a"),
        {"apiVersion": "v1", "kind": "ConfigMap", "data": {"x": "9"}},
        kind=APPLY,
        fieldManager="taker",
        force="true",
    )
    assert answer.status == 200, answer.text
    assert events_of(life, "cm", "a")[-1]["managers"] == [
        {"manager": "taker", "operation": "Apply"}
    ]


def test_the_subresource_of_a_change_is_named(fairlead: Commands) -> None:
    claims = fairlead.space.collection("resourcequotas")
    claims.create("q", spec={"hard": {"pods": "1"}})
    answer = fairlead.space.client.patch(
        claims.item("q", "status"), {"status": {"hard": {"pods": "7"}}}, fieldManager="one"
    )
    assert answer.status == 200, answer.text
    assert "one (Update status)" in fairlead("history", "resourcequota", "q")


def test_deletions_and_new_objects_of_the_name_are_part_of_it(life: Commands) -> None:
    life.space.config_maps.remove("a")
    assert [message["change"] for message in events_of(life, "cm", "a")][-1] == "deleted"
    life.space.config_maps.create("a", data={"y": "1"})
    *_, gone, again = events_of(life, "cm", "a")
    assert (gone["change"], again["change"]) == ("deleted", "created")
    assert not [line for line in again["difference"].splitlines() if line.startswith("-")]
    deleted = life("history", "cm", "a").split("\nrevision ")[-2]
    assert re.fullmatch(r"\d+  deleted\nUser:  admin\nWhen:  \S+Z \(\d+s ago\)\n", deleted)


def test_an_object_that_never_was(fairlead: Commands) -> None:
    ran = fairlead.run("history", "cm", "nope")
    assert ran.code == 1
    assert ran.errors == 'Error from server (NotFound): configmaps "nope" not found\n'


def test_only_the_newest_versions(life: Commands) -> None:
    (last,) = events_of(life, "cm", "a", "--limit", "1")
    assert last["managers"][0]["manager"] == "two"
    assert "+    l: v" in last["difference"]


def test_only_versions_since_a_time(life: Commands) -> None:
    assert len(events_of(life, "cm", "a", "--since", "1h")) == 3
    assert events_of(life, "cm", "a", "--since", "2999-01-01T00:00:00Z") == []
    assert len(events_of(life, "cm", "a", "--since", "2001-01-01T00:00:00Z")) == 3


def test_only_changes_of_a_field(life: Commands) -> None:
    items = events_of(life, "cm", "a", "--fields", ".data.x")
    assert [item["object"] for item in items] == [{"data": {"x": "1"}}, {"data": {"x": "2"}}]


def test_fields_of_items_and_with_dots_in_their_names(fairlead: Commands) -> None:
    note = {"annotations": {"a.b/c": "1", "other": "2"}, "finalizers": ["x.y/z"]}
    fairlead.space.config_maps.create("a", metadata=note)
    words = ("cm", "a", "--fields", r"metadata.annotations.a\.b/c,metadata.finalizers[0]")
    (only,) = events_of(fairlead, *words)
    assert only["object"] == {
        "metadata": {"annotations": {"a.b/c": "1"}, "finalizers": ["x.y/z"]},
    }
    changed(fairlead, {"metadata": {"finalizers": None}})


def test_fields_that_are_not_there(life: Commands) -> None:
    assert events_of(life, "cm", "a", "--fields", "data.y,metadata.managedFields[9].x") == []
    output = life("history", "cm", "a", "--fields", "data.y")
    assert output.endswith("\nNo changes match.\n")


def test_noise_is_shown_only_when_asked_for(life: Commands) -> None:
    assert "resourceVersion" not in life("history", "cm", "a")
    output = life("history", "cm", "a", "--all")
    assert "resourceVersion" in output
    assert "managedFields" in output


def test_the_object_as_it_was_at_a_revision(life: Commands) -> None:
    versions = events_of(life, "cm", "a")
    old = yaml.safe_load(life("history", "cm", "a", "--revision", versions[0]["revision"]))
    assert old["data"] == {"x": "1"}
    assert (old["kind"], old["metadata"]["resourceVersion"]) == (
        "ConfigMap",
        versions[0]["revision"],
    )


def test_a_revision_at_which_it_was_not_there(life: Commands) -> None:
    before = int(events_of(life, "cm", "a")[0]["revision"]) - 1
    ran = life.run("history", "cm", "a", "--revision", str(before))
    assert ran.code == 1
    assert ran.errors.startswith("Error from server (NotFound): ")
    assert f"at revision {before}" in ran.errors


def test_the_user_who_wrote_a_version_is_named_where_the_server_knows_them(life: Commands) -> None:
    assert re.findall(r"^User: +(.*)$", life("history", "cm", "a"), re.MULTILINE) == ["admin"] * 3
    headers = {"Impersonate-User": "eve", "Impersonate-Group": "system:masters"}
    path = life.space.config_maps.item("a")
    value = {**life.space.config_maps.read("a"), "data": {"x": "9"}}
    assert life.space.client.put(path, value, headers=headers).status == 200
    last = events_of(life, "cm", "a")[-1]
    assert (last["user"], last["impersonator"]) == ("eve", "admin")


def test_a_server_that_does_not_tell_users_is_asked_in_the_standard_way(
    life: Commands, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = events_of(life, "cm", "a")
    monkeypatch.setattr(served, "_PATH", "/no-such-path")
    assert "User:" not in life("history", "cm", "a")
    assert [message["revision"] for message in events_of(life, "cm", "a")] == [
        item["revision"] for item in before
    ]
    old = yaml.safe_load(life("history", "cm", "a", "--at", before[0]["revision"]))
    assert old["data"] == {"x": "1"}


def test_a_line_for_each_version(life: Commands) -> None:
    head, *lines = life("history", "cm", "a", "--brief").splitlines()
    assert head.split() == ["REVISION", "CHANGE", "AGE", "USER", "MANAGERS", "FIELDS"]
    assert [line.split()[1] for line in lines] == ["created", "changed", "changed"]
    assert lines[1].endswith("admin   one (Update)     data.x")


def test_the_difference_between_two_revisions(life: Commands) -> None:
    first, second, third = (message["revision"] for message in events_of(life, "cm", "a"))
    output = life("history", "cm", "a", "--diff", first, third)
    assert output.startswith(f"--- revision {first}\n+++ revision {third}\n@@")
    assert re.search(r"^-  x: ['\"]1['\"]\n\+  x: ['\"]2['\"]$", output, re.MULTILINE)
    assert "+    l: v" in output
    back = json.loads(life("history", "--diff", third, second, "cm", "a", "-o", "json"))
    assert (back["from"], back["to"]) == (third, second)
    assert "-    l: v" in back["difference"]
    same = life("history", "cm", "a", f"--diff={first}", first)
    assert same == "No differences match.\n"


def test_a_revision_at_which_it_was_not_there_is_compared_as_nothing(life: Commands) -> None:
    first = events_of(life, "cm", "a")[0]["revision"]
    output = life("history", "cm", "a", "--diff", str(int(first) - 1), first)
    assert not [line for line in output.splitlines()[2:] if line.startswith("-")]
    ran = life.run("history", "cm", "nope", "--diff", first, first)
    assert ran.errors.startswith("Error from server (NotFound): ")


def test_values_of_secrets_are_not_seen_in_a_difference(fairlead: Commands) -> None:
    fairlead.space.secrets.create("s", data={"key": "YQ=="})
    fairlead.space.secrets.patch("s", {"data": {"key": "Yg=="}})
    first, second = (message["revision"] for message in events_of(fairlead, "secret", "s"))
    output = fairlead("history", "secret", "s", "--diff", first, second)
    assert "*** (after)" in output
    assert "Yg==" not in output


@pytest.mark.parametrize(
    "flags",
    [
        ("--diff", "1"),
        ("--diff", "1", "x"),
        ("--limit", "0"),
        ("--limit", "x"),
        ("--since", "soon"),
        ("--fields", "."),
        ("--fields", "a["),
        ("--revision", "-1"),
        ("--revision", "9" * 5000),
        ("-o", "xml"),
    ],
)
def test_flags_that_mean_nothing(fairlead_kubernetes: Commands, flags: tuple[str, ...]) -> None:
    ran = fairlead_kubernetes.run("history", "cm", "a", *flags)
    assert ran.code == 1
    assert ran.errors.startswith("error: ")
    assert "Traceback" not in ran.errors


def test_values_of_secrets_are_seen_to_change_and_not_seen(fairlead: Commands) -> None:
    fairlead.space.secrets.create("s", data={"key": "YQ==", "same": "Yw=="})
    fairlead.space.secrets.patch("s", {"data": {"key": "Yg=="}})
    output = fairlead("history", "secret", "s")
    assert not {"YQ==", "Yg==", "Yw=="} & set(re.findall(r"\w+==", output))
    assert "*** (before)" in output
    assert "*** (after)" in output
    assert "Yg==" in fairlead("history", "secret", "s", "--show-secrets")


def test_differences_are_coloured_on_a_terminal(life: Commands) -> None:
    text = on_terminal(life, "history", "cm", "a")
    assert re.search(r"^\x1b\[31m-  x: ", text, re.MULTILINE)
    assert re.search(r"^\x1b\[32m\+  x: ", text, re.MULTILINE)
    assert "\x1b" not in life("history", "cm", "a")


def ageless(text: str) -> list[str]:
    """Return each printed version, without its age."""
    return re.sub(r" \(\w+ ago\)$", "", text, flags=re.MULTILINE).split("\nrevision ")[1:]


def test_history_that_was_cut_says_from_where_on_it_is_known(
    power: Power, monkeypatch: pytest.MonkeyPatch
) -> None:
    fairlead, maps = Commands(power.space), power.maps
    resource_version = maps.create("a", data={"x": "1"})["metadata"]["resourceVersion"]
    maps.create("later")
    power.restore(power.snapshot())  # what was before can be told no more
    assert maps.list(resourceVersion=resource_version, resourceVersionMatch="Exact").status == 410
    changed(fairlead, {"data": {"x": "2"}})
    output = fairlead("history", "cm", "a")
    assert re.search(r"^The server knows its history from revision \d+ on\.$", output, re.MULTILINE)
    first, second = ageless(output)
    assert first.splitlines()[0] == f"{resource_version}  as it is first known"
    assert re.search(r"^\+  x: ['\"]2['\"]$", second, re.MULTILINE)
    monkeypatch.setattr(retained, "_FLOOR", re.compile("a server that does not name it"))
    assert ageless(fairlead("history", "cm", "a")) == [first, second]


class Elsewhere:
    """A server that expires history like the reference: watches get an ERROR event, and lists reach
    less far back than watches."""

    type = ResourceType("", "v1", "configmaps", "ConfigMap", True)
    watchable_from, listable_from, newest = 40, 60, 70

    def __init__(self) -> None:
        self.session = self

    def path(self, name: str, namespace: str) -> str:
        return f"/api/v1/namespaces/{namespace}/configmaps"

    def version(self, revision: int) -> dict[str, Any]:
        metadata = {"name": "a", "resourceVersion": str(revision)}
        return {"kind": "ConfigMap", "apiVersion": "v1", "metadata": metadata}

    async def page(self, namespace: str, **query: str) -> dict[str, Any]:
        if int(query.get("resourceVersion", self.newest)) < self.listable_from:
            raise Expired({"code": 410, "reason": "Expired"})
        items = [self.version(self.newest)]
        return {"metadata": {"resourceVersion": str(self.newest)}, "items": items}

    @asynccontextmanager
    async def open(self, request: Any) -> AsyncIterator[Elsewhere]:
        self.watched_from = int(request.query["resourceVersion"])
        yield self

    async def lines(self) -> AsyncIterator[bytes]:
        if self.watched_from < self.watchable_from:
            message = f"too old resource version: {self.watched_from} ({self.watchable_from})"
            status = {"kind": "Status", "code": 410, "reason": "Expired", "message": message}
            yield json.dumps({"type": "ERROR", "object": status}).encode()
            return
        for revision in (50, 70):
            event = {"type": "MODIFIED", "object": self.version(revision)}
            yield json.dumps(event).encode()


def test_the_history_of_a_server_whose_watches_reach_farther_back_than_its_lists() -> None:
    elsewhere: Any = Elsewhere()  # a resource and its session at once
    named = ObjectReference(elsewhere, "a", "default")
    result = asyncio.run(retained.history_of(named))
    assert result.since == 40
    assert [(version.revision, version.change) for version in result.versions] == [
        (50, "changed"),
        (70, "changed"),
    ]
