"""`fairlead get` on a terminal: wide, narrow, slow, without colours."""

from __future__ import annotations

from unittest import mock

import pytest
from support.commands import Commands
from support.namespaces import Space
from support.process import ServerProcess
from support.pseudo_terminal import seen_on_terminal

from fairlead.cli.get import output as shown


@pytest.fixture
def many(fairlead: Commands) -> Commands:
    for at in range(6):
        fairlead.space.secrets.create(f"secret-with-a-long-name-{at}", labels={"app": "x" * 50})
    return fairlead


def test_tables_are_not_cut_on_a_narrow_terminal(many: Commands) -> None:
    words = ("get", "secrets", "--show-labels")
    for width in (20, 500):
        head, *rows = seen_on_terminal(many, *words, width=width).splitlines()
        assert head.endswith("LABELS")
        assert len(rows) == 6
        assert all(row.endswith(f"app={'x' * 50}") for row in rows)


def test_tables_have_no_colours(many: Commands) -> None:
    assert "\x1b" not in seen_on_terminal(many, "get", "secrets")
    assert "\x1b" not in seen_on_terminal(many, "get", "secrets", NO_COLOR="1")


def test_a_terminal_and_a_file_get_the_same(many: Commands) -> None:
    words = ("get", "secrets", "-o", "yaml")
    assert seen_on_terminal(many, *words) == many(*words)


@pytest.mark.parametrize("output", ["", "yaml"])
def test_how_far_a_long_list_has_come_is_shown_meanwhile(many: Commands, output: str) -> None:
    words = ("get", "secrets", "--chunk-size=2", *(("-o", output) if output else ()))
    with mock.patch.object(shown, "_PROGRESS_DELAY", 0.0):
        seen = seen_on_terminal(many, *words)
    assert "2 of 6 objects" in seen
    for at in range(6):
        assert f"secret-with-a-long-name-{at}" in seen
    assert seen.rstrip().splitlines()[-1].find("objects") < 0  # it has gone away


def test_nothing_of_that_is_shown_for_a_short_wait(many: Commands) -> None:
    assert "objects" not in seen_on_terminal(many, "get", "secrets", "--chunk-size=2")


def test_nothing_of_that_is_shown_in_a_pipe(many: Commands) -> None:
    with mock.patch.object(shown, "_PROGRESS_DELAY", 0.0):
        ran = many.run("get", "secrets", "--chunk-size=2")
    assert ran.errors == ""
    assert "objects" not in ran.out


_POD = {"containers": [{"name": "c", "image": "i"}]}
_HINT = "Pending because there is no node. `fairlead serve --simulate-nodes 3`"


@pytest.mark.parametrize("words", ["get pods", "describe pod waiting"])
def test_who_looks_at_pods_that_wait_without_any_node_is_told(
    fairlead: Commands, words: str
) -> None:
    fairlead.space.ready_for_pods()
    fairlead.space.collection("pods").create("waiting", spec=_POD)
    assert _HINT in seen_on_terminal(fairlead, *words.split())
    assert fairlead.run(*words.split()).errors == ""  # programs are not


@pytest.mark.parametrize("words", ["get pods", "describe pod waiting"])
def test_nodes_that_are_only_too_small_are_no_reason_to_say_so(
    simulated: ServerProcess, words: str
) -> None:
    client = simulated.client()
    space = Space(simulated, client)
    space.ready_for_pods()
    space.collection("pods").create("waiting", spec={**_POD, "nodeSelector": {"no": "such"}})
    seen = seen_on_terminal(Commands(space), *words.split())
    assert "Pending" in seen
    assert _HINT not in seen
    space.leave()
    client.close()
