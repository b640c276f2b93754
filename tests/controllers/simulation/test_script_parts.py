"""Patterns, and commands that match them."""

from __future__ import annotations

import pytest

from fairlead.controllers.simulation.globs import matches
from fairlead.controllers.simulation.runtime.scripted import find_entry
from fairlead.controllers.simulation.script import merged, partial_script


@pytest.mark.parametrize(
    ("pattern", "text", "does"),
    [
        ("a", "a", True),
        ("a", "ab", False),
        ("*", "", True),
        ("a*", "a", True),
        ("a*a", "a", False),
        ("a*b*c", "a-b-c", True),
        ("a*b*c", "a-c-b", False),
        ("*ab*ab*", "xabab", True),
        ("*ab*ab*", "xabb", False),
        ("*.b", "a.b", True),
        ("[a]?", "[a]?", True),
        ("[a]?", "ab", False),
    ],
)
def test_a_star_stands_for_any_characters(pattern: str, text: str, does: bool) -> None:
    assert matches(pattern, text) is does


@pytest.mark.parametrize(
    ("command", "words", "does"),
    [
        (["psql", "-c", "*"], ["/usr/bin/psql", "-c", ""], True),
        (["psql", "-c", "*"], ["psql", "-c"], False),
        (["psql", "..."], ["psql"], True),
        (["psql", "..."], [], False),
        (["..."], [], True),
        (["psql", "...", "x"], ["psql", "y", "x"], False),
    ],
)
def test_the_last_word_may_stand_for_the_rest(
    command: list[str], words: list[str], does: bool
) -> None:
    assert (find_entry([{"command": command}], words) is not None) is does


def test_the_first_script_that_has_a_field_counts_for_it() -> None:
    first = partial_script({"files": {}, "usage": {"cpu": 1}}, "first")
    second = partial_script({"files": {"/a": "b"}, "pullFailure": "no"}, "second")
    script = merged([first, second])
    assert (script.files, script.usage, script.pull_failure) == ({}, {"cpu": "1"}, "no")
    assert script.identity != merged([second, first]).identity


def test_headers_that_http_does_not_have_are_left_out() -> None:
    answer = {"headers": {"X-A": "1", "a: b\r\n": "2"}}
    script = merged([partial_script({"ports": [{"port": 80, "http": [answer]}]}, "")])
    assert script.ports[80]["http"] == [{"headers": {"X-A": "1"}}]
