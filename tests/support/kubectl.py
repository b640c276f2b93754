"""kubectl, as its users run it."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from support.process import ServerProcess

KUBECTL = shutil.which("kubectl")


class Kubectl:
    """Runs kubectl in a namespace, as the admin whose configuration the server wrote."""

    def __init__(self, server: ServerProcess, namespace: str, home: Path) -> None:
        assert KUBECTL is not None
        self.command = [
            KUBECTL,
            f"--kubeconfig={server.data / 'admin.kubeconfig'}",
            f"--namespace={namespace}",
            f"--cache-dir={home / 'cache'}",
        ]

    def __call__(self, *arguments: str, text: str | None = None) -> str:
        done = subprocess.run(
            [*self.command, *arguments],
            input=text,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def fails(self, *arguments: str, text: str | None = None) -> str:
        done = subprocess.run(
            [*self.command, *arguments],
            input=text,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode != 0, done.stdout
        return done.stderr or done.stdout

    @contextmanager
    def start(self, *arguments: str) -> Iterator[subprocess.Popen[str]]:
        """A kubectl that goes on until the end of the block."""
        command = [*self.command, *arguments]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            try:
                yield process
            finally:
                process.kill()
