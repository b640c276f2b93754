"""Draws fields beside their owners, below a legend of the managers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime

from fairlead.base.terminal import printable
from fairlead.cli.invocation import BLUE, CYAN, DIM, GREEN, MAGENTA, RED, YELLOW, Paint, Screen
from fairlead.cli.output import tables
from fairlead.cli.output.fitting import cut, fitted
from fairlead.cli.ownership.managers import Manager
from fairlead.cli.ownership.plan import ADDED, REMOVED, THEIRS, YOURS
from fairlead.cli.ownership.rows import Row

NOBODY = "<none>"
_COLOURS = (
    CYAN,
    GREEN,
    YELLOW,
    MAGENTA,
    BLUE,
)
_HEAD = ("MANAGER", "OPERATION", "SUBRESOURCE", "APIVERSION", "AGE", "FIELDS")
_GAP = "   "
_MIN_WIDTH = 20  # minimum width of the fields
# Per mark: line prefix, colour, and prefix of the owners.
_MARKS: Mapping[str, tuple[str, str, str]] = {
    "": ("  ", "", ""),
    REMOVED: ("- ", RED, ""),
    ADDED: ("+ ", GREEN, ""),
    THEIRS: ("! ", RED, "theirs: "),
    YOURS: ("> ", YELLOW, "yours: "),
}


class Drawing:
    """Draws for one screen. Each manager has the same colour everywhere."""

    def __init__(self, screen: Screen, managers: Sequence[Manager]) -> None:
        self._screen = screen
        self._paint = Paint(screen)
        self._now = datetime.now(UTC)
        self._managers = managers
        names = dict.fromkeys(manager.name for manager in managers)
        self._colours = {name: _COLOURS[index % len(_COLOURS)] for index, name in enumerate(names)}

    def legend(self) -> str:
        cells = [
            (
                printable(manager.name),
                manager.operation,
                printable(manager.subresource) or "-",
                printable(manager.api_version),
                manager.age(self._now),
                str(manager.count),
            )
            for manager in self._managers
        ]
        rows = fitted([_HEAD, *cells], _HEAD, tables.GAP, self._screen.width)
        width = tables.widths(rows)
        lines = [
            self._paint(tables.line(row, width), self._colours[manager.name])
            for row, manager in zip(rows[1:], self._managers, strict=True)
        ]
        return "\n".join((tables.line(rows[0], width), *lines))

    def fields(self, rows: Iterable[Row], planner: str = "") -> str:
        """Draw all rows; with the manager of a plan also their marks."""
        drawn = list(rows)
        behind = [self._behind(row, planner) for row in drawn]
        before = [(_MARKS[row.mark][0] if planner else "") + row.text for row in drawn]
        width = max(map(len, before), default=0)
        if columns := self._screen.width:
            room = max(columns - _MIN_WIDTH - len(_GAP), _MIN_WIDTH)
            behind = [cut(text, room) for text in behind]
            room = columns - max(map(len, behind), default=0) - len(_GAP)
            width = min(width, max(room, _MIN_WIDTH))
            before = [cut(text, width) for text in before]
        return "\n".join(
            self._line(row, text, note, width)
            for row, text, note in zip(drawn, before, behind, strict=True)
        )

    def _behind(self, row: Row, planner: str) -> str:
        note = _MARKS[row.mark][2]
        if row.mark == YOURS:
            return f"{note}{planner}"
        if row.mark == ADDED:
            named = ", ".join(printable(owner.name) for owner in row.owners)
            return (named or NOBODY) if row.is_leaf or named else ""
        owners = [owner for owner in row.owners if row.mark != THEIRS or owner.name != planner]
        named = ", ".join(printable(owner.text_at(self._now)) for owner in owners)
        return note + (named or NOBODY) if row.is_leaf or named else ""

    def _line(self, row: Row, text: str, note: str, width: int) -> str:
        _, colour, _ = _MARKS[row.mark]
        if not colour:
            colour = self._colours[row.owners[0].name] if row.owners else DIM
        if not note:
            return self._paint(text, colour) if row.mark else text
        return self._paint(f"{text.ljust(width)}{_GAP}{note}", colour)
