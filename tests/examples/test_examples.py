"""The tests of the examples, each in its own run of pytest."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path

import pytest
from support.pages import ROOT, commands

EXAMPLES = sorted(path.parent for path in (ROOT / "examples").glob("*/README.md"))
NEEDED = {"kopf-operator": ("kopf", "kubernetes"), "lightkube-controller": ("lightkube",)}
PATIENCE = 1200.0  # of a machine that does much else
PLUGIN = "fairlead.testing.plugin"


def _plugin() -> list[str]:
    """Where it is not installed as the plugin that it is."""
    installed = {point.value for point in entry_points(group="pytest11")}
    return [] if PLUGIN in installed else ["-p", PLUGIN]


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.name)
def test_an_example_does_what_it_says(example: Path) -> None:
    for name in NEEDED.get(example.name, ()):
        if find_spec(name) is None:
            pytest.skip(f"{name} is not installed: the example is not tried out")
    command = [sys.executable, "-m", "pytest", *_plugin(), "-p", "no:cacheprovider"]
    outer = {name for name in os.environ if name.startswith("PYTEST_")}
    done = subprocess.run(
        [*command, str(example)],
        env={name: text for name, text in os.environ.items() if name not in outer},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.name)
def test_what_a_readme_names_is_there(example: Path) -> None:
    lines = commands((example / "README.md").read_text())
    assert f"pytest examples/{example.name}" in lines
    named = {word for line in lines for word in line.split() if word.startswith("examples/")}
    assert [word for word in sorted(named) if not (ROOT / word).exists()] == []
