"""How `make` installs what a target needs (`tools/environment.py`)."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(autouse=True)
def tools(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    monkeypatch.setenv("FAIRLEAD_WHEELHOUSE", str(tmp_path / "wheelhouse"))


def test_a_missing_network_is_a_line_that_says_what_to_do(tmp_path: Path) -> None:
    import environment

    text = environment.reason(
        "WARNING: Retrying after NewConnectionError('...')\nERROR: setuptools"
    )
    assert text.startswith(
        f"the package index cannot be reached and there is no {tmp_path / 'wheelhouse'}: "
    )
    assert "`make wheelhouse`" in text
    assert "\n" not in text


def test_a_package_that_the_wheelhouse_lacks_is_named(tmp_path: Path) -> None:
    import environment

    (tmp_path / "wheelhouse").mkdir()
    text = environment.reason("ERROR: No matching distribution found for orjson<4,>=3.10\n")
    assert text.startswith(f"{tmp_path / 'wheelhouse'} lacks orjson<4,>=3.10: ")


def test_other_errors_of_pip_are_shown(tmp_path: Path) -> None:
    import environment

    text = environment.reason("Collecting a\nERROR: no space left on device\nERROR: more\n")
    assert text.startswith("pip failed: no space left on device (see ")


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("Collecting markdown-it-py>=2.2.0 (from rich)", "markdown-it-py"),
        ("Processing ./wheelhouse/google_re2-1.1-cp312-cp312-linux.whl", "google_re2"),
        ("  Processing /x/cffi-2.1.1-cp312-cp312-linux.whl (from cryptography)", "cffi"),
    ],
)
def test_packages_are_counted_from_an_index_and_from_files(line: str, name: str) -> None:
    import environment

    match = re.match(environment.PACKAGE, line)
    assert match is not None
    assert match[1] == name


def test_progress_is_shown_while_pip_is_silent() -> None:
    import environment

    reading, writing = os.pipe()
    with open(reading) as stream:
        lines = environment.lines_of(stream)
        os.write(writing, b"a\n")
        assert next(lines) == "a\n"
        assert next(lines) == ""
        os.close(writing)
        assert [line for line in lines if line] == []


def test_too_old_a_python_is_named_in_a_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("MAKEFLAGS", "MAKELEVEL"):  # set if make runs the tests
        monkeypatch.delenv(name, raising=False)
    old = tmp_path / "old-python"
    old.write_text("#!/bin/sh\nexit 1\n")
    old.chmod(0o755)
    for python in (str(old), "no-such-python"):
        words = ["make", f"PYTHON={python}", f"VENV={tmp_path / 'venv'}", "serve"]
        done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
        assert done.returncode == 2
        assert done.stdout.startswith(f"{python} is not Python 3.11 or newer")
        assert done.stdout.count("\n") == 1


def test_an_environment_that_cannot_be_created_is_a_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import environment

    (tmp_path / "venv.py").write_text("raise SystemExit('ensurepip is not available')\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setattr(environment, "VENV", tmp_path / "environment")
    with pytest.raises(environment.InstallFailedError, match="python3-venv") as failure:
        environment.create_environment()
    assert "ensurepip is not available" in str(failure.value)
    assert sys.executable in str(failure.value)
