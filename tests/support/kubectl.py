"""Runs kubectl."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from support.process import ServerProcess

KUBECTL = shutil.which("kubectl")
_OLDEST = 24  # the oldest minor release whose output matches the API's


def _is_recent() -> bool:
    if KUBECTL is None:
        return False
    result = subprocess.run(
        [KUBECTL, "version", "--client", "--output=json"],
        capture_output=True,
        text=True,
        check=False,
    )
    match = re.search(r'"minor":\s*"(\d+)', result.stdout)
    return match is not None and int(match[1]) >= _OLDEST


IS_RECENT = _is_recent()
compared = pytest.mark.skipif(
    not IS_RECENT, reason=f"there is no kubectl from 1.{_OLDEST} on: not compared"
)


# What both programs say around a selector that the server refuses.
_REFUSED_SELECTOR = re.compile(
    'Unable to find "(.*)" that match label selector (".*"), field selector (".*"): '
)


# What each program says in a sentence of its own: what a volume is, what the scope of a quota
# means, where a variable comes from, what a rule allows.
_SENTENCES = re.compile(
    r"(?<=Type:)([ \t]*\w+) \(.*\)|^ +\* .*$|<(?:set to the )?key (.*)>"
    r"|\([A-Z].*\.?\)|(?<=<any>) \(.*\)|(?<=<none>) \(.*\)",
    re.MULTILINE,
)


def without_sentences(text: str) -> str:
    """Keep the facts of a description: sentences are each program's own wording."""
    return _SENTENCES.sub(r"\1\2", text)


def said_by_server(errors: str) -> list[str]:
    """Return the server's errors. Other output is each program's own wording."""
    lines = [line for line in errors.splitlines() if line.startswith("Error from server")]
    ours = r"\1 cannot be chosen by labels \2 and fields \3: "
    return [_REFUSED_SELECTOR.sub(ours, line) for line in lines]


class Kubectl:
    """Runs kubectl in a namespace, with the admin's kubeconfig."""

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
        """Run kubectl until the end of the block."""
        command = [*self.command, *arguments]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            try:
                yield process
            finally:
                process.kill()
