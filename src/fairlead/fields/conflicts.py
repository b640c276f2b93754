"""Errors of apply, with the messages for the client."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from fairlead.fields.entries import UPDATE, ManagedEntry, identity_of
from fairlead.fields.field_sets import FieldSet, Path, path_text, paths


class ApplyError(Exception):
    """A configuration that cannot be applied; `str()` is the message for the client."""


class BadConfiguration(ApplyError):
    """The configuration is not for this request (400)."""


class InvalidConfiguration(ApplyError):
    """The configuration, or the object it would change, does not match its type.

    The reference answers 500 without a reason; a 4xx is as good.
    """


class UntrackableObject(InvalidConfiguration):
    """The live object has list items without unique keys."""


@dataclass(frozen=True, slots=True)
class Conflict:
    """One field that another manager owns and the configuration would change."""

    manager: str
    operation: str
    api_version: str
    subresource: str
    time: str
    path: Path

    @property
    def field(self) -> str:
        """The path of the field in the owner's version."""
        return path_text(self.path)

    @property
    def owner(self) -> str:
        """The owner as named in messages."""
        text = f'"{self.manager}"'
        if self.subresource:
            text += f' with subresource "{self.subresource}"'
        return f"{text} using {self.api_version}" if self.operation == UPDATE else text

    @property
    def message(self) -> str:
        return f"conflict with {self.owner}"


class ApplyConflict(ApplyError):
    """The configuration would change fields of other managers (409).

    `conflicts` are in the order of the message; each becomes one `FieldManagerConflict` cause with
    the `message` and `field` of the conflict.
    """

    def __init__(self, conflicts: Iterable[Conflict]) -> None:
        self.conflicts = list(conflicts)
        super().__init__(_message(self.conflicts))


def conflicts_with(owner: ManagedEntry, fields: FieldSet) -> list[Conflict]:
    """One conflict for each field of the owner that would change."""
    _, operation, _, subresource = identity_of(owner)
    return [
        Conflict(
            owner.get("manager", ""),
            operation,
            owner["apiVersion"],
            subresource,
            owner.get("time") or "",
            path,
        )
        for path in paths(fields)
    ]


def _message(conflicts: list[Conflict]) -> str:
    if len(conflicts) == 1:
        only = conflicts[0]
        return f"Apply failed with 1 conflict: {only.message}: {only.field}"
    by_owner: dict[str, list[str]] = {}
    for conflict in conflicts:
        by_owner.setdefault(conflict.owner, []).append(conflict.field)
    lines = [
        line
        for owner, fields in by_owner.items()
        for line in (f"conflicts with {owner}:", *(f"- {field}" for field in fields))
    ]
    return f"Apply failed with {len(conflicts)} conflicts: " + "\n".join(lines)
