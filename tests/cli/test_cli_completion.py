"""Shell completion."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from support.commands import Commands

from fairlead.cli import main
from fairlead.cli.completion import offers


class Typing:
    """Words as a shell hands them over, in the namespace of a test."""

    def __init__(self, commands: Commands, capsys: pytest.CaptureFixture[str]) -> None:
        self.commands = commands
        self.capsys = capsys

    def __call__(self, *words: str) -> list[str]:
        """Return the completions of the last word."""
        assert main(["__complete", *words]) == 0
        out, errors = self.capsys.readouterr()
        assert errors == ""
        return [line.partition("\t")[0] for line in out.splitlines()]


@pytest.fixture
def typing(
    fairlead: Commands, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Typing:
    monkeypatch.setenv("KUBECONFIG", str(fairlead.config))
    # A server that many tests share may have more namespaces than are offered.
    monkeypatch.setattr(offers, "_MAX_CANDIDATES", 10_000)
    return Typing(fairlead, capsys)


def test_commands(typing: Typing) -> None:
    assert {"get", "serve", "rollout"} <= {*typing("")}
    assert typing("ge") == ["get"]
    assert typing("rollout", "res") == ["restart", "resume"]
    assert typing("-n", "default", "expl") == ["explain"]
    assert typing("no-such", "") == []


def test_flags_and_their_values(typing: Typing) -> None:
    assert typing("get", "--show-l") == ["--show-labels"]
    assert typing("get", "-o", "ya") == ["yaml"]
    assert typing("get", "pods", "--output=js") == [
        "--output=json",
        "--output=jsonpath=",
        "--output=jsonpath-as-json=",
        "--output=jsonpath-file=",
    ]
    assert typing("api-resources", "-o", "") == ["wide", "name"]
    assert typing("completion", "z") == ["zsh"]
    assert typing("apply", "-n", "default", "set-last-applied", "--create-a") == [
        "--create-annotation"
    ]


def test_kinds(typing: Typing) -> None:
    assert typing("get", "depl") == ["deployments"]
    assert typing("get", "pods,secr") == ["pods,secrets"]
    assert typing("explain", "persistentvolumec") == ["persistentvolumeclaims"]


def test_names_in_the_namespace_that_is_meant(typing: Typing) -> None:
    space = typing.commands.space
    for name in ("abc", "abd", "x"):
        space.secrets.create(name)
    assert typing("get", "secrets", "-n", space.name, "ab") == ["abc", "abd"]
    assert typing("-n", space.name, "get", "secret/a") == ["secret/abc", "secret/abd"]
    assert typing("get", "-n", space.name[:-1]) == [space.name]
    assert typing("--namespace", space.name[:-1]) == [space.name]


def test_contexts(typing: Typing) -> None:
    assert typing("get", "--context", "") == ["fairlead"]
    assert typing("--context", "") == ["fairlead"]


def test_it_is_silent_where_there_is_no_server(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBECONFIG", "/none/such")
    assert main(["__complete", "get", "po"]) == 0
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_scripts_are_what_their_shells_can_read(shell: str, fairlead_kubernetes: Commands) -> None:
    script = fairlead_kubernetes("completion", shell)
    assert "__complete" in script
    program = shutil.which(shell)
    if program is None:
        pytest.skip(f"{shell} is not installed: its script was not read by it")
    subprocess.run([program, "-n"], input=script, text=True, check=True)


def test_bash_replaces_only_the_word_that_it_sees(
    fairlead_kubernetes: Commands, tmp_path: Path
) -> None:
    (tmp_path / "fairlead").write_text(f'#!/bin/sh\nexec {sys.executable} -m fairlead "$@"\n')
    (tmp_path / "fairlead").chmod(0o755)
    script = fairlead_kubernetes("completion", "bash") + (
        "reply() { COMP_LINE=$1; COMP_POINT=${#1}; _fairlead; echo ${COMPREPLY[@]}; }\n"
        "reply 'fairlead get clusterroles system:node-b'\n"
        "reply 'fairlead get cm --output=ya'\n"
    )
    env = {
        **os.environ,
        "PATH": f"{tmp_path}:{os.environ['PATH']}",
        "KUBECONFIG": str(fairlead_kubernetes.config),
    }
    done = subprocess.run(
        ["bash"], input=script, capture_output=True, text=True, env=env, check=True
    )
    assert done.stdout.splitlines() == ["node-bootstrapper", "yaml"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "error: name the shell: bash, zsh or fish\n"),
        (("tcsh",), "error: there is nothing for tcsh: name bash, zsh or fish\n"),
        (("bash", "zsh"), "error: name one shell and nothing else\n"),
    ],
)
def test_shells_that_are_not_known(
    fairlead_kubernetes: Commands, words: tuple[str, ...], message: str
) -> None:
    ran = fairlead_kubernetes.run("completion", *words)
    assert (ran.code, ran.out) == (1, "")
    assert ran.errors.startswith(message)
