"""Every command and snippet of the documentation is run as it is printed.

A page is a session in a directory of its own: its console blocks are run in their order, on servers
that are started as the page says, and must print what they show; blocks with a title are files,
which later commands use; Python without a title is run; YAML without one is applied in a dry run to
a server of its dialect. What cannot be run has `<!-- not run: reason -->` above it.
"""

from __future__ import annotations

import json
import re
import shutil
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from support.client import Client
from support.examples import Terminal
from support.kubectl import IS_RECENT
from support.pages import ROOT, Block, blocks
from support.process import ServerProcess

# The recipes of CONTRIBUTING.md need a checkout: test_recipes.py runs them.
RECIPES = ROOT / "CONTRIBUTING.md"
PAGES = [
    *(ROOT / "README.md", RECIPES, ROOT / "SECURITY.md"),
    *sorted((ROOT / "docs").rglob("*.md")),
]
# Pages that take half a minute or more; their parts are tested elsewhere, too.
SLOW_PAGES = ("docs/tutorials/operator.md",)
# What needs another machine, a container engine or minutes. Lower it when you can.
MAX_NOT_RUN = 10
PROGRAMS = ("kubectl", "curl", "etcd", "openssl")
# Files that a program finds by itself.
FOUND_BY = {"pyproject.toml": "$ pytest", "conftest.py": "$ pytest"}
LANGUAGES = {"console", "diff", "python", "yaml", "json", "toml", "text"}


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


def has_work(page: Path) -> bool:
    result = blocks(page.read_text())
    output = any(not item.reason and (item.title or item.language != "text") for item in result)
    return output and page != RECIPES


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Terminal]:
    terminal = Terminal(tmp_path)
    yield terminal
    terminal.close()


def needed_programs(expected: list[Block]) -> set[str]:
    text = "\n".join(block.text for block in expected if block.language == "console")
    return {name for name in PROGRAMS if re.search(rf"(?:\$ |\| |\()\b{name}\b", text)}


def cases() -> list[Any]:
    return [
        pytest.param(page, marks=pytest.mark.slow if name_of(page) in SLOW_PAGES else ())
        for page in PAGES
        if has_work(page)
    ]


@pytest.mark.parametrize("page", cases(), ids=name_of)
def test_the_snippets_of_a_page_run_as_they_are_printed(
    page: Path, terminal: Terminal, request: pytest.FixtureRequest
) -> None:
    result = [block for block in blocks(page.read_text()) if not block.reason]
    needed = needed_programs(result)
    missing = {name for name in needed if shutil.which(name) is None}
    if missing:
        pytest.skip(f"{', '.join(sorted(missing))} not installed: not tried")
    if "kubectl" in needed and not IS_RECENT:
        pytest.skip("kubectl is too old to print what is shown: not tried")
    for number, block in enumerate(result):
        try:
            play(block, result[number + 1 :], terminal, request)
        except AssertionError as error:
            raise AssertionError(f"{name_of(page)}:{block.line}: {error}") from None


def play(
    block: Block, rest: list[Block], terminal: Terminal, request: pytest.FixtureRequest
) -> None:
    if block.title:
        terminal.write(block.title, block.text)
        name = FOUND_BY.get(block.title, block.title)
        assert any(name in item.text for item in rest), f"{block.title} is never used"
    elif block.language == "console":
        terminal.play(block.text)
    elif block.language == "python":
        terminal.play_python(block.text)
    elif block.language == "yaml":
        dialect = "cluster_server" if "cluster.io" in block.text else "server"
        running: ServerProcess = request.getfixturevalue(dialect)
        with_client = running.client()
        try:
            try_out(with_client, block.text)
        finally:
            with_client.close()
    elif block.language == "json":
        json.loads(block.text)
    elif block.language == "toml":
        tomllib.loads(block.text)


def try_out(client: Client, text: str) -> None:
    """Apply objects in a dry run."""
    for value in yaml.safe_load_all(text):
        version = value["apiVersion"]
        root = f"/apis/{version}" if "/" in version else f"/api/{version}"
        served = client.get(root).body["resources"]
        kind = next(
            item for item in served if item["kind"] == value["kind"] and "/" not in item["name"]
        )
        space = value["metadata"].get("namespace", "default")
        inside = f"/namespaces/{space}" if kind["namespaced"] else ""
        path = f"{root}{inside}/{kind['name']}/{value['metadata']['name']}"
        answer = client.patch(
            path,
            value,
            kind="application/apply-patch+yaml",
            fieldManager="docs",
            dryRun="All",
            fieldValidation="Strict",
        )
        assert answer.status in (200, 201), answer.text


def test_what_is_not_run_is_little_and_says_why() -> None:
    skipped = [
        f"{name_of(page)}:{block.line}: {block.reason}"
        for page in PAGES
        for block in blocks(page.read_text())
        if block.reason
    ]
    assert len(skipped) <= MAX_NOT_RUN, "\n".join(skipped)


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_block_is_of_a_kind_that_is_looked_at(page: Path) -> None:
    text = page.read_text()
    result = blocks(text)
    assert 2 * len(result) == len(re.findall(r"^ *```", text, re.MULTILINE))
    for block in result:
        assert block.language in LANGUAGES or block.reason, f"line {block.line}"
        if block.language == "text":
            assert not re.search(r"^\$ ", block.text, re.MULTILINE), f"line {block.line}"
    # A block by indentation would be passed over.
    outside = re.sub(r"^ *```.*?^ *```$", "", text, flags=re.MULTILINE | re.DOTALL)
    assert not re.search(r"\n\n {4}\$? ?(?:fairlead|kubectl|curl|make) ", outside)
