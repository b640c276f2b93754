"""Compiled modules: how they are built, and how the package reports it."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import json
import os
import subprocess
import sys
import sysconfig
import zipfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from shutil import copy, which

import pytest

from fairlead import __version__
from fairlead.base.compiled import is_compiled
from fairlead.base.lazy import MODULES
from fairlead.cli import main

ROOT = Path(__file__).resolve().parents[1]
BUILDING = ROOT / "building"
sys.path.insert(0, str(BUILDING))
build = importlib.import_module("fairlead_build")
sys.path.remove(str(BUILDING))


needs_compiler = pytest.mark.skipif(which("cc") is None, reason="there is no C compiler")


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


def test_the_version_tells_whether_they_are_and_by_which_compilers(
    capsys: pytest.CaptureFixture[str],
) -> None:
    kind = "compiled" if is_compiled() else "plain"
    assert main(["version", "--client"]) == 0
    assert capsys.readouterr().out == f"fairlead {__version__} ({kind})\n"
    assert main(["version", "--client", "-o", "json"]) == 0
    compiler = json.loads(capsys.readouterr().out)["clientVersion"]["compiler"]
    assert compiler.startswith("mypyc ") if is_compiled() else compiler == "none"


Build = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def built(tmp_path: Path) -> Build:
    """Builds wheels of a small package like the project itself, with a copy of its build files."""
    for name in ("setup.py", "pyproject.toml"):
        copy(ROOT / name, tmp_path)
    (tmp_path / "building").mkdir()
    text = (BUILDING / "fairlead_build.py").read_text()
    copied = tmp_path / "building" / "fairlead_build.py"
    copied.write_text(text.replace(build.MODULES, "\ncodec: bodies protobuf_wire\nfields: check\n"))
    (tmp_path / "README.md").write_text("A package.")
    (tmp_path / "LICENSE").write_text("None.")
    for name in ("__init__", "codec/bodies", "codec/protobuf_wire", "fields/check"):
        source = tmp_path / "src" / "fairlead" / f"{name}.py"
        source.parent.mkdir(parents=True, exist_ok=True)
        source.write_text('__version__ = "0"\n')

    def run(wheels: str = "wheels", **environment: str) -> subprocess.CompletedProcess[str]:
        script = f"import fairlead_build as build; build.build_wheel('{wheels}')"
        kept = {key: value for key, value in os.environ.items() if "COVERAGE" not in key}
        kept.pop("FAIRLEAD_COMPILE", None)
        kept["PYTHONDONTWRITEBYTECODE"] = "1"
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


def packed(directory: Path) -> zipfile.ZipFile:
    (wheel,) = (directory / "wheels").glob("*.whl")
    return zipfile.ZipFile(wheel)


NO_COMPILER = {"CC": "no-such-compiler", "LDSHARED": "no-such-compiler"}


@pytest.mark.parametrize("environment", [{}, {"FAIRLEAD_COMPILE": "0"}])
def test_the_package_is_plain_by_default(
    environment: dict[str, str], built: Build, tmp_path: Path
) -> None:
    done = built(**environment)
    assert done.returncode == 0, done.stderr
    wheel = packed(tmp_path)
    assert "fairlead/codec/bodies.py" in wheel.namelist()
    assert not [name for name in wheel.namelist() if name.endswith(".so")]
    assert wheel.read("fairlead/compiler.txt") == b"none\n"
    assert list((tmp_path / "wheels").glob("*-py3-none-any.whl"))


def test_a_compiled_package_that_cannot_be_built_is_an_error_with_the_reason(
    built: Build, tmp_path: Path
) -> None:
    done = built(FAIRLEAD_COMPILE="1", **NO_COMPILER)
    assert done.returncode == 1
    assert "fairlead cannot be compiled: " in done.stderr
    assert "no-such-compiler" in done.stderr
    assert "gcc and python3-dev" in done.stderr.splitlines()[-1]
    assert not list((tmp_path / "wheels").glob("*.whl"))


@needs_compiler
def test_errors_of_mypyc_are_shown(built: Build, tmp_path: Path) -> None:
    (tmp_path / "src/fairlead/codec/bodies.py").write_text("length: int = 'long'\n")
    done = built(FAIRLEAD_COMPILE="1")
    assert done.returncode == 1
    assert "fairlead cannot be compiled by mypyc:" in done.stderr
    assert "src/fairlead/codec/bodies.py:1: error: Incompatible types" in done.stderr


def test_other_values_than_0_and_1_are_refused(built: Build) -> None:
    done = built(FAIRLEAD_COMPILE="yes")
    assert done.returncode == 1
    assert "FAIRLEAD_COMPILE must be 0 or 1, not 'yes'" in done.stderr


def test_an_editable_installation_cannot_be_compiled(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("FAIRLEAD_COMPILE", "1")
    with pytest.raises(SystemExit, match="an editable installation cannot be compiled"):
        build.build_editable(str(tmp_path))


def test_builds_leave_nothing_in_the_checkout(built: Build, tmp_path: Path) -> None:
    before = sorted(tmp_path.rglob("*"))
    assert built().returncode == 0
    wheels = tmp_path / "wheels"
    assert sorted({*tmp_path.rglob("*")} - {wheels, *wheels.iterdir()}) == before


@needs_compiler
@pytest.mark.slow
def test_two_builds_at_once_are_both_compiled(built: Build, tmp_path: Path) -> None:
    """They would share mypy's cache, whose database one of them finds locked."""
    with ThreadPoolExecutor(2) as pool:
        for done in pool.map(lambda name: built(name, FAIRLEAD_COMPILE="1"), ("one", "two")):
            assert done.returncode == 0, done.stderr
    for name in ("one", "two"):
        (wheel,) = (tmp_path / name).glob("*.whl")
        names = zipfile.ZipFile(wheel).namelist()
        assert len([name for name in names if name.endswith(".so")]) == 3 + 1


@pytest.mark.usefixtures("built")
def test_compiled_modules_of_an_earlier_build_do_not_hide_sources(tmp_path: Path) -> None:
    suffix = sysconfig.get_config_var("EXT_SUFFIX")
    stale = tmp_path / "copy" / "fairlead" / "codec" / f"bodies{suffix}"
    stale.parent.mkdir(parents=True)
    stale.write_bytes(b"old")
    words = [sys.executable, "setup.py", "--quiet", "build", "--build-lib", "copy"]
    subprocess.run(words, cwd=tmp_path, check=True, timeout=300)
    assert stale.with_name("bodies.py").exists()
    assert not stale.exists()


@pytest.mark.parametrize(("value", "requested"), [("", False), ("0", False), ("1", True)])
def test_mypyc_is_asked_for_only_where_it_is_used(
    value: str, requested: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAIRLEAD_COMPILE", value)
    assert (build.COMPILER in build.get_requires_for_build_wheel()) == requested


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
