"""`fairlead describe`: its arguments, and errors of single objects."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.commands import Commands


def names(out: str) -> list[str]:
    return [line.split()[1] for line in out.splitlines() if line.startswith("Name:")]


def test_one_object(fairlead: Commands) -> None:
    fairlead.space.config_maps.create("a", labels={"k": "v"}, data={"key": "value"})
    assert fairlead("describe", "cm", "a") == (
        f"Name:         a\nNamespace:    {fairlead.space.name}\nLabels:       k=v\n"
        "Annotations:  <none>\n\nData\n====\nkey:\n----\nvalue\n\nBinaryData\n====\n\n"
        "Events:  <none>\n"
    )


@pytest.mark.parametrize("words", ["cm/a cm/b", "configmaps a b", "configmap/a configmaps/b"])
def test_several_objects_have_two_blank_lines_between_them(fairlead: Commands, words: str) -> None:
    fairlead.space.config_maps.create_all("a", "b")
    first, second = fairlead("describe", *words.split()).split("\n\n\n")
    assert (names(first), names(second)) == (["a"], ["b"])


def test_all_of_a_kind(fairlead: Commands) -> None:
    fairlead.space.secrets.create_all("a", "b", "c")
    assert names(fairlead("describe", "secrets")) == ["a", "b", "c"]


def test_pages_of_a_list_are_put_together(fairlead: Commands) -> None:
    fairlead.space.secrets.create_all("a", "b", "c")
    for size in ("0", "1", "2"):
        assert names(fairlead("describe", "secrets", "--chunk-size", size)) == ["a", "b", "c"]


def test_labels_choose(fairlead: Commands) -> None:
    fairlead.space.secrets.create("a", labels={"k": "1"})
    fairlead.space.secrets.create("b", labels={"k": "2"})
    assert names(fairlead("describe", "secrets", "-l", "k=2")) == ["b"]


def test_objects_of_all_namespaces(fairlead: Commands) -> None:
    fairlead.space.secrets.create("a")
    ran = fairlead("describe", "secrets", "-A", "-n", "default")
    assert f"Namespace:    {fairlead.space.name}\n" in ran


def test_a_name_that_is_not_there_is_taken_for_the_beginning_of_names(fairlead: Commands) -> None:
    fairlead.space.secrets.create_all("web-1", "web-2", "db-1")
    out = fairlead("describe", "secret", "web")
    assert names(out) == ["web-1", "web-2"]
    assert out.endswith("====\n\n")


def test_the_whole_name_is_meant_where_there_is_such_an_object(fairlead: Commands) -> None:
    fairlead.space.secrets.create_all("web", "web-2")
    assert names(fairlead("describe", "secret", "web")) == ["web"]


def test_a_name_that_nothing_begins_with(fairlead: Commands) -> None:
    ran = fairlead.run("describe", "secret", "x")
    assert ran == (1, "", 'Error from server (NotFound): secrets "x" not found\n')


def test_what_is_there_is_shown_though_others_are_missing(fairlead: Commands) -> None:
    fairlead.space.secrets.create_all("a", "c")
    ran = fairlead.run("describe", "secret/a", "secret/b", "secret/c", "secret/b")
    assert ran.code == 1
    assert names(ran.out) == ["a", "c"]
    assert ran.errors == 'Error from server (NotFound): secrets "b" not found\n'


def test_nothing_to_describe(fairlead: Commands) -> None:
    ran = fairlead.run("describe", "secrets")
    assert ran == (0, "", f"No resources found in {fairlead.space.name} namespace.\n")
    ran = fairlead.run("describe", "replicationcontrollers", "-A", "-l", "no=such")
    assert ran == (0, "", "No resources found\n")


def test_objects_of_files(fairlead: Commands, tmp_path: Path) -> None:
    fairlead.space.secrets.create_all("a", "b")
    manifest = "apiVersion: v1\nkind: Secret\nmetadata: {name: %s}\n"
    (tmp_path / "a.yaml").write_text(manifest % "a")
    assert names(fairlead("describe", "-f", str(tmp_path))) == ["a"]
    assert names(fairlead("describe", "-f", "-", text=manifest % "b")) == ["b"]
    ran = fairlead.run("describe", "-f", "-", text=manifest % "c")
    assert ran == (1, "", 'Error from server (NotFound): secrets "c" not found\n')


def test_events_can_be_left_out(fairlead: Commands) -> None:
    fairlead.space.config_maps.create("a")
    assert "Events:" in fairlead("describe", "cm", "a")
    assert "Events:" not in fairlead("describe", "cm", "a", "--show-events=false")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("", "name the kind to describe"),
        ("secrets a -A", "a name cannot be used with -A: leave out one of them"),
        ("secrets a -l k=v", "names and a selector contradict each other: give one of them"),
        ("secrets -f x", 'file "x" does not exist'),
        ("nosuch", 'the server does not serve "nosuch"'),
        ("secrets --chunk-size -1", "--chunk-size must not be negative: -1"),
        ("secrets --chunk-size x", "--chunk-size"),
    ],
)
def test_words_that_mean_nothing(fairlead: Commands, words: str, message: str) -> None:
    ran = fairlead.run("describe", *words.split())
    assert (ran.code, ran.out) == (1, "")
    assert ran.errors.startswith("error: ")
    assert message in ran.errors
