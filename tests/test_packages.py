"""The layout: docstrings of packages match their modules."""

from __future__ import annotations

import ast
import re
import tomllib
from itertools import chain
from pathlib import Path

import pytest

import fairlead

ROOT = Path(fairlead.__file__).parent
REPOSITORY = Path(__file__).parent.parent
DOCS = REPOSITORY / "docs"
MAX_PACKAGES = 16
PACKAGES = sorted(path.parent for path in ROOT.glob("*/__init__.py"))
_ITEM = re.compile(r"^- (`[^:;]*`)(?:[:;]|$)", re.MULTILINE)


def _docstring(package: Path) -> str:
    return ast.get_docstring(ast.parse((package / "__init__.py").read_text())) or ""


def test_there_are_few_packages() -> None:
    assert len(PACKAGES) <= MAX_PACKAGES


@pytest.mark.parametrize("package", PACKAGES, ids=lambda path: path.name)
def test_a_package_says_what_is_in_it(package: Path) -> None:
    assert _docstring(package)


@pytest.mark.parametrize("package", sorted(path.parent for path in ROOT.rglob("__init__.py")))
def test_the_contents_that_a_package_lists_exist(package: Path) -> None:
    for names in _ITEM.findall(_docstring(package)):
        for name in re.findall(r"`([a-z_0-9/]+)`", names):
            path = package / name
            assert path.is_dir() or path.with_suffix(".py").is_file(), name


def test_the_architecture_draws_the_layers_of_the_imports() -> None:
    page = (DOCS / "architecture.md").read_text()
    rows = [line.split("│")[1:-1] for line in page.splitlines() if line.startswith("│")]
    drawn = [[cell.strip() for cell in row] for row in rows]
    settings = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())
    layers = settings["tool"]["importlinter"]["contracts"][0]["layers"]
    assert drawn == [re.findall(r"fairlead\.(\w+)", layer) for layer in layers]
    assert sorted(chain(*drawn)) == [package.name for package in PACKAGES]


@pytest.mark.parametrize("name", ["CONTRIBUTING.md", "docs/architecture.md", "docs/extending.md"])
def test_the_modules_that_a_page_names_exist(name: str) -> None:
    page = (REPOSITORY / name).read_text()
    named = re.findall(r"`((?:[a-z_0-9]+/)+[a-z_0-9]+\.(?:py|table))`", page)
    assert named
    missing = [
        path for path in named if not ((ROOT / path).is_file() or (REPOSITORY / path).is_file())
    ]
    assert missing == []


def _defined(path: Path) -> set[str]:
    """Functions and classes of a module, methods as `Class.method`."""
    texts: set[str] = set()
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            texts.add(node.name)
        if isinstance(node, ast.ClassDef):
            parts = (part for part in node.body if hasattr(part, "name"))
            texts.update(f"{node.name}.{part.name}" for part in parts)
    return texts


def test_the_functions_that_the_architecture_names_exist() -> None:
    page = (DOCS / "architecture.md").read_text()
    named = re.findall(r"`((?:[a-z_0-9]+/)+[a-z_0-9]+\.py)`((?:,\s+`[\w.]+`)+)", page)
    assert len(named) > 30
    for module, listed in named:
        names = re.findall(r"`([\w.]+)`", listed)
        assert set(names) <= _defined(ROOT / module), (module, names)


# Modules that import within functions, and why.
IMPORTS_LATE = {
    "testing/libraries.py": "libraries that need not be installed",
    "wire/outgoing/client_config.py": "yaml and urllib.request, which few commands need",
    "wire/outgoing/tls.py": "tempfile, which Linux does not need",
}


_INDENTED_IMPORT = re.compile(r"^[ \t]+(?:import|from)\b", re.MULTILINE)


def _imports_in_functions(path: Path) -> list[int]:
    text = path.read_text()
    if not _INDENTED_IMPORT.search(text):  # parsing all modules takes seconds
        return []
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    return [
        node.lineno
        for function in ast.walk(ast.parse(text))
        if isinstance(function, functions)
        for node in ast.walk(function)
        if isinstance(node, ast.Import | ast.ImportFrom)
    ]


def test_imports_stand_at_the_top_of_a_module() -> None:
    """Modules that few processes need are in the table of `fairlead.base.lazy`."""
    result = {
        str(path.relative_to(ROOT)): lines
        for path in ROOT.rglob("*.py")
        if (lines := _imports_in_functions(path))
    }
    assert {name: lines for name, lines in result.items() if name not in IMPORTS_LATE} == {}
    assert result.keys() >= IMPORTS_LATE.keys()
