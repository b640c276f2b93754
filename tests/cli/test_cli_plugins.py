"""Plugins on the PATH, and suggestions for mistyped words."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from support.commands import Commands, run_words


def program(folder: Path, name: str, text: str = "") -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text(f'#!/bin/sh\necho {text or name} "$@"\n')
    path.chmod(0o755)
    return path


def run_with_path(folder: Path, *words: str) -> tuple[int, str]:
    """Run the command in a process of its own, which a plugin replaces."""
    environment = {**os.environ, "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(
        [sys.executable, "-m", "fairlead", *words],
        capture_output=True,
        text=True,
        env=environment,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


def test_the_program_with_the_longest_name_is_run(tmp_path: Path) -> None:
    for name in ("fairlead-foo", "fairlead-foo-b_c", "kubectl-foo", "kubectl-old"):
        program(tmp_path, name)
    assert run_with_path(tmp_path, "foo", "x", "-y") == (0, "fairlead-foo x -y\n")
    assert run_with_path(tmp_path, "foo", "b-c", "x") == (0, "fairlead-foo-b_c x\n")
    assert run_with_path(tmp_path, "old", "--a") == (0, "kubectl-old --a\n")


def test_plugins_are_listed_with_what_keeps_them_from_being_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    program(first, "fairlead-foo")
    program(second, "fairlead-foo")
    program(first, "kubectl-get")
    program(first, "fairlead-plain").chmod(0o644)
    monkeypatch.setenv("PATH", f"{first}{os.pathsep}{second}")
    ran = run_words("plugin", "list", "--name-only")
    assert ran.out.split() == ["fairlead-foo", "fairlead-plain", "kubectl-get", "fairlead-foo"]
    for problem in (
        "it is not executable",
        "get is a command of fairlead itself",
        f"{first}/fairlead-foo is run instead",
        "error: 3 of these plugins cannot be run",
    ):
        assert problem in ran.errors
    monkeypatch.setenv("PATH", str(tmp_path))
    assert run_words("plugin", "list").code == 1


def test_mistyped_words_are_answered_with_similar_ones(fairlead: Commands) -> None:
    fairlead.space.config_maps.create("settings")
    assert "did you mean pod or pods" in fairlead.run("get", "podz").errors
    assert "did you mean settings?" in fairlead.run("get", "cm", "setings").errors
    assert "(did you mean --watch?)" in fairlead.run("get", "pods", "--wach").errors
    assert "\tstatus" in run_words("rollout", "statu").errors
    assert "\tget" in run_words("gte").errors


@pytest.mark.parametrize(
    "words",
    [
        "describe cm setings",
        "delete cm setings",
        "label cm setings a=b",
        "edit cm setings",
        "annotate cm/setings a=b",
        "history cm setings",
        "set env deployment/x --from=configmap/setings",
    ],
)
def test_names_of_objects_are_suggested_by_all_commands(fairlead: Commands, words: str) -> None:
    fairlead("create", "configmap", "settings")
    assert "did you mean settings?" in fairlead.run(*words.split()).errors


def test_pods_of_a_workload_are_suggested_by_its_name(fairlead: Commands) -> None:
    fairlead.space.ready_for_pods()
    fairlead("run", "web-7d4b9c-x2x2x", "--image=i")
    assert "did you mean web-7d4b9c-x2x2x?" in fairlead.run("logs", "web").errors


def test_namespaces_are_suggested(fairlead: Commands) -> None:
    assert "did you mean default?" in fairlead.run("create", "sa", "x", "-n", "defalt").errors
