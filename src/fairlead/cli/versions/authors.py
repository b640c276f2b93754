"""Derives the managers and the time of a version from its managedFields."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fairlead.cli.ownership.fields import Field, field_tree
from fairlead.cli.ownership.managers import Manager, managers_of
from fairlead.cli.versions.retained import CHANGED, DELETED, Version
from fairlead.fields.entries import Identity
from fairlead.fields.field_sets import covers


def authors_of(version: Version, before: Version | None) -> list[Manager]:
    """The managers that made the version: managers with a new or changed timestamp; else managers
    with additional fields; else, as timestamps have a resolution of one second, the newest owners
    of changed values. None for a deletion."""
    if version.change == DELETED:
        return []
    managers = managers_of(version.value)
    if version.change != CHANGED or before is None:
        return _newest(managers)
    earlier_managers = {_identity(manager): manager for manager in managers_of(before.value)}
    return (
        [
            manager
            for manager in managers
            if _is_newer(manager, earlier_managers.get(_identity(manager)))
        ]
        or [
            manager
            for manager in managers
            if not covers(earlier_managers[_identity(manager)].fields, manager.fields)
        ]
        or _newest(_concerned(version, before, managers))
    )


def time_of(version: Version, authors: Sequence[Manager]) -> str:
    """The time of the version; empty if it is unknown."""
    metadata = version.value["metadata"]
    if version.change == DELETED:
        return str(metadata.get("deletionTimestamp") or "")
    newest = max((manager.time for manager in authors), default="")
    return newest or (
        str(metadata.get("creationTimestamp") or "") if version.change != CHANGED else ""
    )


def _identity(manager: Manager) -> Identity:
    return manager.name, manager.operation, manager.api_version, manager.subresource


def _is_newer(manager: Manager, before: Manager | None) -> bool:
    return before is None or manager.time != before.time


def _newest(managers: Sequence[Manager]) -> list[Manager]:
    last = max((manager.time for manager in managers), default="")
    return [manager for manager in managers if manager.time == last]


def _concerned(version: Version, before: Version, managers: Sequence[Manager]) -> list[Manager]:
    """The managers that own a field whose value changed."""
    earlier = {field.path: field.value for field in _leaves(field_tree(before.value, managers))}
    concerned: dict[Manager, None] = {}
    for field in _leaves(field_tree(version.value, managers)):
        if field.path not in earlier or earlier[field.path] != field.value:
            concerned.update(dict.fromkeys(field.owners))
    return list(concerned)


def _leaves(field: Field) -> Iterator[Field]:
    if field.is_leaf:
        yield field
    for child in field.children:
        yield from _leaves(child)
