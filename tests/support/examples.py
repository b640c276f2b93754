"""Examples of the documentation, run as they are printed."""

from __future__ import annotations

import re
import socket
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PATIENCE = 60.0
# The command that is tried is the one beside these tests, whatever is installed.
_PRELUDE = f'fairlead() {{ "{sys.executable}" -m fairlead "$@"; }}\n'


def section(text: str, title: str) -> str:
    return text.split(f"\n## {title}\n")[1].split("\n## ")[0]


def commands(text: str) -> list[str]:
    """What stands behind `$ ` in console blocks."""
    blocks = re.findall(r"```console\n(.*?)```", text, re.DOTALL)
    return [line[2:] for block in blocks for line in block.splitlines() if line[:2] == "$ "]


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as found:
        return int(found.getsockname()[1])


class Terminal:
    """Runs commands of a document in a directory, on ports that are free."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._ports = {"6443": str(free_port()), "6444": str(free_port())}
        self._servers: list[subprocess.Popen[bytes]] = []

    def _here(self, text: str) -> str:
        for printed, free in self._ports.items():
            text = text.replace(printed, free)
        return text

    def serve(self, command: str) -> None:
        """`make serve`, without what make installs, or `fairlead serve`."""
        found = re.fullmatch(r"make serve(?: ARGS='(.*)')?|fairlead serve (.*)", command)
        assert found is not None
        flags = (found[1] or found[2] or "--secure-port 6443").split()
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
            input=_PRELUDE + self._here("\n".join(lines)),
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
