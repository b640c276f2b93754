"""Tables of custom resources, with the columns of their definition."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import orjson

from fairlead.base.dialect import Dialect
from fairlead.codec.json_path import JsonPathError, compile_path
from fairlead.codec.types.times import TimeError, parse_time
from fairlead.resources.causes import escaped_json
from fairlead.resources.columns.cell_text import Age, age_since
from fairlead.resources.columns.model import NAME, Column, Field, Object, Printer, Value, table
from fairlead.resources.columns.registry import DEFAULT
from fairlead.resources.custom.definition import CustomColumn, CustomKind

_MIN_INT64, _MAX_INT64 = -(2**63), 2**63 - 1
_LONGEST_CELL = 64 * 1024
_MAX_VALUES = 5_000  # that a path visits: a row of a Table may have dozens of columns
_AGE = CustomColumn(
    "Age", "date", ".metadata.creationTimestamp", description="Time since the object was created"
)


def custom_printer(kind: CustomKind, dialect: Dialect) -> Printer:
    """The name and the definition's columns. The default column is the age; the specification shows
    the time of creation instead."""
    if not kind.columns and dialect.created_at_column:
        return DEFAULT
    return _printer(kind.columns or (_AGE,))


def _printer(columns: Sequence[CustomColumn]) -> Printer:
    return table(NAME, *(Field(_header(column), _value(column)) for column in columns))


def _header(column: CustomColumn) -> Column:
    description = column.description
    if not description:
        description = f"What the path {column.path} leads to"
    return Column(column.name, column.type, column.format, column.priority, description)


def _value(column: CustomColumn) -> Value:
    make = _MAKERS[column.type]
    try:
        find = compile_path(column.path, _MAX_VALUES)
    except JsonPathError:
        return lambda obj: None

    def shown(obj: Object) -> Any:
        values = find(obj)
        return make(values[0]) if values else None

    return shown


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value[:_LONGEST_CELL]
    if isinstance(value, (dict, list)):
        return escaped_json(value, orjson.OPT_SORT_KEYS)[:_LONGEST_CELL]
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e21:
        return str(int(value))
    return "<no value>" if value is None else str(value)


def _integer(value: Any) -> int | None:
    """Clamped to 64 bits, the range that can be serialized."""
    return max(_MIN_INT64, min(int(value), _MAX_INT64)) if _is_number(value) else None


def _number(value: Any) -> float | None:
    """Whole numbers are returned as int, to be written without a fraction."""
    if not _is_number(value):
        return None
    return int(value) if _MIN_INT64 <= value <= _MAX_INT64 and value == int(value) else float(value)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _boolean(value: Any) -> bool | None:
    return value if isinstance(value, bool) else None


def _date(value: Any) -> Age | str | None:
    """The age of a timestamp."""
    if not isinstance(value, str):
        return None
    try:
        parse_time(value)
    except TimeError:
        return "<invalid>"
    return age_since(value)


_MAKERS: dict[str, Callable[[Any], Any]] = {
    "string": _text,
    "integer": _integer,
    "number": _number,
    "boolean": _boolean,
    "date": _date,
}
