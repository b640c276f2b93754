"""The managers in the managedFields of an object."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from fairlead.cli.errors import CommandFailed
from fairlead.codec.types.times import since
from fairlead.fields.entries import decoded
from fairlead.fields.field_sets import EMPTY, FieldSet, InvalidFields, paths, union


@dataclass(frozen=True, slots=True, eq=False)
class Manager:
    """One entry of managedFields."""

    name: str
    operation: str
    subresource: str
    api_version: str
    time: str
    fields: FieldSet

    @property
    def way(self) -> str:
        """The operation: Apply, or Update status."""
        return f"{self.operation} {self.subresource}".rstrip()

    @property
    def count(self) -> int:
        return sum(1 for _ in paths(self.fields))

    def text_at(self, now: datetime) -> str:
        """For example `kubectl (Apply, 5m)`."""
        return f"{self.name} ({self.way}, {self.age(now)})" if self.time else self.bare

    @property
    def bare(self) -> str:
        """The same without the age: `kubectl (Apply)`."""
        return f"{self.name} ({self.way})"

    def age(self, now: datetime) -> str:
        return since(self.time, now)

    def document(self) -> dict[str, Any]:
        """The identity of the manager, for JSON output."""
        fields = {"manager": self.name, "operation": self.operation}
        return {**fields, "subresource": self.subresource} if self.subresource else fields


def managers_of(value: Mapping[str, Any]) -> list[Manager]:
    """The managers, oldest first; raises CommandFailed for invalid managedFields."""
    sent = (value.get("metadata") or {}).get("managedFields") or []
    try:
        entries = decoded(sent)
    except (InvalidFields, RecursionError) as error:
        raise CommandFailed(f"error: the server's managedFields cannot be read: {error}") from None
    entries.sort(key=lambda entry: entry.get("time") or "")
    return [
        Manager(
            entry["manager"],
            entry["operation"],
            entry.get("subresource", ""),
            entry["apiVersion"],
            entry.get("time", ""),
            entry["fieldsV1"],
        )
        for entry in entries
    ]


def shape_of(managers: Sequence[Manager]) -> FieldSet:
    """The union of all owned fields. Of lists it shows how items are identified: by key, value or
    index."""
    shape = EMPTY
    for manager in managers:
        shape = union(shape, manager.fields)
    return shape
