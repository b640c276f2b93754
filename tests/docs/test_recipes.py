"""The recipes of CONTRIBUTING.md work: on a copy of the checkout their edits are made, their tests
run, and their commands print what the page shows."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.examples import Terminal
from support.pages import ROOT, blocks, edited

PARTS = ("src", "tests", "bench", "pyproject.toml")
PAGE = "CONTRIBUTING.md"


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Terminal]:
    for name in PARTS:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, tmp_path / name)
        else:
            shutil.copy(source, tmp_path)
    terminal = Terminal(tmp_path, tmp_path / "src")
    yield terminal
    terminal.close()


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("curl") is None, reason="curl not installed: not tried")
def test_the_recipes_do_what_they_say(terminal: Terminal) -> None:
    for block in blocks((ROOT / PAGE).read_text()):
        if block.reason:
            continue
        try:
            if block.language == "diff":
                file = terminal.directory / block.title
                file.write_text(edited(file.read_text(), block.text))
            elif block.title:
                terminal.write(block.title, block.text)
            else:
                terminal.play(block.text)
        except AssertionError as error:
            raise AssertionError(f"{PAGE}:{block.line}: {error}") from None
