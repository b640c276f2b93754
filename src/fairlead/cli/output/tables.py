"""Text tables with columns as wide as their content, from rows or from a Table of the server."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from fairlead.base.terminal import printable
from fairlead.cli.invocation import Paint, Screen
from fairlead.cli.output import plain_tables
from fairlead.cli.output.fitting import colour, cut, fit
from fairlead.cli.output.values import plain

GAP = 3
_MIN_WIDTH = 6
Object = dict[str, Any]
_LINE_END = re.compile(r"[\f\n\r]")
_NONE = "<none>"


class Columns:
    """Remembers the column widths, to align later rows with earlier ones. With a screen, lines fit
    a terminal, unless they stay `whole`, and states have colours."""

    def __init__(self, screen: Screen | None = None, *, whole: bool = False) -> None:
        self._widths: list[int] = []
        self._sizes: list[int] = []  # letters of the longest cell of each column
        self._screen = screen
        self._whole = whole

    def text(self, rows: Sequence[Sequence[str]], heads: Sequence[str] = ()) -> str:
        """One line per row, each with a line break. `heads` tell a screen what the columns are."""
        rows = [[printable(cell) for cell in row] for row in rows]
        self._widths = widths(rows, self._widths)
        screen = self._screen
        if screen is None or not heads:
            return "".join(f"{line(row, self._widths)}\n" for row in rows)
        width = 0 if self._whole else screen.width
        limits = self._limits(rows, heads, width)
        paint = Paint(screen)
        return "".join(f"{self._shown(row, heads, limits, paint)}\n" for row in rows)

    def _limits(
        self, rows: Sequence[Sequence[str]], heads: Sequence[str], width: int
    ) -> Sequence[int]:
        """The letters that each column may have."""
        self._sizes += [0] * (len(heads) - len(self._sizes))
        for row in rows:
            for index, cell in enumerate(row[: len(self._sizes)]):
                self._sizes[index] = max(self._sizes[index], len(cell))
        return fit(self._sizes, heads, GAP, width) if width else self._sizes

    def _shown(
        self, row: Sequence[str], heads: Sequence[str], limits: Sequence[int], paint: Paint
    ) -> str:
        """One row, cut and coloured."""
        cells = []
        for index, (cell, head, limit) in enumerate(zip(row, heads, limits, strict=False)):
            shown = cut(cell, limit)
            is_whole = limit == self._sizes[index]
            width = self._widths[index] if is_whole else limit + GAP
            padding = " " * (width - len(shown)) if index < len(row) - 1 else ""
            code = colour(head, cell, heads)
            cells.append((paint(shown, code) if code else shown) + padding)
        return "".join(cells)


def widths(rows: Iterable[Sequence[str]], minimum: Iterable[int] = ()) -> list[int]:
    """The width of each column including the gap; columns never become narrower than `minimum`."""
    found_widths = list(minimum)
    for row in rows:
        found_widths += [_MIN_WIDTH] * (len(row) - len(found_widths))
        for index, cell in enumerate(row[:-1]):
            found_widths[index] = max(found_widths[index], len(cell) + GAP)
    return found_widths


def line(row: Sequence[str], width: Sequence[int]) -> str:
    """One row, without padding after its last cell."""
    padded = [cell.ljust(size) for cell, size in zip(row[:-1], width, strict=False)]
    return "".join((*padded, *row[-1:]))


def text(
    rows: Sequence[Sequence[str]], screen: Screen | None = None, heads: Sequence[str] = ()
) -> str:
    """All rows, without the final line break. For a screen, `heads` are those of the columns."""
    return Columns(screen).text(rows, heads).removesuffix("\n")


# Formats tables from the server as text, with additional columns.


class Layout(NamedTuple):
    """The additional columns and headers of tables."""

    wide: bool = False
    headers: bool = True
    labels: bool = False
    label_columns: Sequence[str] = ()
    namespaces: bool = False
    kind: str = ""  # prefix of names
    events: bool = False


class TableText:
    """Formats tables of one kind as lines. The header is written once, and again if the columns
    change."""

    def __init__(self, layout: Layout, screen: Screen | None = None) -> None:
        self._layout = layout
        self._columns = Columns(screen, whole=layout.wide)
        self._last_columns: list[Object] = []  # the last columns: further tables may leave them out
        self._has_header = not layout.headers

    def text(self, table: Object, event: str = "") -> str:
        """The lines of a table; empty if it has no rows."""
        columns = table.get("columnDefinitions") or self._last_columns
        if columns != self._last_columns:
            self._last_columns, self._has_header = columns, not self._layout.headers
        rows = [self._row(columns, row, event) for row in table.get("rows") or ()]
        if not rows:
            return ""
        heads = list(self._header(columns))
        if not self._has_header:
            rows.insert(0, heads)
            self._has_header = True
        return self._columns.text(rows, heads)

    def _header(self, columns: Sequence[Object]) -> Iterator[str]:
        layout = self._layout
        if layout.events:
            yield "EVENT"
        if layout.namespaces:
            yield "NAMESPACE"
        for column in columns:
            if layout.wide or not column.get("priority"):
                yield printable(str(column["name"]).upper())
        for label in layout.label_columns:
            yield label.rpartition("/")[2].upper()
        if layout.labels:
            yield "LABELS"

    def _row(self, columns: Sequence[Object], row: Object, event: str) -> list[str]:
        layout = self._layout
        metadata = (row.get("object") or {}).get("metadata")
        cells = [event] if layout.events else []
        if layout.namespaces:
            cells.append((metadata or {}).get("namespace", ""))
        named = not layout.kind
        for column, value in zip(columns, row.get("cells") or (), strict=False):
            text = cell(value)
            if not named and (column.get("format"), column.get("type")) == ("name", "string"):
                text, named = f"{layout.kind}/{text}", True
            if layout.wide or not column.get("priority"):
                cells.append(text)
        labels = (metadata or {}).get("labels") or {}
        cells += [cell(labels.get(name)) for name in layout.label_columns]
        if layout.labels:
            cells.append(_listed(labels) if metadata is not None else "")
        return cells


def cell(value: Any) -> str:
    """The first line of the value, with an ellipsis if there are more."""
    if value is None:
        return ""
    text = plain(value)
    if text.isprintable():
        return text
    end = _LINE_END.search(text)
    if end is not None:
        text = f"{text[: end.start()]}..."
    return printable(text.replace("\t", " "))


def _listed(labels: Mapping[str, str]) -> str:
    return ",".join(f"{name}={cell(labels[name])}" for name in sorted(labels)) or _NONE


def as_table(value: Object) -> Object:
    return value if value.get("kind") == "Table" else plain_tables.table_of(value)
