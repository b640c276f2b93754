"""Text tables with columns as wide as their content."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from fairlead.base.terminal import printable

_GAP = 3
_NARROWEST = 6


class Columns:
    """Remembers the column widths, to align later rows with earlier ones."""

    def __init__(self) -> None:
        self._widths: list[int] = []

    def text(self, rows: Sequence[Sequence[str]]) -> str:
        """One line per row, each with a line break."""
        rows = [[printable(cell) for cell in row] for row in rows]
        self._widths = widths(rows, self._widths)
        return "".join(f"{line(row, self._widths)}\n" for row in rows)


def widths(rows: Iterable[Sequence[str]], known: Iterable[int] = ()) -> list[int]:
    """The width of each column including the gap; columns never become narrower than `known`."""
    found = list(known)
    for row in rows:
        found += [_NARROWEST] * (len(row) - len(found))
        for at, cell in enumerate(row[:-1]):
            found[at] = max(found[at], len(cell) + _GAP)
    return found


def line(row: Sequence[str], width: Sequence[int]) -> str:
    """One row, without padding after its last cell."""
    padded = [cell.ljust(size) for cell, size in zip(row[:-1], width, strict=False)]
    return "".join((*padded, *row[-1:]))


def text(rows: Sequence[Sequence[str]]) -> str:
    """All rows, without the final line break."""
    return Columns().text(rows).removesuffix("\n")
