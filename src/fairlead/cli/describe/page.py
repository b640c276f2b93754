"""The text buffer of a description: indentation levels and aligned columns."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from fairlead.base.terminal import printable

_STEP = "  "  # per level
_GAP = 2  # spaces after the widest cell of a column


class Page:
    """Lines of tab-terminated cells. Cells at the same position in consecutive lines form a column;
    text after the last tab is not aligned."""

    def __init__(self) -> None:
        self._lines: list[str] = []

    def write(self, text: str = "", level: int = 0) -> None:
        self._lines += f"{_STEP * level}{text}".split("\n")

    def pair(self, name: str, value: Any, level: int = 0) -> None:
        self.write(f"{name}:\t{value}", level)

    def pairs(self, *pairs: tuple[str, Any], level: int = 0) -> None:
        for name, value in pairs:
            self.pair(name, value, level)

    def pairs_if(self, *pairs: tuple[str, Any], level: int = 0) -> None:
        """Write the pairs that have a value."""
        self.pairs(*(pair for pair in pairs if pair[1] not in ("", None)), level=level)

    def entries(self, name: str, lines: Sequence[str], level: int = 0) -> None:
        """Write a name with several lines beside it."""
        first, *others = lines or ["<none>"]
        self.pair(name, first, level)
        for line in others:
            self.write(f"\t{line}")

    def row(self, *cells: Any, level: int = 1) -> None:
        self.write("\t".join(map(str, cells)), level)

    def table(
        self,
        head: Sequence[str],
        rows: Iterable[Sequence[Any]],
        level: int = 1,
        rules: Sequence[str] = (),
    ) -> None:
        """Write a head, rules below it (by default as long as its cells), and rows."""
        self.row(*head, level=level)
        self.row(*(rules or ["-" * len(cell) for cell in head]), level=level)
        for row in rows:
            self.row(*row, level=level)

    def unaligned(self) -> str:
        """The text with tabs, without the final line break."""
        return printable("\n".join(self._lines))

    def text(self) -> str:
        return "".join(f"{line}\n" for line in aligned(self._lines))


def aligned(lines: Sequence[str]) -> list[str]:
    """Replace tabs by spaces so that columns align, and escape control characters."""
    table = [[printable(cell) for cell in line.split("\t")] for line in lines]
    column = 0
    within = [index for index, cells in enumerate(table) if len(cells) > 1]
    while within:
        for run in _runs(within):
            width = max(len(table[number][column]) for number in run) + _GAP
            for number in run:
                table[number][column] = table[number][column].ljust(width)
        column += 1
        within = [number for number in within if len(table[number]) > column + 1]
    return ["".join(cells) for cells in table]


def _runs(numbers: Sequence[int]) -> Iterable[list[int]]:
    """Split sorted numbers into runs of consecutive numbers."""
    run: list[int] = []
    for number in numbers:
        if run and number != run[-1] + 1:
            yield run
            run = []
        run.append(number)
    yield run
