"""The documentation matches the code."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from support.pages import ROOT, commands

from fairlead.cli.catalog import COMMANDS, GROUPS, SERVER_SIDE

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


@pytest.fixture(autouse=True)
def tools(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "tools"))


def code_of(page: Path) -> str:
    """Code within sentences, and commands."""
    text = page.read_text()
    return "\n".join([*re.findall(r"`[^`\n]+`", text), *commands(text)])


@pytest.mark.parametrize("name", ["commands", "flags", "metrics", "served", "testing-api"])
def test_the_reference_is_that_of_the_code(name: str) -> None:
    import reference

    page = ROOT / "docs" / "reference" / f"{name}.md"
    assert page.read_text() == reference.GENERATED[name](), "run tools/reference.py"


def test_every_command_that_is_named_exists() -> None:
    known = {*COMMANDS, *GROUPS, *SERVER_SIDE, "test-env"}
    for page in PAGES:
        named = re.findall(r"(?<!make )\bfairlead ([a-z][a-z-]*)(?![\w.])", code_of(page))
        assert set(named) <= known, page


# Flags of other programs, and of parts of commands that the reference does not list.
OTHER_FLAGS = {
    *("--from", "--to", "--revision-gap", "--accept-older-revisions", "--insecure-port"),
    *("--storage-backend", "--to-format", "--sources", "--follow", "--every", "--keep"),
    *("--verify", "--to-revision", "--to-time"),
}


def test_every_flag_that_is_named_exists() -> None:
    import reference

    known = {*reference._serve_parser()._option_string_actions, *OTHER_FLAGS}
    for item in (reference._connection_flags(), *map(reference._command_flags, COMMANDS)):
        known.update(name for flag in item for name in flag.names)
    for page in PAGES:
        named = re.findall(r"`(--[a-z][a-z-]*[a-z])(?:[ =][^`]*)?`", page.read_text())
        assert set(named) <= known, page


def test_the_parity_that_is_told_is_the_floor_that_is_held() -> None:
    from parity import Target, floors

    text = (ROOT / "docs" / "reference" / "compatibility.md").read_text()
    rows = re.findall(r"^\| ([a-z-]+) \| (\d+) \| (\d+) \| (\d+) \|$", text, re.MULTILINE)
    sums = [sum(int(row[column]) for row in rows) for column in (1, 2, 3)]
    assert f"| **all** | **{sums[0]}** | **{sums[1]}** | **{sums[2]}** |" in text
    told = {Target("kubernetes", "1.25"): sums[1], Target("cluster", "1.25"): sums[2]}
    assert told.items() <= floors().items()


def test_no_page_loads_anything_from_another_host() -> None:
    from docs_hooks import foreign

    assert foreign('<script src="https://cdn.example.com/a.js"></script>')
    assert foreign('<link rel="stylesheet" href="//fonts.example.com/x.css">')
    assert not foreign('<script src="assets/a.js"></script><a href="https://example.com">x</a>')
    settings = (ROOT / "mkdocs.yml").read_text()
    assert "tools/docs_hooks.py" in settings


def test_every_test_that_a_page_names_exists() -> None:
    for page in PAGES:
        for name in re.findall(r"`(tests/[\w/]+\.py)`", page.read_text()):
            assert (ROOT / name).is_file(), f"{page}: {name}"
