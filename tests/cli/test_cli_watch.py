"""`fairlead watch`: all changes as they happen."""

from __future__ import annotations

import json
import re
import threading

import pytest
from support.commands import Commands
from support.following import Following
from support.namespaces import Collection, random_word
from support.terminals import on_terminal
from support.waiting import eventually


def followed(fairlead: Commands, *words: str) -> Following:
    following = Following(fairlead, "watch", *words)
    assert following.error_line().startswith("Watching ")
    return following


def test_changes_of_all_kinds_are_told_with_who_made_them(fairlead: Commands) -> None:
    space = fairlead.space
    with followed(fairlead) as following:
        space.config_maps.create("a", data={"k": "v"})
        line = following.line()
        while "default" in line or "root-ca" in line:  # what a new namespace is given
            line = following.line()
        assert re.fullmatch(
            rf"\d\d:\d\d:\d\d  created +ConfigMap +{space.name}/a +by tests", line
        ), line
        space.config_maps.patch("a", {"data": {"k": "w"}}, fieldManager="me")
        assert re.search(
            r"changed +ConfigMap +\S+/a +by me +\.data\.k: \"v\" -> \"w\"$", following.line()
        )
        space.secrets.create("s", data={"p": "YQ=="})
        assert "created   Secret" in following.line()
        space.secrets.patch("s", {"data": {"p": "Yg=="}})
        line = following.line()
        assert '.data.p: "*** (before)" -> "*** (after)"' in line
        space.secrets.remove("s")
        assert re.search(r"deleted +Secret +\S+/s$", following.line())
        assert following.interrupt() == 130
        assert following.errors.empty()


def test_named_kinds_selectors_and_managers_narrow_it(fairlead_kubernetes: Commands) -> None:
    space = fairlead_kubernetes.space
    words = ("configmaps,leases", "-l", "x=y", "--manager", "me", "-o", "json", "--limit", "1")
    with followed(fairlead_kubernetes, *words) as following:
        space.secrets.create("s", labels={"x": "y"})
        space.config_maps.create("other")
        space.config_maps.create("a", labels={"x": "y"})
        space.config_maps.patch("a", {"data": {"k": "v"}}, fieldManager="me")
        numbers = json.loads(following.line())
        assert following.process.wait(20) == 0
    assert (numbers["change"], numbers["kind"], numbers["name"]) == ("changed", "ConfigMap", "a")
    assert numbers["namespace"] == space.name
    assert numbers["managers"] == ["me"]
    assert numbers["changed"] == {".data": {"now": {"k": "v"}}}
    assert numbers["object"]["data"] == {"k": "v"}


def test_a_change_can_be_shown_as_a_difference(fairlead_kubernetes: Commands) -> None:
    space = fairlead_kubernetes.space
    space.config_maps.create("a", data={"k": "v"})
    with followed(fairlead_kubernetes, "cm", "--diff", "--limit", "1") as following:
        space.config_maps.patch("a", {"data": {"k": "\x1b[31m"}})
        following.process.wait(20)
        eventually(lambda: following.out.qsize() > 2, "the difference is there")
        lines = list(following.out.queue)
    assert "-  k: v" in lines
    assert any(line.startswith("+  k: ") for line in lines)
    assert "\x1b" not in "".join(lines)


def test_kinds_that_are_defined_later_are_watched_too(fairlead_kubernetes: Commands) -> None:
    space = fairlead_kubernetes.space
    word = random_word()
    group = f"{word}.example.com"
    names = {"plural": "boats", "singular": "boat", "kind": "Boat"}
    schema = {"openAPIV3Schema": {"type": "object"}}
    version = {"name": "v1", "served": True, "storage": True, "schema": schema}
    definitions = space.everywhere("customresourcedefinitions", "apiextensions.@")
    boats = Collection(space.client, f"/apis/{group}/v1/namespaces/{space.name}/boats")
    with followed(fairlead_kubernetes) as following:
        spec = {"group": group, "names": names, "scope": "Namespaced", "versions": [version]}
        definitions.create(f"boats.{group}", spec=spec)
        body = {"apiVersion": f"{group}/v1", "kind": "Boat", "metadata": {"name": "b"}}
        eventually(lambda: boats.client.post(boats.path, body).status == 201, "it is served")
        lines = [following.line()]
        while "Boat" not in lines[-1]:
            lines.append(following.line())
    definitions.remove(f"boats.{group}")
    assert f"created   Boat.{group}" in lines[-1]


def test_one_who_may_see_little_is_told_what_is_left_out(fairlead_kubernetes: Commands) -> None:
    ran = fairlead_kubernetes.run("watch", "--as", "nobody")
    assert ran.code == 1
    assert "configmaps is left out: Error from server (Forbidden): " in ran.errors
    named = fairlead_kubernetes.run("watch", "cm", "--as", "nobody")
    assert named.code == 1
    assert named.errors.startswith("Error from server (Forbidden): configmaps is forbidden")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["cm/a"], "error: give kinds, not objects"),
        (["nothings"], 'error: the server does not serve "nothings"'),
        (["-o", "yaml"], 'error: the only output format is json, not "yaml"'),
    ],
)
def test_what_makes_no_sense_is_an_error(
    fairlead_kubernetes: Commands, words: list[str], message: str
) -> None:
    ran = fairlead_kubernetes.run("watch", *words)
    assert ran.code == 1
    assert ran.errors.startswith(message)


def test_colour_is_for_terminals(fairlead_kubernetes: Commands) -> None:
    maps = fairlead_kubernetes.space.config_maps
    event = threading.Event()

    def change() -> None:
        number = 0
        while not event.wait(0.1):
            maps.create(f"m{number}")
            number += 1

    thread = threading.Thread(target=change)
    thread.start()
    try:
        coloured = on_terminal(fairlead_kubernetes, "watch", "cm", "--limit", "1")
        plain = on_terminal(fairlead_kubernetes, "watch", "cm", "--limit", "1", NO_COLOR="1")
    finally:
        event.set()
        thread.join()
    assert "\x1b[32mcreated" in coloured
    assert "created" in plain
    assert "\x1b" not in plain
