"""The README names what exists, and its table of flags is that of the command line. Its examples
are run with those of the documentation, by tests/docs/test_snippets.py."""

from __future__ import annotations

import re
import shutil
import subprocess

import pytest
from support.pages import ROOT

README = (ROOT / "README.md").read_text()
MAX_LINES = 120


def test_it_is_short() -> None:
    assert README.count("\n") <= MAX_LINES


def test_every_target_that_is_named_exists() -> None:
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert set(re.findall(r"`make ([a-z]+)`|\$ make ([a-z]+)", README)) != set()
    for pair in re.findall(r"`make ([a-z]+)`|\$ make ([a-z]+)", README):
        assert (pair[0] or pair[1]) in targets


def test_the_table_of_flags_is_that_of_the_command_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    from reference import with_most_used_flags

    assert with_most_used_flags(README) == README, "run tools/reference.py"


@pytest.mark.parametrize("document", ["README.md", "CONTRIBUTING.md", "SECURITY.md"])
def test_links_lead_to_files(document: str) -> None:
    links = re.findall(r"\]\((?!https?:)([^)#]+)", (ROOT / document).read_text())
    assert links
    for link in links:
        assert (ROOT / link).is_file(), link


def test_help_of_make_lists_the_targets() -> None:
    if shutil.which("make") is None:
        pytest.skip("make is not installed")
    done = subprocess.run(["make"], cwd=ROOT, capture_output=True, text=True, check=True)
    for target in ("serve", "test", "quick", "lint", "docs", "parity", "bench"):
        assert f"  {target} " in done.stdout
