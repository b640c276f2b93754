"""Field ownership and plans as JSON documents."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from fairlead.cli.ownership.fields import Field
from fairlead.cli.ownership.managers import Manager
from fairlead.cli.ownership.plan import ADDED, REMOVED, THEIRS, YOURS, Plan
from fairlead.cli.ownership.rows import FieldFilter
from fairlead.cli.targets import ObjectReference

Object = dict[str, Any]


def document(
    reference: ObjectReference,
    managers: Sequence[Manager],
    tree: Field,
    plan: Plan | None = None,
    selects: FieldFilter | None = None,
) -> Object:
    """The managers of each field path, of all or of the wanted fields; for a plan also conflicts
    and changes."""
    result: Object = {
        **reference.document(),
        "managers": [_described(manager) for manager in managers],
        "fields": {
            field.path: [owner.document() for owner in field.owners]
            for field in _present(tree)
            if field.path and (selects(field) if selects else field.owners or field.is_leaf)
        },
    }
    if plan is not None:
        result["conflicts"] = _pairs(tree, THEIRS, YOURS)
        for conflict in result["conflicts"]:
            conflict["managers"] = list(plan.conflicts[conflict["field"]])
        result["changes"] = _pairs(tree, REMOVED, ADDED)
    return result


def _described(manager: Manager) -> Object:
    return {
        **manager.document(),
        "apiVersion": manager.api_version,
        "time": manager.time or None,
        "fields": manager.count,
    }


def _present(field: Field) -> Iterator[Field]:
    """The existing fields, without those that the plan adds."""
    if field.mark in (YOURS, ADDED):
        return
    yield field
    for child in field.children:
        yield from _present(child)


def _pairs(tree: Field, before: str, after: str) -> list[Object]:
    """The values of fields that have one of two marks."""
    by_path: dict[str, Object] = {}
    for field in _marked(tree):
        if field.mark in (before, after):
            name = field.mark if before == THEIRS else ("from" if field.mark == before else "to")
            by_path.setdefault(field.path, {"field": field.path})[name] = field.value
    return list(by_path.values())


def _marked(field: Field) -> Iterator[Field]:
    if field.mark:
        yield field
    for child in field.children:
        yield from _marked(child)
