"""The README's examples run as printed, and its tables are those of the command line."""

from __future__ import annotations

import re
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text()
SERVE = "make serve"
PATIENCE = 60.0


def section(title: str) -> str:
    return README.split(f"\n## {title}\n")[1].split("\n## ")[0]


def commands(title: str) -> list[str]:
    """What stands behind `$ ` in the console blocks of a section."""
    blocks = re.findall(r"```console\n(.*?)```", section(title), re.DOTALL)
    return [line[2:] for block in blocks for line in block.splitlines() if line[:2] == "$ "]


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as found:
        return int(found.getsockname()[1])


class Terminal:
    """Runs commands of the README in a directory, on ports that are free."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._ports = {"6443": str(free_port()), "6444": str(free_port())}
        self._servers: list[subprocess.Popen[bytes]] = []

    def _here(self, text: str) -> str:
        for printed, free in self._ports.items():
            text = text.replace(printed, free)
        return text

    def serve(self, command: str) -> None:
        """`make serve`, without what make installs."""
        found = re.fullmatch(r"make serve(?: ARGS='(.*)')?", command)
        assert found is not None
        flags = (found[1] or "--secure-port 6443").split()
        process = subprocess.Popen(
            [sys.executable, "-m", "fairlead", "serve", *self._here(" ".join(flags)).split()],
            cwd=self.directory,
            stdout=subprocess.PIPE,
        )
        self._servers.append(process)
        assert process.stdout is not None
        assert b"https://" in process.stdout.readline()

    def run(self, lines: list[str]) -> str:
        done = subprocess.run(
            ["bash", "-e", "-o", "pipefail"],
            input=self._here("\n".join(lines)),
            cwd=self.directory,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def close(self) -> None:
        for process in self._servers:
            process.terminate()
        for process in self._servers:
            process.wait(PATIENCE)
            assert process.stdout is not None
            process.stdout.close()


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Terminal]:
    made = Terminal(tmp_path)
    yield made
    made.close()


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed: not tried out")
def test_the_examples_with_curl(terminal: Terminal) -> None:
    terminal.serve(SERVE)
    said = terminal.run(commands("Try it with curl"))
    assert '"kind": "NamespaceList"' in said
    assert '"greeting": "ahoy"' in said
    assert '"type":"ADDED"' in said.replace(" ", "")


@pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is not installed: not tried")
def test_the_examples_with_kubectl(terminal: Terminal) -> None:
    serve, *lines = commands("Try it with kubectl")
    terminal.serve(serve)
    said = terminal.run(lines)
    assert "configmap/hello created" in said
    assert re.search(r"^default +hello +1 ", said, re.MULTILINE)
    assert "Image that it is made from." in said


def test_examples_need_no_command_that_is_not_there() -> None:
    known = {"make", "curl", "kubectl", "export", "call", "call()"}
    for title in ("Two commands", "Try it with curl", "Try it with kubectl"):
        for command in commands(title):
            word = command.split()[0]
            assert word in known or "=" in word, command


def test_every_target_that_is_named_exists() -> None:
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert set(re.findall(r"`make ([a-z]+)`|\$ make ([a-z]+)", README)) != set()
    for pair in re.findall(r"`make ([a-z]+)`|\$ make ([a-z]+)", README):
        assert (pair[0] or pair[1]) in targets


def test_the_tables_of_flags_are_those_of_the_command_line(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    from flags import with_tables

    assert with_tables(README) == README, "run tools/flags.py"


def test_help_of_make_lists_the_targets() -> None:
    if shutil.which("make") is None:
        pytest.skip("make is not installed")
    done = subprocess.run(["make"], cwd=ROOT, capture_output=True, text=True, check=True)
    for target in ("serve", "test", "quick", "lint", "parity", "bench"):
        assert f"  {target} " in done.stdout
