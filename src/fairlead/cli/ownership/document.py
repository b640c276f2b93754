"""Field ownership and plans as JSON documents."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from fairlead.cli.ownership.fields import Field
from fairlead.cli.ownership.managers import Manager
from fairlead.cli.ownership.plan import ADDED, REMOVED, THEIRS, YOURS, Plan
from fairlead.cli.ownership.rows import Wanted
from fairlead.cli.targets import Named

Object = dict[str, Any]


def document(
    named: Named,
    managers: Sequence[Manager],
    tree: Field,
    plan: Plan | None = None,
    wanted: Wanted | None = None,
) -> Object:
    """The managers of each field path, of all or of the wanted fields; for a plan also conflicts
    and changes."""
    made: Object = {
        **named.document(),
        "managers": [_described(manager) for manager in managers],
        "fields": {
            one.path: [owner.document() for owner in one.owners]
            for one in _present(tree)
            if one.path and (wanted(one) if wanted else one.owners or one.is_leaf)
        },
    }
    if plan is not None:
        made["conflicts"] = _pairs(tree, THEIRS, YOURS)
        for one in made["conflicts"]:
            one["managers"] = list(plan.conflicts[one["field"]])
        made["changes"] = _pairs(tree, REMOVED, ADDED)
    return made


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
    found: dict[str, Object] = {}
    for one in _marked(tree):
        if one.mark in (before, after):
            name = one.mark if before == THEIRS else ("from" if one.mark == before else "to")
            found.setdefault(one.path, {"field": one.path})[name] = one.value
    return list(found.values())


def _marked(field: Field) -> Iterator[Field]:
    if field.mark:
        yield field
    for child in field.children:
        yield from _marked(child)
