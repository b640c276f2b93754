"""`fairlead owners`: the managers of each field, and the conflicts of an apply."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from support.commands import Commands
from support.terminals import on_terminal

APPLY = "application/apply-patch+yaml"
CONFIG_MAP = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}


def applied(fairlead: Commands, manager: str, data: dict[str, str], **more: Any) -> None:
    space = fairlead.space
    answer = space.client.patch(
        space.config_maps.item("a"),
        {**CONFIG_MAP, "data": data, **more},
        kind=APPLY,
        fieldManager=manager,
    )
    assert answer.status in (200, 201), answer.text


def line_of(text: str, field: str) -> list[str]:
    """The words of the line that begins with a field."""
    (words,) = [line.split() for line in text.splitlines() if line.strip().startswith(field)]
    return words


@pytest.fixture
def shared(fairlead: Commands) -> Commands:
    """A ConfigMap with a field of each of two managers and one of both."""
    applied(fairlead, "one", {"x": "1", "mine": "1"})
    applied(fairlead, "two", {"x": "1", "yours": "1"})
    return fairlead


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "a.yaml"
    path.write_text(json.dumps({**CONFIG_MAP, "data": {"x": "2", "new": "1"}}))
    return path


def test_every_field_is_marked_with_those_who_own_it(shared: Commands) -> None:
    output = shared("owners", "cm", "a")
    assert line_of(output, "mine:")[2:4] == ["one", "(Apply,"]
    both = " ".join(line_of(output, "x:"))
    assert "one (Apply, " in both
    assert "two (Apply, " in both


def test_fields_that_nobody_owns_are_marked(shared: Commands) -> None:
    assert line_of(shared("owners", "cm/a"), "uid:")[-1] == "<none>"


def test_the_managers_stand_on_top(shared: Commands) -> None:
    head, *rows = shared("owners", "cm", "a").split("\n\n")[1].splitlines()
    assert head.split() == [
        *("MANAGER", "OPERATION", "SUBRESOURCE"),
        *("APIVERSION", "AGE", "FIELDS"),
    ]
    assert sorted(row.split()[0] for row in rows) == ["one", "two"]
    assert {row.split()[-1] for row in rows} == {"2"}


def test_only_the_fields_of_one_manager(shared: Commands) -> None:
    part = shared("owners", "cm", "a", "--manager", "one").split("\n\n")[2]
    assert [line.split()[0] for line in part.splitlines()] == ["data:", "mine:", "x:"]


def test_items_of_one_manager_keep_their_dashes(fairlead: Commands) -> None:
    services = fairlead.space.collection("services")
    services.create("s", spec={"ports": [{"port": 80, "appProtocol": "a"}]})
    sent = {"apiVersion": "v1", "kind": "Service", "spec": {"ports": [{"port": 80, "name": "web"}]}}
    answer = fairlead.space.client.patch(services.item("s"), sent, kind=APPLY, fieldManager="one")
    assert answer.status == 200, answer.text
    part = fairlead("owners", "service/s", "--manager", "one").split("\n\n")[2]
    rows = [re.split(r"   +(?=one|tests)", line)[0] for line in part.splitlines()]
    assert [text.rstrip() for text in rows] == [
        "spec:",
        "  ports:",
        "  -",
        "    name: web",
        "    port: 80",
    ]


def test_programs_can_ask_for_one_manager_too(shared: Commands) -> None:
    numbers = json.loads(shared("owners", "cm", "a", "--manager", "one", "-o", "json"))
    assert list(numbers["fields"]) == [".data.mine", ".data.x"]


def test_a_manager_without_fields_is_an_error(shared: Commands) -> None:
    ran = shared.run("owners", "cm", "a", "--manager", "three")
    assert ran.code == 1
    assert '"three" manages no fields' in ran.errors
    assert "(managers: one, two)" in ran.errors


def test_items_of_lists_are_found_by_their_keys(fairlead: Commands) -> None:
    services = fairlead.space.collection("services")
    ports = [{"port": 80, "name": "web"}, {"port": 81, "name": "more"}]
    answer = fairlead.space.client.patch(
        services.item("s"),
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": "s", "finalizers": ["example.com/hold"]},
            "spec": {"ports": ports},
        },
        kind=APPLY,
        fieldManager="one",
    )
    assert answer.status == 201, answer.text
    fields = json.loads(fairlead("owners", "service", "s", "-o", "json"))["fields"]
    mine = [{"manager": "one", "operation": "Apply"}]
    assert fields['.spec.ports[port=81,protocol="TCP"].name'] == mine
    assert fields['.metadata.finalizers[="example.com/hold"]'] == mine
    assert fields[".spec.clusterIP"] == []
    services.patch("s", {"metadata": {"finalizers": None}})


def test_what_is_owned_as_a_whole_is_owned_in_all_its_parts(fairlead: Commands) -> None:
    fairlead.space.client.patch(
        fairlead.space.collection("endpoints").item("e"),
        {
            "apiVersion": "v1",
            "kind": "Endpoints",
            "metadata": {"name": "e"},
            "subsets": [{"addresses": [{"ip": "1.2.3.4"}]}],
        },
        kind=APPLY,
        fieldManager="one",
    )
    fields = json.loads(fairlead("owners", "endpoints", "e", "-o", "json"))["fields"]
    assert fields[".subsets[0].addresses[0].ip"] == [{"manager": "one", "operation": "Apply"}]


def test_conflicts_of_a_file_are_shown_in_their_place(shared: Commands, file: Path) -> None:
    ran = shared.run("owners", "cm", "a", "-f", str(file))
    assert ran.code == 1
    assert "An apply as fairlead conflicts in 1 field with one, two." in ran.out
    theirs, yours = re.findall(r"^[!>] .*$", ran.out, re.MULTILINE)
    assert theirs.split()[:4] == ["!", "x:", '"1"', "theirs:"]
    assert yours.split() == [">", "x:", '"2"', "yours:", "fairlead"]
    assert re.search(r'^\+ +new: "1" +fairlead$', ran.out, re.MULTILINE)


def test_a_plan_changes_nothing(shared: Commands, file: Path) -> None:
    before = shared.space.config_maps.read("a")
    shared.run("owners", "-f", str(file))
    assert shared.space.config_maps.read("a") == before


def test_an_apply_as_the_owner_conflicts_with_nobody(fairlead: Commands, file: Path) -> None:
    applied(fairlead, "one", {"x": "1"})
    output = fairlead("owners", "-f", str(file), "--field-manager", "one")
    assert "An apply as one has no conflicts." in output
    assert re.search(r'^- +x: "1" ', output, re.MULTILINE)
    assert re.search(r'^\+ +x: "2" ', output, re.MULTILINE)


def test_an_object_that_would_be_created(fairlead: Commands, file: Path) -> None:
    output = fairlead("owners", "-f", str(file))
    assert "An apply as fairlead would create it." in output
    assert fairlead.space.config_maps.get("a").status == 404


def test_a_plan_for_programs(shared: Commands, file: Path) -> None:
    numbers = json.loads(shared.run("owners", "-f", str(file), "-o", "json").out)
    assert numbers["conflicts"] == [
        {"field": ".data.x", "theirs": "1", "yours": "2", "managers": ["one", "two"]}
    ]
    assert numbers["changes"] == [{"field": ".data.new", "to": "1"}]


def test_a_file_that_is_about_something_else(fairlead: Commands, file: Path) -> None:
    ran = fairlead.run("owners", "cm", "other", "-f", str(file))
    assert ran.code == 1
    assert ran.errors == f"error: ConfigMap {fairlead.space.name}/other is not in the file\n"


def test_a_file_that_the_server_refuses(fairlead: Commands, tmp_path: Path) -> None:
    path = tmp_path / "bad.yaml"
    path.write_text(json.dumps({**CONFIG_MAP, "data": {"x": 1}}))
    ran = fairlead.run("owners", "-f", str(path))
    assert ran.code == 1
    assert ran.errors.startswith("Error from server")


def test_values_of_secrets_are_shown_only_when_asked_for(fairlead: Commands) -> None:
    fairlead.space.secrets.create(
        "s",
        data={"key": "aHVudGVyMg=="},
        metadata={"annotations": {"a.b/last-applied-configuration": "aHVudGVyMg=="}},
    )
    output = fairlead("owners", "secret", "s")
    assert "aHVudGVyMg" not in output
    assert line_of(output, "key:")[1] == '"***"'
    assert "aHVudGVyMg" in fairlead("owners", "secret", "s", "--show-secrets")


def test_a_plan_for_a_secret_shows_that_its_value_differs(
    fairlead: Commands, tmp_path: Path
) -> None:
    fairlead.space.secrets.create("s", data={"key": "YQ=="})
    path = tmp_path / "s.yaml"
    path.write_text("{apiVersion: v1, kind: Secret, metadata: {name: s}, data: {key: Yg==}}")
    ran = fairlead.run("owners", "-f", str(path))
    assert ran.code == 1
    assert "*** (before)" in ran.out
    assert "*** (after)" in ran.out
    assert "Yg==" not in ran.out


def test_each_manager_has_a_colour_on_a_terminal(shared: Commands) -> None:
    text = on_terminal(shared, "owners", "cm", "a")
    first, second = (re.search(rf"\x1b\[(\d+)m *{field}", text) for field in ("mine:", "yours:"))
    assert first is not None
    assert second is not None
    assert first[1] != second[1]
    assert "\x1b" not in on_terminal(shared, "owners", "cm", "a", NO_COLOR="1")
    assert "\x1b" not in shared("owners", "cm", "a")


def test_long_values_are_cut_on_a_narrow_terminal(fairlead: Commands) -> None:
    applied(fairlead, "one", {"x": "long " * 50})
    text = on_terminal(fairlead, "owners", "cm", "a", width=80, NO_COLOR="1")
    assert max(map(len, text.split("\n\n")[2].splitlines())) <= 80
    assert "…" in text
    assert "long " * 49 in fairlead("owners", "cm", "a")


def test_escape_sequences_in_values_do_not_reach_a_terminal(fairlead: Commands) -> None:
    applied(fairlead, "one", {"x": "\x1b[2J\x9b\n"})
    text = on_terminal(fairlead, "owners", "cm", "a", NO_COLOR="1")
    assert "\x1b" not in text
    assert "\x9b" not in text
    assert '"\\u001b[2J' in text


@pytest.mark.parametrize("words", [("cm",), ("cm", "a", "b"), (), ("cm/a", "cm/b"), ("cm,sa", "a")])
def test_exactly_one_object_must_be_named(fairlead: Commands, words: tuple[str, ...]) -> None:
    ran = fairlead.run("owners", *words)
    assert ran.code == 1
    assert ran.errors.startswith("error: ")


def test_an_object_that_is_not_there(fairlead: Commands) -> None:
    ran = fairlead.run("owners", "cm", "nope")
    assert (ran.code, ran.errors) == (
        1,
        'Error from server (NotFound): configmaps "nope" not found\n',
    )
