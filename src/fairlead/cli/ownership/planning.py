"""What an apply of a file would do to an object: asked of the server, which changes nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fairlead.base.records import dataclass
from fairlead.cli.applying.conflicts import owners_by_field
from fairlead.cli.masking import masked_pair
from fairlead.cli.ownership.fields import Field, field_tree
from fairlead.cli.ownership.managers import Manager, managers_of, shape_of
from fairlead.client import Resource
from fairlead.client.errors import Conflict, NotFound
from fairlead.fields.field_sets import union

Object = dict[str, Any]
THEIRS, YOURS, REMOVED, ADDED = "theirs", "yours", "removed", "added"

_SETTLED = ("resourceVersion", "generation", "managedFields")  # nothing that an apply decides


@dataclass(frozen=True, slots=True)
class Plan:
    """`live` is None for an object that would be created; `conflicts` are managers by field."""

    live: Object | None
    outcome: Object
    conflicts: Mapping[str, Sequence[str]]


async def plan_of(resource: Resource, value: Object, namespace: str, manager: str) -> Plan:
    """Raises what a real apply would, conflicts with other managers excepted."""
    try:
        live = await resource.get(value["metadata"]["name"], namespace)
    except NotFound:
        live = None
    conflicts: dict[str, list[str]] = {}
    try:
        outcome = await resource.apply(value, namespace, manager=manager, dryRun="All")
    except Conflict as error:
        conflicts = owners_by_field(error)
        if not conflicts:
            raise
        outcome = await resource.apply(value, namespace, manager=manager, force=True, dryRun="All")
    return Plan(live, outcome, conflicts)


def planned_tree(plan: Plan, show_secrets: bool) -> tuple[Field, list[Manager]]:
    """The object with what would change marked in its place, and those who manage it now, or
    would if there is no object."""
    if plan.live is None:
        live: Object = {}
        outcome = plan.outcome
    else:
        live, outcome = plan.live, _settled(plan.outcome, plan.live)
    now, then = managers_of(live), managers_of(plan.outcome)
    if not show_secrets:
        live, outcome = masked_pair(live, outcome)
    shape = union(shape_of(now), shape_of(then))
    found = _merged(field_tree(live, now, shape), field_tree(outcome, then, shape), plan.conflicts)
    return found[0], now or then


def _settled(outcome: Object, live: Object) -> Object:
    metadata = {key: item for key, item in outcome["metadata"].items() if key not in _SETTLED}
    kept = {key: live["metadata"][key] for key in _SETTLED if key in live["metadata"]}
    return {**outcome, "metadata": {**metadata, **kept}}


def _merged(live: Field, planned: Field, conflicts: Mapping[str, Any]) -> list[Field]:
    """One field where both agree or can be told apart below, else one of each."""
    if live.path in conflicts:
        return [live.marked(THEIRS), planned.marked(YOURS)]
    if not live.path or (live.children and planned.children and _alike(live, planned)):
        return [
            Field(
                live.path,
                live.step,
                live.value,
                live.owners,
                _side_by_side(live, planned, conflicts),
            )
        ]
    if live.value == planned.value:
        return [live]
    return [live.marked(REMOVED), planned.marked(ADDED)]


def _alike(live: Field, planned: Field) -> bool:
    """Whether items can be found again: by name, by key, by value; places do not tell."""
    if isinstance(live.value, dict):
        return isinstance(planned.value, dict)
    both = (*live.children, *planned.children)
    return isinstance(planned.value, list) and all(one.step[:2] != "i:" for one in both)


def _side_by_side(live: Field, planned: Field, conflicts: Mapping[str, Any]) -> tuple[Field, ...]:
    after = {one.step: one for one in planned.children}
    made: list[Field] = []
    for one in live.children:
        other = after.pop(one.step, None)
        made += [one.marked(REMOVED)] if other is None else _merged(one, other, conflicts)
    made += [one.marked(ADDED) for one in after.values()]
    if isinstance(live.value, dict):
        made.sort(key=lambda one: one.step)
    return tuple(made)
