"""What a person or a program reads: the standard output and error, a terminal or not."""

from __future__ import annotations

import os
import sys
from io import TextIOWrapper
from typing import TextIO

# What a terminal would obey, as people write it: ^[ for escape. Line breaks and tabs stay.
_HARMLESS = {
    **{code: f"^{chr(code ^ 0x40)}" for code in (*range(0x20), 0x7F) if chr(code) not in "\n\t"},
    **{code: f"\\x{code:02x}" for code in range(0x80, 0xA0)},
    ord("\r"): "\\r",
}


def printable(text: str) -> str:
    """Text that came from elsewhere, with nothing in it that a terminal would obey."""
    return text.translate(_HARMLESS) if not text.isprintable() else text


class Screen:
    """Where commands write to. Colour only on a terminal, and not where `NO_COLOR` is set."""

    def __init__(self, out: TextIO | None = None, errors: TextIO | None = None) -> None:
        self.out = out or sys.stdout
        self.errors = errors or sys.stderr
        for stream in (self.out, self.errors):
            if isinstance(stream, TextIOWrapper):  # which may not know all letters
                stream.reconfigure(errors="backslashreplace")

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
