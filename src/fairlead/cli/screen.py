"""What a person or a program reads: the standard output and error, a terminal or not."""

from __future__ import annotations

import os
import sys
from typing import TextIO

from fairlead.base.terminal import guarded


class Screen:
    """Where commands write to. Colour only on a terminal, and not where `NO_COLOR` is set."""

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
