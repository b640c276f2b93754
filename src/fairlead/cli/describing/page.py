"""The sheet that a description is written on: levels, and columns that line up."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from fairlead.base.terminal import printable

_STEP = "  "  # of a level
_GAP = 2  # behind the widest cell of a column


class Page:
    """Lines whose cells end in tabs. Cells below each other in lines that follow each other make a
    column; what stands behind a line's last tab belongs to none."""

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
        """Those that have a value."""
        self.pairs(*(pair for pair in pairs if pair[1] not in ("", None)), level=level)

    def entries(self, name: str, lines: Sequence[str], level: int = 0) -> None:
        """A name and, beside it, lines below each other."""
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
        """A head, a rule under each of its cells unless others are given, and rows."""
        self.row(*head, level=level)
        self.row(*(rules or ["-" * len(cell) for cell in head]), level=level)
        for row in rows:
            self.row(*row, level=level)

    def unaligned(self) -> str:
        """With tabs, and without the last line's end."""
        return printable("\n".join(self._lines))

    def text(self) -> str:
        return "".join(f"{line}\n" for line in aligned(self._lines))


def aligned(lines: Sequence[str]) -> list[str]:
    """Lines with spaces for their tabs, and nothing that a terminal would obey."""
    table = [[printable(cell) for cell in line.split("\t")] for line in lines]
    column = 0
    within = [at for at, cells in enumerate(table) if len(cells) > 1]
    while within:
        for run in _runs(within):
            width = max(len(table[at][column]) for at in run) + _GAP
            for at in run:
                table[at][column] = table[at][column].ljust(width)
        column += 1
        within = [at for at in within if len(table[at]) > column + 1]
    return ["".join(cells) for cells in table]


def _runs(numbers: Sequence[int]) -> Iterable[list[int]]:
    """Numbers that follow each other without a gap."""
    run: list[int] = []
    for number in numbers:
        if run and number != run[-1] + 1:
            yield run
            run = []
        run.append(number)
    yield run
