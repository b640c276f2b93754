"""The runner of examples detects wrong examples."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from support.examples import Terminal
from support.pages import blocks, missing_line, steps


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Terminal]:
    terminal = Terminal(tmp_path)
    yield terminal
    terminal.close()


def test_blocks_are_found_with_their_titles_and_reasons() -> None:
    page = (
        'a\n\n```yaml title="b.yaml"\nc: 1\n```\n\n'
        "<!-- not run: far away -->\n```console\n$ d\n```\n"
    )
    first, second = blocks(page)
    assert (first.language, first.title, first.text) == ("yaml", "b.yaml", "c: 1\n")
    assert first.reason == ""
    assert (second.language, second.line, second.reason) == ("console", 7, "far away")


def test_no_block_hides_another_one() -> None:
    page = (
        "<!-- not run: a -->\n```console\n$ b\n```\n\n<!-- not run: c -->\n```console\n$ d\n```\n"
    )
    assert [block.reason for block in blocks(page)] == ["a", "c"]


def test_lines_that_go_on_belong_to_their_command() -> None:
    assert steps("$ a \\\n  b\nsaid\n$ c\n") == [("a \\\n  b", ["said"]), ("c", [])]


def test_a_command_that_fails_is_told(terminal: Terminal) -> None:
    with pytest.raises(AssertionError, match="exit code 1"):
        terminal.play("$ false\n")


def test_a_failure_within_a_pipe_is_told(terminal: Terminal) -> None:
    with pytest.raises(AssertionError, match="exit code"):
        terminal.play("$ false | cat\n")


def test_an_output_that_differs_is_told(terminal: Terminal) -> None:
    terminal.play("$ echo one two\none   two\n")
    with pytest.raises(AssertionError, match="does not print 'two'"):
        terminal.play("$ echo one\ntwo\n")


def test_what_is_left_open_is_anything_and_the_order_counts() -> None:
    assert missing_line(["a ... c", "d"], "x\na  b c\nd") is None
    assert missing_line(["d", "a"], "a\nd\n") == "a"
    assert missing_line(["web-... ready"], "web-1 starting") == "web-... ready"


def test_a_block_finds_what_one_before_it_has_set(terminal: Terminal) -> None:
    terminal.play("$ word=ahoy\n$ say() { echo $word; }\n")
    terminal.play("$ say\nahoy\n")


def test_python_that_fails_is_told(terminal: Terminal) -> None:
    terminal.play_python("import asyncio\nawait asyncio.sleep(0)\n")
    with pytest.raises(AssertionError, match="ZeroDivisionError"):
        terminal.play_python("1 / 0\n")


def test_a_server_that_does_not_start_is_told(terminal: Terminal) -> None:
    with pytest.raises(AssertionError, match="fairlead serve"):
        terminal.play("$ fairlead serve --no-such-flag\n")
