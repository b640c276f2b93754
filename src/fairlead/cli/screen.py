"""What a person or a program reads: the standard output and error, a terminal or not."""

from __future__ import annotations

import os
import re
import shutil
import sys
from typing import TextIO

_UNSAFE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def printable(text: str) -> str:
    """Text of others, without what a terminal would take for commands. Line ends and tabs stay."""
    return _UNSAFE.sub(lambda found: f"\\x{ord(found[0]):02x}", text)


class Screen:
    """Where commands write to. Colour only on a terminal, and not where `NO_COLOR` is set."""

    def __init__(self, out: TextIO | None = None, errors: TextIO | None = None) -> None:
        self.out = out or sys.stdout
        self.errors = errors or sys.stderr

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
        return shutil.get_terminal_size().columns

    def print(self, text: str = "") -> None:
        self.out.write(text + "\n")

    def flush(self) -> None:
        self.out.flush()

    def warn(self, text: str) -> None:
        self.errors.write(text + "\n")
        self.errors.flush()
