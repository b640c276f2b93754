"""What is written to a terminal: text of others can show nothing but itself.

Names, labels, messages and logs come from servers, pods and files. A terminal would obey escape
sequences in them, and bidirectional controls make text look like another one. `main` puts a
`Guarded` in front of every standard stream that is a terminal; it makes such characters visible.
Control sequences of our own begin with OWN, which nobody else can write.
"""

from __future__ import annotations

import os
import sys
from codecs import getincrementaldecoder
from collections.abc import Iterable
from io import TextIOWrapper
from typing import Any, TextIO, cast

# Stands for the escape character in front of our own control sequences: f"{OWN}[1m". It is random,
# so that no text that came from elsewhere has it.
OWN = f"\x1b{os.urandom(8).hex()}"

_BIDIRECTIONAL = (0x61C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A))
CONTROLS = (*range(0x20), *range(0x7F, 0xA0), *_BIDIRECTIONAL)
"""Codes of the characters that a terminal obeys or that turn the direction of text."""

# Control characters as people write them, ^[ for escape. Line breaks and tabs stay.
_VISIBLE = {
    **{code: f"\\u{code:04x}" for code in _BIDIRECTIONAL},
    **{code: f"\\x{code:02x}" for code in range(0x80, 0xA0)},
    **{code: f"^{chr(code ^ 0x40)}" for code in (*range(0x20), 0x7F) if chr(code) not in "\n\t"},
    ord("\r"): "\\r",
}
_new_decoder = getincrementaldecoder("utf-8")


def printable(text: str) -> str:
    """Text that came from elsewhere, with every control character made visible."""
    return text if text.isprintable() else text.translate(_VISIBLE)


class Guarded:
    """A terminal's stream that writes printable text, and our own control sequences."""

    buffer = None  # so that nobody goes around the guard

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._decoder = _new_decoder(errors="backslashreplace")

    def write(self, text: str) -> int:
        self._stream.write("\x1b".join(map(printable, text.split(OWN))))
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.write(line)

    def write_bytes(self, content: bytes) -> None:
        """A piece of a text in UTF-8; it may end inside of a character."""
        self.write(self._decoder.decode(content))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def guarded(stream: TextIO) -> TextIO:
    """The stream, behind a guard if it is a terminal. Characters that its encoding does not have
    are escaped."""
    if isinstance(stream, Guarded):
        return cast(TextIO, stream)
    if isinstance(stream, TextIOWrapper):
        stream.reconfigure(errors="backslashreplace")
    return cast(TextIO, Guarded(stream)) if stream.isatty() else stream


def unguarded(stream: TextIO) -> TextIO:
    """The terminal itself, for a library that draws on it; it must be given printable text."""
    return stream._stream if isinstance(stream, Guarded) else stream


def guard_terminals() -> None:
    """Everything that this process prints from now on goes through the guard."""
    sys.stdout, sys.stderr = guarded(sys.stdout), guarded(sys.stderr)


def write_bytes(stream: TextIO, content: bytes) -> None:
    """Write what others made: to a terminal as printable text, anywhere else byte by byte."""
    if isinstance(stream, Guarded):
        stream.write_bytes(content)
    elif (raw := getattr(stream, "buffer", None)) is not None:
        stream.flush()
        raw.write(content)
    else:
        stream.write(content.decode(errors="replace"))
    stream.flush()
