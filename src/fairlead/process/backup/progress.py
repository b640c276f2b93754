"""Shows the user how far a copy is."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from time import monotonic
from typing import TextIO

from fairlead.base.terminal import OWN, guarded
from fairlead.storage.backend import Row

_LINES_EVERY, _LOOKS_EVERY = 5.0, 0.2  # seconds between updates, in a log and on a terminal


class Progress:
    """Counts rows and bytes, and shows them on a terminal, or anywhere if `verbose`."""

    def __init__(self, task: str, *, verbose: bool = False, stream: TextIO | None = None) -> None:
        self._task = task
        self._stream = guarded(stream or sys.stderr)
        self._terminal = self._stream.isatty()
        self._shown = verbose or self._terminal
        self._every = _LOOKS_EVERY if self._terminal else _LINES_EVERY
        self._next = monotonic() + self._every
        self._unfinished = False
        self._revision = 0
        self.rows = 0
        self.bytes = 0

    def counted(self, rows: Iterable[Row]) -> Iterator[Row]:
        for row in rows:
            self.rows += 1
            yield row
            if not self.rows % 256:
                self._look()

    def add_bytes(self, count: int) -> None:
        self.bytes += count
        self._look()

    def reach(self, revision: int) -> None:
        """Set the revision that the target storage has reached."""
        self._revision = revision
        self._look()

    def say(self, text: str) -> None:
        """Print a line of its own."""
        if self._shown:
            self.end()
            print(text, file=self._stream, flush=True)

    def end(self) -> None:
        """End the unfinished line on the terminal."""
        if self._unfinished:
            self._unfinished = False
            print(file=self._stream, flush=True)

    def _look(self) -> None:
        now = monotonic()
        if not self._shown or now < self._next:
            return
        self._next = now + self._every
        text = f"{self._task}: {self._counts()}"
        if self._terminal:
            self._unfinished = True
            print(f"{OWN}[G{text}{OWN}[K", end="", file=self._stream, flush=True)
        else:
            print(text, file=self._stream, flush=True)

    def _counts(self) -> str:
        if self._revision and not self.rows:
            return f"revision {self._revision}"
        counts = [f"{self.rows:,} objects"] if self.rows else []
        return ", ".join([*counts, size(self.bytes)] if self.bytes else counts)


def size(count: int) -> str:
    """Format a number of bytes with its unit."""
    if count < 1024:
        return f"{count} bytes"
    return f"{count / 1024:.1f} KiB" if count < 1 << 20 else f"{count / (1 << 20):.1f} MiB"
