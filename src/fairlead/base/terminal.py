"""Escapes control characters in text that is printed to a terminal.

Names, labels, messages and logs come from servers, pods and files. A terminal would execute escape
sequences in them, and bidirectional controls make text look different from what it is. `main` wraps
every standard stream that is a terminal in a `GuardedStream`, which makes such characters visible.
Our own control sequences begin with OWN, which foreign text cannot contain.
"""

from __future__ import annotations

import os
import sys
from codecs import getincrementaldecoder
from collections.abc import Iterable
from io import TextIOWrapper
from typing import Any, TextIO, cast

# Stands for the escape character in front of our own control sequences: f"{OWN}[1m". It is random,
# so that no foreign text contains it.
OWN = f"\x1b{os.urandom(8).hex()}"

_BIDIRECTIONAL = (0x61C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A))
CONTROLS = (*range(0x20), *range(0x7F, 0xA0), *_BIDIRECTIONAL)
"""Codes of the characters that a terminal obeys or that turn the direction of text."""

# Control characters in caret notation, ^[ for escape. Line breaks and tabs stay.
_VISIBLE = {
    **{code: f"\\u{code:04x}" for code in _BIDIRECTIONAL},
    **{code: f"\\x{code:02x}" for code in range(0x80, 0xA0)},
    **{code: f"^{chr(code ^ 0x40)}" for code in (*range(0x20), 0x7F) if chr(code) not in "\n\t"},
    ord("\r"): "\\r",
}
_new_decoder = getincrementaldecoder("utf-8")


def printable(text: str) -> str:
    """Make every control character of a foreign text visible."""
    return text if text.isprintable() else text.translate(_VISIBLE)


class GuardedStream:
    """Wraps a terminal's stream; writes printable text and our own control sequences only."""

    buffer = None  # prevents writes that bypass the guard

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
        """Write a piece of UTF-8 text, which may end within a character."""
        self.write(self._decoder.decode(content))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def guarded(stream: TextIO) -> TextIO:
    """Wrap the stream if it is a terminal. Characters that its encoding lacks are escaped."""
    if isinstance(stream, GuardedStream):
        return cast(TextIO, stream)
    if isinstance(stream, TextIOWrapper):
        stream.reconfigure(errors="backslashreplace")
    return cast(TextIO, GuardedStream(stream)) if stream.isatty() else stream


def unguarded(stream: TextIO) -> TextIO:
    """Return the wrapped terminal, for a library that draws on it. Pass it printable text only."""
    return stream._stream if isinstance(stream, GuardedStream) else stream


def guard_terminals() -> None:
    """Wrap standard output and standard error for the rest of the process."""
    sys.stdout, sys.stderr = guarded(sys.stdout), guarded(sys.stderr)


def write_bytes(stream: TextIO, content: bytes) -> None:
    """Write foreign bytes: to a terminal as printable text, to anything else unchanged."""
    if isinstance(stream, GuardedStream):
        stream.write_bytes(content)
    elif (raw := getattr(stream, "buffer", None)) is not None:
        stream.flush()
        raw.write(content)
    else:
        stream.write(content.decode(errors="replace"))
    stream.flush()
