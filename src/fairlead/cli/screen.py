"""Standard output and standard error of a command, which may be a terminal."""

from __future__ import annotations

import os
import sys
from typing import TextIO

from fairlead.base.terminal import guarded


class Screen:
    """The output of a command. Uses colour only on a terminal, and not if `NO_COLOR` is set."""

    def __init__(self, out: TextIO | None = None, errors: TextIO | None = None) -> None:
        self.out = guarded(out or sys.stdout)
        self.errors = guarded(errors or sys.stderr)

    @property
    def is_terminal(self) -> bool:
        return self.out.isatty()

    @property
    def has_colour(self) -> bool:
        return (
            self.is_terminal and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
        )

    @property
    def width(self) -> int:
        from shutil import get_terminal_size

        return get_terminal_size().columns

    def print(self, text: str = "") -> None:
        self.out.write(text + "\n")

    def flush(self) -> None:
        self.out.flush()

    def warn(self, text: str) -> None:
        self.errors.write(text + "\n")
        self.errors.flush()
