"""The examples of docs/command-line.md run as printed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.examples import ROOT, Terminal, commands

from fairlead.cli.catalog import COMMANDS, GROUPS

TOUR = (ROOT / "docs" / "command-line.md").read_text()


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Terminal]:
    made = Terminal(tmp_path)
    yield made
    made.close()


def test_the_examples_of_the_tour(terminal: Terminal) -> None:
    serve, *lines = commands(TOUR)
    terminal.serve(serve)
    said = terminal.run(lines)
    assert re.search(r"^default +Active ", said, re.MULTILINE)
    assert "MANAGER" in said
    assert "An apply as fairlead would create it." in said
    assert re.search(r"^revision \d+  ", said, re.MULTILINE)
    assert "Node/simulated-0" in said


@pytest.mark.parametrize("document", ["README.md", "docs/command-line.md", "docs/install.md"])
def test_every_command_that_is_named_exists(document: str) -> None:
    text = (ROOT / document).read_text()
    code = "\n".join(re.findall(r"```.*?```|`[^`\n]+`", text, re.DOTALL))
    known = {*COMMANDS, *GROUPS, "serve", "backup", "restore", "migrate"}
    assert set(re.findall(r"\bfairlead ([a-z][a-z-]*)", code)) <= known
