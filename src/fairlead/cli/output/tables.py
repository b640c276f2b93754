"""Text tables with columns as wide as their content, from rows or from a Table of the server."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

from fairlead.base.terminal import printable
from fairlead.cli.output.values import plain
from fairlead.codec.types.times import since

_GAP = 3
_MIN_WIDTH = 6
Object = dict[str, Any]
_LINE_END = re.compile(r"[\f\n\r]")
_NONE = "<none>"


class Columns:
    """Remembers the column widths, to align later rows with earlier ones."""

    def __init__(self) -> None:
        self._widths: list[int] = []

    def text(self, rows: Sequence[Sequence[str]]) -> str:
        """One line per row, each with a line break."""
        rows = [[printable(cell) for cell in row] for row in rows]
        self._widths = widths(rows, self._widths)
        return "".join(f"{line(row, self._widths)}\n" for row in rows)


def widths(rows: Iterable[Sequence[str]], minimum: Iterable[int] = ()) -> list[int]:
    """The width of each column including the gap; columns never become narrower than `minimum`."""
    found_widths = list(minimum)
    for row in rows:
        found_widths += [_MIN_WIDTH] * (len(row) - len(found_widths))
        for index, cell in enumerate(row[:-1]):
            found_widths[index] = max(found_widths[index], len(cell) + _GAP)
    return found_widths


def line(row: Sequence[str], width: Sequence[int]) -> str:
    """One row, without padding after its last cell."""
    padded = [cell.ljust(size) for cell, size in zip(row[:-1], width, strict=False)]
    return "".join((*padded, *row[-1:]))


def text(rows: Sequence[Sequence[str]]) -> str:
    """All rows, without the final line break."""
    return Columns().text(rows).removesuffix("\n")


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

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._columns = Columns()
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
        if not self._has_header:
            rows.insert(0, list(self._header(columns)))
            self._has_header = True
        return self._columns.text(rows)

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
    """A table with name and age, for objects from a server that does not make tables."""
    if value.get("kind") == "Table":
        return value
    now = datetime.now(UTC)
    items = value["items"] if isinstance(value.get("items"), list) else [value]
    rows = []
    for item in items:
        metadata = item.get("metadata") or {}
        cells = [metadata.get("name", ""), since(metadata.get("creationTimestamp"), now)]
        rows.append({"cells": cells, "object": item})
    columns = [
        {"name": "Name", "type": "string", "format": "name", "priority": 0},
        {"name": "Age", "type": "string", "format": "", "priority": 0},
    ]
    return {
        "kind": "Table",
        "metadata": value.get("metadata") or {},
        "columnDefinitions": columns,
        "rows": rows,
    }
