"""Compiled modules: the build with and without a compiler, and how the package reports it."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import os
import subprocess
import sys
import sysconfig
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from shutil import copy, copytree, ignore_patterns

import pytest

from fairlead.base.compiled import is_compiled
from fairlead.base.dialect import KUBERNETES
from fairlead.base.lazy import MODULES
from fairlead.cli import main
from fairlead.process.banner import banner

ROOT = Path(__file__).resolve().parents[1]
BUILDING = ROOT / "building"
sys.path.insert(0, str(BUILDING))
build = importlib.import_module("fairlead_build")
sys.path.remove(str(BUILDING))


def modules() -> Iterator[str]:
    for source in build.sources():
        yield source.removeprefix("src/").removesuffix(".py").replace("/", ".")


def test_modules_that_are_compiled_are_there_and_named_once() -> None:
    assert all((ROOT / source).is_file() for source in build.sources())
    assert len(set(build.sources())) == len(build.sources())


def test_compiled_modules_and_their_packages_are_not_lazy() -> None:
    compiled = set(modules())
    packages = {name.rpartition(".")[0] for name in compiled}
    assert MODULES.isdisjoint(compiled | packages)


def test_all_of_them_are_compiled_or_none_is() -> None:
    origins = [str(importlib.import_module(name).__file__) for name in modules()]
    assert {not origin.endswith(".py") for origin in origins} == {is_compiled()}


def test_the_banner_and_the_version_tell_whether_they_are(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert ("(compiled)" in banner("https://x", KUBERNETES, Path("data"), 1)) == is_compiled()
    assert main(["version", "--client"]) == 0
    assert ("(compiled)" in capsys.readouterr().out) == is_compiled()


Build = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def built(tmp_path: Path) -> Build:
    """Builds a small package like the project itself, with a copy of its build files. Wheels go
    into `wheels`."""
    for name in ("setup.py", "pyproject.toml"):
        copy(ROOT / name, tmp_path)
    copytree(BUILDING, tmp_path / "building", ignore=ignore_patterns("__pycache__"))
    (tmp_path / "README.md").write_text("A package.")
    (tmp_path / "LICENSE").write_text("None.")
    for source in ("src/fairlead/__init__.py", *build.sources()):
        (tmp_path / source).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / source).write_text('__version__ = "0"\n')

    def run(**environment: str) -> subprocess.CompletedProcess[str]:
        script = "import fairlead_build as build; build.build_wheel('wheels')"
        kept = {key: value for key, value in os.environ.items() if "COVERAGE" not in key}
        kept.pop("FAIRLEAD_COMPILE", None)
        return subprocess.run(
            [sys.executable, "-c", script],
            cwd=tmp_path,
            env={**kept, "PYTHONPATH": str(tmp_path / "building"), **environment},
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )

    return run


def packed(directory: Path) -> list[str]:
    (wheel,) = (directory / "wheels").glob("*.whl")
    return zipfile.ZipFile(wheel).namelist()


NO_COMPILER = {"CC": "no-such-compiler", "LDSHARED": "no-such-compiler"}


def test_without_a_compiler_the_package_is_plain_and_the_build_says_so(
    built: Build, tmp_path: Path
) -> None:
    done = built(**NO_COMPILER)
    assert done.returncode == 0, done.stderr
    assert "fairlead: not compiled, plain Python is used: there is no C compiler" in done.stderr
    assert "fairlead/codec/bodies.py" in packed(tmp_path)
    assert not [name for name in packed(tmp_path) if name.endswith(".so")]
    assert list((tmp_path / "wheels").glob("*-py3-none-any.whl"))


def test_who_wants_it_compiled_is_told_that_it_cannot_be(built: Build) -> None:
    done = built(FAIRLEAD_COMPILE="1", **NO_COMPILER)
    assert done.returncode == 1
    assert "fairlead cannot be compiled: there is no C compiler" in done.stderr


def test_who_wants_it_plain_gets_it_so(built: Build, tmp_path: Path) -> None:
    done = built(FAIRLEAD_COMPILE="0")
    assert done.returncode == 0, done.stderr
    assert "not compiled" not in done.stderr
    assert not [name for name in packed(tmp_path) if name.endswith(".so")]


def test_other_wishes_are_not_understood(built: Build) -> None:
    done = built(FAIRLEAD_COMPILE="yes")
    assert done.returncode == 1
    assert "FAIRLEAD_COMPILE must be 0 or 1, not 'yes'" in done.stderr


def test_compiled_modules_of_an_earlier_build_do_not_hide_sources(
    built: Build, tmp_path: Path
) -> None:
    suffix = sysconfig.get_config_var("EXT_SUFFIX")
    for directory in ("lib", f"lib.{sysconfig.get_platform()}-{sys.implementation.cache_tag}"):
        stale = tmp_path / "build" / directory / "fairlead" / "codec" / f"bodies{suffix}"
        stale.parent.mkdir(parents=True)
        stale.write_bytes(b"old")
    done = built(FAIRLEAD_COMPILE="0")
    assert done.returncode == 0, done.stderr
    assert "fairlead/codec/bodies.py" in packed(tmp_path)
    assert f"fairlead/codec/bodies{suffix}" not in packed(tmp_path)


@pytest.mark.parametrize(("wish", "requested"), [("0", False), ("1", True)])
def test_the_compiler_of_python_is_asked_for_only_where_it_is_used(
    wish: str, requested: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAIRLEAD_COMPILE", wish)
    assert (build.COMPILER in build.get_requires_for_build_wheel()) == requested


def test_it_is_not_asked_for_where_no_compiler_of_c_follows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("FAIRLEAD_COMPILE", raising=False)
    for name, value in NO_COMPILER.items():
        monkeypatch.setenv(name, value)
    assert build.COMPILER not in build.get_requires_for_build_wheel()


@pytest.mark.parametrize("source", build.sources())
def test_a_compiled_module_has_no_coroutine(source: str) -> None:
    """Coroutines gain little from mypyc and differ from Python's in exceptions and stack traces, so
    none are compiled."""
    tree = ast.parse((ROOT / source).read_text())
    waiting = ast.AsyncFunctionDef | ast.Await | ast.AsyncFor | ast.AsyncWith
    assert [node.lineno for node in ast.walk(tree) if isinstance(node, waiting)] == []


@pytest.mark.parametrize("source", build.sources())
def test_no_name_stands_for_exceptions_of_two_kinds_in_a_compiled_function(source: str) -> None:
    """The compiler takes the first kind for the type of the name and refuses the second."""
    functions = ast.FunctionDef | ast.AsyncFunctionDef
    tree = ast.parse((ROOT / source).read_text())
    for function in (node for node in ast.walk(tree) if isinstance(node, functions)):
        kinds: dict[str, set[str]] = {}
        for node in ast.walk(function):
            if isinstance(node, ast.ExceptHandler) and node.name and node.type:
                kinds.setdefault(node.name, set()).add(ast.unparse(node.type))
        assert [name for name, item in kinds.items() if len(item) > 1] == [], function.name
