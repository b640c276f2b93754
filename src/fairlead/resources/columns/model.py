"""The model of a Table: columns, each with the function that fills its cells."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from fairlead.base.dialect import Dialect
from fairlead.base.release import Release
from fairlead.codec.types.model import Object as Object
from fairlead.resources.columns.cell_text import Age, age_of, field, instant, mapping

# Returns the cell of an object; an `Age` if it depends on the current time.
Value = Callable[[Object], Any]


@dataclass(frozen=True, slots=True)
class Column:
    """The definition of a column; columns of priority 1 appear in wide output only."""

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


@dataclass(frozen=True, slots=True, eq=False)
class Printer:
    """Turns objects of one resource into rows.

    `values` returns the cells, with ages as `Age`; `conditions` returns the conditions of a row;
    `order` is the sort key of the rows if they do not keep the order of the list.
    """

    fields: tuple[Field, ...]
    columns: tuple[Column, ...]
    values: Callable[[Object], list[Any]]
    conditions: Callable[[Object], list[dict[str, Any]]] | None = None
    order: Callable[[Object], Any] | None = None

    def cells(self, obj: Object, now: datetime) -> list[Any]:
        """The cells of an object at a time."""
        moment = instant(now)
        return [cell.at(moment) if isinstance(cell, Age) else cell for cell in self.values(obj)]

    def of(self, release: Release) -> Printer:
        """The printer of a release: without the columns that the release does not have."""
        fields = [field for field in self.fields if field.since <= release.minor < field.until]
        if len(fields) == len(self.fields):
            return self
        return table(*fields, conditions=self.conditions, order=self.order)


@dataclass(frozen=True, slots=True)
class Field:
    """A column and the function that fills it, in the releases 1.`since` up to 1.`until`. If it is
    not defined, rows have the cell and the table does not have the column."""

    column: Column
    value: Value
    since: int = 0
    until: int = 1000
    is_defined: bool = True


def text(
    name: str,
    value: str | Value,
    description: str,
    *,
    missing: Any = "",
    wide: bool = False,
    format: str = "",
) -> Field:
    """A string column from a function or a dotted path; `missing` replaces an absent or empty
    value."""
    column = Column(name, "string", format, int(wide), description)
    return Field(column, _value(value, missing))


def number(name: str, value: str | Value, description: str) -> Field:
    """An integer column."""
    return Field(Column(name, "integer", description=description), _value(value, 0))


def flag(name: str, value: str | Value, description: str, *, missing: bool = False) -> Field:
    """A boolean column."""
    return Field(Column(name, "boolean", description=description), _value(value, missing))


def since(minor: int, field: Field) -> Field:
    """A column that exists from a release on."""
    return replace(field, since=minor)


def until(minor: int, field: Field) -> Field:
    """A column that exists before a release."""
    return replace(field, until=minor)


def undefined(field: Field) -> Field:
    """A cell that has no column definition."""
    return replace(field, is_defined=False)


def changed(minor: int, name: str, before: Value, later: Value, description: str) -> list[Field]:
    """A string column whose cells change with a release."""
    return [
        until(minor, text(name, before, description)),
        since(minor, text(name, later, description)),
    ]


def table(
    *fields: Field,
    conditions: Callable[[Object], list[dict[str, Any]]] | None = None,
    order: Callable[[Object], Any] | None = None,
) -> Printer:
    """The printer of these fields."""
    makers = tuple(entry.value for entry in fields)

    def values(obj: Object) -> list[Any]:
        return [maker(obj) for maker in makers]

    columns = tuple(entry.column for entry in fields if entry.is_defined)
    return Printer(fields, columns, values, conditions, order)


def _value(value: str | Value, missing: Any) -> Value:
    if not isinstance(value, str):
        return value
    path = value

    def value_at(obj: Object) -> Any:
        value = field(obj, path)
        return missing if value is None or value == "" else value

    return value_at


def class_name(dialect: Dialect, *marks: str) -> Field:
    """The name of a class; the default class is marked by one of these annotations."""
    keys = [dialect.label(mark) for mark in marks]

    def cell(obj: Object) -> str:
        name = field(obj, "metadata.name") or ""
        annotations = mapping(obj, "metadata.annotations")
        is_default = any(annotations.get(key) == "true" for key in keys)
        return f"{name} (default)" if is_default else name

    return text("Name", cell, NAME.column.description, format="name")


NAME = text("Name", "metadata.name", "Name of the object", format="name")
AGE = text("Age", age_of("metadata.creationTimestamp"), "Time since the object was created")
