"""`fairlead get` on a terminal: wide, narrow, slow, without colours."""

from __future__ import annotations

import re
from unittest import mock

import pytest
from support.commands import Commands
from support.namespaces import Space
from support.process import ServerProcess
from support.pseudo_terminal import TerminalSession, seen_on_terminal

from fairlead.cli.get import output as shown


@pytest.fixture
def many(fairlead: Commands) -> Commands:
    for at in range(6):
        fairlead.space.secrets.create(f"secret-with-a-long-name-{at}", labels={"app": "x" * 50})
    return fairlead


_POD = {"containers": [{"name": "c", "image": "i"}]}
_NAMES = [f"secret-with-a-long-name-{at}" for at in range(6)]


def test_tables_fit_the_terminal_and_labels_are_cut_first(many: Commands) -> None:
    head, *rows = seen_on_terminal(many, "get", "secrets", "--show-labels", width=75).splitlines()
    assert head.split() == ["NAME", "TYPE", "DATA", "AGE", "LABELS"]
    assert [row.split()[:2] for row in rows] == [[name, "Opaque"] for name in _NAMES]
    for row in rows:
        assert len(row) == 75
        assert row.endswith("xxx…")


def test_tables_are_whole_on_a_wide_terminal(many: Commands) -> None:
    def without_age(text: str) -> list[str]:
        return [re.sub(r" \d+s ", " ", line) for line in text.splitlines()]

    words = ("get", "secrets", "--show-labels")
    assert without_age(seen_on_terminal(many, *words, width=500)) == without_age(many(*words))


@pytest.mark.parametrize("words", ["get secrets --show-labels -o wide", "get secrets -o yaml"])
def test_who_wants_all_gets_all_on_a_narrow_terminal(many: Commands, words: str) -> None:
    assert seen_on_terminal(many, *words.split(), width=20).count("x" * 50) == 6


def test_a_name_is_never_cut(many: Commands) -> None:
    seen = seen_on_terminal(many, "get", "secrets", width=5)
    assert [row.split()[0] for row in seen.splitlines()[1:]] == _NAMES


def test_a_pipe_gets_whole_tables_with_any_columns(
    many: Commands, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "20")
    assert many("get", "secrets", "--show-labels").count("x" * 50) == 6


def test_a_watch_fits_the_terminal_as_wide_as_it_is_at_the_moment(
    many: Commands, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    words = ("get", "secrets", "--show-labels", "-w")
    with TerminalSession(many, *words, size=(75, 30)) as terminal:
        listed = terminal.until(_NAMES[-1]) + terminal.until("\n")
        assert {len(line) for line in listed.splitlines()[1:]} == {75}
        terminal.resize(90, 30)
        many.space.secrets.create("late", labels={"app": "y" * 60})
        terminal.until("late ")
        assert len("late " + terminal.until("…")) == 90


def test_other_tables_fit_the_terminal(fairlead: Commands) -> None:
    rows = seen_on_terminal(fairlead, "api-resources", width=90).splitlines()
    assert len(rows) > 20
    assert {len(row) <= 90 for row in rows} == {True}
    assert any(row.split()[0] == "configmaps" for row in rows)
    whole = seen_on_terminal(fairlead, "api-resources", "-o", "wide", width=90)
    assert "…" not in whole


_GREEN, _YELLOW, _RED = (f"\x1b[{code}m" for code in (32, 33, 31))
_STATES = {
    "Running": _GREEN,
    "Pending": _YELLOW,
    "CrashLoopBackOff": _RED,
    "ImagePullBackOff": _RED,
    "Error": _RED,
    "Evicted": _RED,
    "Completed": _GREEN,
    "Odd": "",
}


@pytest.fixture
def states(fairlead: Commands) -> Commands:
    """Pods in all of the states."""
    fairlead.space.ready_for_pods()
    pods = fairlead.space.collection("pods")
    for at, state in enumerate([*_STATES, "\x1b[31mHostile"]):
        pods.create(f"p{at}", spec=_POD)
        status = {"status": {"reason": state}}
        assert fairlead.space.client.patch(pods.item(f"p{at}", "status"), status).status == 200
    return fairlead


def _without_age(text: str) -> list[str]:
    """The lines of a table whose last column is the age."""
    return [re.sub(r" \d[\dms]*$", "", line) for line in text.splitlines()]


def test_states_have_colours_on_a_terminal(states: Commands) -> None:
    seen = seen_on_terminal(states, "get", "pods")
    for state, colour in _STATES.items():
        assert (f"{colour}{state}\x1b[0m" if colour else f"   {state} ") in seen
    lines = _without_age(states("get", "pods", "--color=always"))
    assert _without_age(seen)[: len(lines)] == lines  # a hint about nodes follows


def test_colours_do_not_move_the_columns(states: Commands) -> None:
    coloured = re.sub(r"\x1b\[\d*m", "", states("get", "pods", "--color=always"))
    plain = states("get", "pods").replace("\x1b", "^[")
    assert _without_age(coloured) == _without_age(plain)


def test_states_have_no_colours_elsewhere(states: Commands) -> None:
    assert "\x1b" not in seen_on_terminal(states, "get", "pods", NO_COLOR="1")
    assert "\x1b" not in seen_on_terminal(states, "get", "pods", "--color=never")
    assert "\x1b" not in seen_on_terminal(states, "get", "pods", TERM="dumb")
    assert _GREEN not in states("get", "pods")


def test_the_colours_of_a_server_are_text(states: Commands) -> None:
    seen = seen_on_terminal(states, "get", "pods")
    assert "^[[31mHostile" in seen
    assert "\x1b[31mHostile" not in seen


def test_fewer_replicas_than_wanted_have_a_colour(fairlead: Commands) -> None:
    template = {"metadata": {"labels": {"app": "a"}}, "spec": _POD}
    spec = {"replicas": 2, "selector": {"matchLabels": {"app": "a"}}, "template": template}
    fairlead.space.collection("deployments", "apps").create("web", spec=spec)
    assert f"{_YELLOW}0/2\x1b[0m" in seen_on_terminal(fairlead, "get", "deployments")


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


@pytest.mark.parametrize(
    "words",
    ["tree configmap a", "owners configmap a", "auth can-i --list"],
)
def test_lines_of_other_commands_fit_as_well(fairlead: Commands, words: str) -> None:
    fairlead("create", "configmap", "a", "--from-literal", f"{'k' * 60}={'v' * 60}")
    seen = seen_on_terminal(fairlead, *words.split(), width=78, NO_COLOR="1")
    assert max(map(len, seen.splitlines())) <= 78
    assert not re.search(f"{'v' * 60}|Traceback", seen)


def test_watch_puts_changed_fields_below_the_names_where_there_is_no_room(
    fairlead: Commands, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    fairlead("create", "configmap", "a", "--from-literal=key=before")
    words = ("watch", "configmaps", "--field-selector=metadata.name=a", "--limit=1")
    with TerminalSession(fairlead, *words, size=(70, 30)) as session:
        session.until("Ctrl-C ends it.")
        fairlead("patch", "configmap", "a", "-p", f'{{"data": {{"key": "{"x" * 90}"}}}}')
        session.until("changed")
        session.wait()
        below = session.rest().splitlines()[1]
    assert below.strip().startswith('.data.key: "before" -> ')
    assert len(below) <= 70
