"""The README's examples run as printed, and its tables are those of the command line."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from support import examples
from support.examples import ROOT, Terminal

README = (ROOT / "README.md").read_text()
SERVE = "make serve"


def commands(title: str) -> list[str]:
    return examples.commands(examples.section(README, title))


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Terminal]:
    made = Terminal(tmp_path)
    yield made
    made.close()


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed: not tried out")
def test_the_examples_with_curl(terminal: Terminal) -> None:
    terminal.serve(SERVE)
    said = terminal.run(commands("Try it with curl"))
    assert '"kind": "NamespaceList"' in said
    assert '"greeting": "ahoy"' in said
    assert '"type":"ADDED"' in said.replace(" ", "")


@pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is not installed: not tried")
def test_the_examples_with_kubectl(terminal: Terminal) -> None:
    serve, *lines = commands("Try it with kubectl")
    terminal.serve(serve)
    said = terminal.run(lines)
    assert "configmap/hello created" in said
    assert re.search(r"^default +hello +1 ", said, re.MULTILINE)
    assert "Image that it is made from." in said


def test_examples_need_no_command_that_is_not_there() -> None:
    known = {"make", "curl", "kubectl", "export", "call", "call()"}
    for title in ("Two commands", "Try it with curl", "Try it with kubectl"):
        for command in commands(title):
            word = command.split()[0]
            assert word in known or "=" in word, command


def test_every_target_that_is_named_exists() -> None:
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert set(re.findall(r"`make ([a-z]+)`|\$ make ([a-z]+)", README)) != set()
    for pair in re.findall(r"`make ([a-z]+)`|\$ make ([a-z]+)", README):
        assert (pair[0] or pair[1]) in targets


def test_the_tables_of_flags_are_those_of_the_command_line(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    from flags import with_tables

    assert with_tables(README) == README, "run tools/flags.py"


def test_help_of_make_lists_the_targets() -> None:
    if shutil.which("make") is None:
        pytest.skip("make is not installed")
    done = subprocess.run(["make"], cwd=ROOT, capture_output=True, text=True, check=True)
    for target in ("serve", "test", "quick", "lint", "parity", "bench"):
        assert f"  {target} " in done.stdout
