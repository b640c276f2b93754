"""The managers of an object's fields, as its metadata tells of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from fairlead.base.records import dataclass
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
        """How it writes: Apply, or Update status."""
        return f"{self.operation} {self.subresource}".rstrip()

    @property
    def count(self) -> int:
        return sum(1 for _ in paths(self.fields))

    def worded(self, now: datetime) -> str:
        """Such as `kubectl (Apply, 5m)`."""
        return f"{self.name} ({self.way}, {self.age(now)})" if self.time else self.bare

    @property
    def bare(self) -> str:
        """The same without the age."""
        return f"{self.name} ({self.way})"

    def age(self, now: datetime) -> str:
        return since(self.time, now)

    def document(self) -> dict[str, Any]:
        """For programs, which ask for no more than who it is."""
        made = {"manager": self.name, "operation": self.operation}
        return {**made, "subresource": self.subresource} if self.subresource else made


def managers_of(value: Mapping[str, Any]) -> list[Manager]:
    """Oldest first; raises CommandFailed where the server sends something else."""
    sent = (value.get("metadata") or {}).get("managedFields") or []
    try:
        found = decoded(sent)
    except (InvalidFields, RecursionError) as error:
        raise CommandFailed(f"error: the server's managedFields cannot be read: {error}") from None
    found.sort(key=lambda one: one.get("time") or "")
    return [
        Manager(
            one["manager"],
            one["operation"],
            one.get("subresource", ""),
            one["apiVersion"],
            one.get("time", ""),
            one["fieldsV1"],
        )
        for one in found
    ]


def shape_of(managers: Sequence[Manager]) -> FieldSet:
    """All fields that anybody owns, which tells of lists how their items are known."""
    whole = EMPTY
    for manager in managers:
        whole = union(whole, manager.fields)
    return whole
