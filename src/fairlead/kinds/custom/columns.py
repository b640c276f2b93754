"""Tables of custom resources: the columns that their definition names."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

import orjson

from fairlead.dialect import Dialect
from fairlead.kinds.custom.json_path import PathError, Values, compile_path
from fairlead.kinds.custom.kind import CustomColumn, CustomKind
from fairlead.kinds.printing.model import NAME, Cell, Column, Field, Object, Printer, table
from fairlead.kinds.printing.registry import DEFAULT
from fairlead.kinds.printing.words import since
from fairlead.schema.times import TimeError, parse_time

_AGE = CustomColumn(
    "Age", "date", ".metadata.creationTimestamp", description="Time since the object was created"
)


def custom_printer(kind: CustomKind, dialect: Dialect) -> Printer:
    """The name, and what the definition asks for; without that the age, which the specification
    shows as the time of creation."""
    if not kind.columns and dialect.created_at_column:
        return DEFAULT
    return _printer(kind.columns or (_AGE,))


def _printer(columns: Sequence[CustomColumn]) -> Printer:
    return table(NAME, *(Field(_header(column), _cell(column)) for column in columns))


def _header(column: CustomColumn) -> Column:
    description = column.description
    if not description:
        description = f"What the path {column.path} leads to"
    return Column(column.name, column.type, column.format, column.priority, description)


def _cell(column: CustomColumn) -> Cell:
    make = _MAKERS[column.type]
    try:
        find = compile_path(column.path)
    except PathError:
        return lambda obj, now: None

    def cell(obj: Object, now: datetime) -> Any:
        found: Values = find(obj)
        return make(found[0], now) if found else None

    return cell


def _text(value: Any, now: datetime) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, (dict, list)):
        return orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode()
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e21:
        return str(int(value))
    return "<no value>" if value is None else str(value)


def _integer(value: Any, now: datetime) -> int | None:
    return int(value) if _is_number(value) else None


def _number(value: Any, now: datetime) -> float | None:
    return float(value) if _is_number(value) else None


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _boolean(value: Any, now: datetime) -> bool | None:
    return value if isinstance(value, bool) else None


def _date(value: Any, now: datetime) -> str | None:
    """The age of a moment."""
    if not isinstance(value, str):
        return None
    try:
        parse_time(value)
    except TimeError:
        return "<invalid>"
    return since(value, now)


_MAKERS: dict[str, Callable[[Any, datetime], Any]] = {
    "string": _text,
    "integer": _integer,
    "number": _number,
    "boolean": _boolean,
    "date": _date,
}
