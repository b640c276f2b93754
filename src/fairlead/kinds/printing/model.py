"""What a Table is made of: columns, each with the function that fills its cells."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from fairlead.kinds.printing.words import age_of, field
from fairlead.schema.model import Object as Object

Cell = Callable[[Object, datetime], Any]
Value = Callable[[Object], Any]


@dataclass(frozen=True, slots=True)
class Column:
    """One column's definition; priority 1 shows only in wide output."""

    name: str
    type: str = "string"
    format: str = ""
    priority: int = 0
    description: str = ""

    def as_dict(self) -> dict[str, Any]:
        """The TableColumnDefinition of the API."""
        return {
            "name": self.name,
            "type": self.type,
            "format": self.format,
            "description": self.description,
            "priority": self.priority,
        }


@dataclass(frozen=True, slots=True)
class Printer:
    """How objects of one resource become rows.

    `conditions` gives a row's conditions; `order` is the sort key of the rows of a list where
    they do not keep the list's own order.
    """

    columns: tuple[Column, ...]
    cells: Callable[[Object, datetime], list[Any]]
    conditions: Callable[[Object], list[dict[str, Any]]] | None = None
    order: Callable[[Object], Any] | None = None


@dataclass(frozen=True, slots=True)
class Field:
    """A column together with what fills it."""

    column: Column
    cell: Cell


def text(
    name: str,
    value: str | Value,
    description: str,
    *,
    missing: Any = "",
    wide: bool = False,
    format: str = "",
) -> Field:
    """A string column, from a dotted path (`missing` where it is absent or empty) or a function."""
    column = Column(name, "string", format, int(wide), description)
    return Field(column, _cell(value, missing))


def number(name: str, value: str | Value, description: str) -> Field:
    """An integer column."""
    return Field(Column(name, "integer", description=description), _cell(value, 0))


def flag(name: str, value: str | Value, description: str, *, missing: bool = False) -> Field:
    """A boolean column."""
    return Field(Column(name, "boolean", description=description), _cell(value, missing))


def timed(name: str, cell: Cell, description: str, *, wide: bool = False) -> Field:
    """A string column whose text depends on the present moment."""
    return Field(Column(name, priority=int(wide), description=description), cell)


def table(
    *fields: Field,
    conditions: Callable[[Object], list[dict[str, Any]]] | None = None,
    order: Callable[[Object], Any] | None = None,
) -> Printer:
    """The printer of these fields."""
    makers = tuple(one.cell for one in fields)

    def cells(obj: Object, now: datetime) -> list[Any]:
        return [maker(obj, now) for maker in makers]

    return Printer(tuple(one.column for one in fields), cells, conditions, order)


def _cell(value: str | Value, missing: Any) -> Cell:
    if not isinstance(value, str):
        compute = value
        return lambda obj, now: compute(obj)
    path = value

    def cell(obj: Object, now: datetime) -> Any:
        found = field(obj, path)
        return missing if found is None or found == "" else found

    return cell


NAME = text("Name", "metadata.name", "Name of the object", format="name")
AGE = timed("Age", age_of("metadata.creationTimestamp"), "Time since the object was created")
