"""Runs the command line in the process of the tests."""

from __future__ import annotations

import io
import sys
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple
from unittest import mock

from fairlead.cli import main
from support.namespaces import Space


class Ran(NamedTuple):
    """The result of a command."""

    code: int
    out: str
    errors: str


def run_words(*words: str, text: str = "") -> Ran:
    """Run a command; `text` is its standard input."""
    out, errors = io.StringIO(), io.StringIO()
    with (
        redirect_stdout(out),
        redirect_stderr(errors),
        mock.patch.object(sys, "stdin", io.StringIO(text)),
    ):
        code = main(list(words))
    return Ran(code, out.getvalue(), errors.getvalue())


@dataclass
class Commands:
    """Runs commands in the namespace of a space, as its admin."""

    space: Space

    @property
    def config(self) -> Path:
        return self.space.server.data / "admin.kubeconfig"

    def run(self, *words: str, text: str = "") -> Ran:
        """Run a command, which may fail; `text` is its standard input."""
        flags: tuple[str, ...] = ()
        if "--kubeconfig" not in words:
            flags += ("--kubeconfig", str(self.config))
        if not {"-n", "--namespace"} & set(words):
            flags += ("-n", self.space.name)
        return run_words(*flags, *words, text=text)

    def __call__(self, *words: str, text: str = "") -> str:
        """Return the output of a command that must succeed."""
        ran = self.run(*words, text=text)
        assert ran.code == 0, ran.errors
        return ran.out
