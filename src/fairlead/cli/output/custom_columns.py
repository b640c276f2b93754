"""Tables whose columns the user chooses: `-o custom-columns=NAME:.metadata.name,...`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from fairlead.base.terminal import printable
from fairlead.cli.errors import CommandFailed
from fairlead.cli.output.jsonpath import JsonPathError, Path, parse, relaxed
from fairlead.cli.output.tables import Columns
from fairlead.cli.output.values import plain

_NONE = "<none>"
_CONTROLS = str.maketrans({"\n": "\\n", "\t": "\\t"})


class Column(NamedTuple):
    header: str
    path: Path


def columns_of(text: str) -> list[Column]:
    """Parse HEADER:PATH columns; raises CommandFailed."""
    if not text:
        raise CommandFailed("error: columns are missing: -o custom-columns=NAME:.metadata.name,...")
    columns = []
    for part in text.split(","):
        header, colon, path = part.partition(":")
        if not colon:
            raise CommandFailed(
                f"error: a column is HEADER:PATH, as in NAME:.metadata.name, not {part}"
            )
        columns.append(_column(header, path))
    return columns


def columns_of_file(text: str) -> list[Column]:
    """Parse a file with a line of headers and a line of paths; raises CommandFailed."""
    lines = text.splitlines()
    if len(lines) < 2:
        raise CommandFailed("error: unexpected end of the custom columns file")
    headers, paths = lines[0].split(), lines[1].split()
    if len(headers) != len(paths):
        raise CommandFailed(f"error: the file has {len(headers)} headers and {len(paths)} paths")
    return [_column(header, path) for header, path in zip(headers, paths, strict=True)]


def _column(header: str, path: str) -> Column:
    try:
        return Column(header, parse(relaxed(path)))
    except JsonPathError as error:
        raise CommandFailed(f"error: {error}") from None


class CustomTable:
    """Objects as rows. The header precedes the first rows, even if there are none."""

    def __init__(self, columns: Sequence[Column], headers: bool) -> None:
        self._columns = columns
        self._layout = Columns()
        self._has_header = not headers

    def text(self, objects: Sequence[Any]) -> str:
        """The table of the objects; raises CommandFailed."""
        rows = [[_cell(column, value) for column in self._columns] for value in objects]
        if not self._has_header:
            rows.insert(0, [column.header for column in self._columns])
            self._has_header = True
        return self._layout.text(rows)


def _cell(column: Column, value: Any) -> str:
    try:
        values = column.path.find(value)
    except JsonPathError as error:
        raise CommandFailed(f"error: {error}") from None
    text = ",".join(map(plain, values)) if values else _NONE
    return printable(text.translate(_CONTROLS))
