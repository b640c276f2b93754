"""Columns of text, as wide as what stands in them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from fairlead.base.terminal import printable

_GAP = 3
_NARROWEST = 6


class Columns:
    """Remembers how wide its columns were: what comes later is aligned with what is there."""

    def __init__(self) -> None:
        self._widths: list[int] = []

    def text(self, rows: Sequence[Sequence[str]]) -> str:
        """One row a line, each with its end."""
        rows = [[printable(cell) for cell in row] for row in rows]
        self._widths = widths(rows, self._widths)
        return "".join(f"{line(row, self._widths)}\n" for row in rows)


def widths(rows: Iterable[Sequence[str]], known: Iterable[int] = ()) -> list[int]:
    """How wide each column is with the gap behind it; none gets narrower than it is known."""
    found = list(known)
    for row in rows:
        found += [_NARROWEST] * (len(row) - len(found))
        for at, cell in enumerate(row[:-1]):
            found[at] = max(found[at], len(cell) + _GAP)
    return found


def line(row: Sequence[str], width: Sequence[int]) -> str:
    """One row; nothing is behind its last cell."""
    padded = [cell.ljust(size) for cell, size in zip(row[:-1], width, strict=False)]
    return "".join((*padded, *row[-1:]))


def text(rows: Sequence[Sequence[str]]) -> str:
    """All rows, one a line."""
    return Columns().text(rows).removesuffix("\n")
