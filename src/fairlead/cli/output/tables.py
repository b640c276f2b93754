"""Columns of text, as wide as what stands in them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

_GAP = 3
_NARROWEST = 6


def widths(rows: Iterable[Sequence[str]]) -> list[int]:
    """How wide each column is with the gap behind it."""
    found: list[int] = []
    for row in rows:
        found += [_NARROWEST] * (len(row) - len(found))
        for at, cell in enumerate(row):
            found[at] = max(found[at], len(cell) + _GAP)
    return found


def line(row: Sequence[str], width: Sequence[int]) -> str:
    """One row; nothing is behind its last cell."""
    padded = [cell.ljust(size) for cell, size in zip(row[:-1], width, strict=False)]
    return "".join((*padded, *row[-1:]))


def text(rows: Sequence[Sequence[str]]) -> str:
    """All rows, one a line."""
    width = widths(rows)
    return "\n".join(line(row, width) for row in rows)
