"""Plans an apply with a server dry run, which changes nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fairlead.cli.apply.conflicts import owners_by_field
from fairlead.cli.output.documents import masked_pair
from fairlead.cli.ownership.fields import Field, field_tree
from fairlead.cli.ownership.managers import Manager, managers_of, shape_of
from fairlead.client import Resource
from fairlead.client.errors import Conflict, NotFound
from fairlead.fields.field_sets import union

Object = dict[str, Any]
THEIRS, YOURS, REMOVED, ADDED = "theirs", "yours", "removed", "added"

_SETTLED = ("resourceVersion", "generation", "managedFields")  # metadata that apply does not decide


@dataclass(frozen=True, slots=True)
class Plan:
    """The result of the dry run. `live` is None if the object would be created; `conflicts` maps
    fields to managers."""

    live: Object | None
    outcome: Object
    conflicts: Mapping[str, Sequence[str]]


async def plan_of(resource: Resource, value: Object, namespace: str, manager: str) -> Plan:
    """Raises the errors of a real apply, except for conflicts with other managers."""
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
    """The object with the planned changes marked, and its managers: the current ones, or the future
    ones of a new object."""
    if plan.live is None:
        live: Object = {}
        outcome = plan.outcome
    else:
        live, outcome = plan.live, _settled(plan.outcome, plan.live)
    now, then = managers_of(live), managers_of(plan.outcome)
    if not show_secrets:
        live, outcome = masked_pair(live, outcome)
    shape = union(shape_of(now), shape_of(then))
    tree = _merged(field_tree(live, now, shape), field_tree(outcome, then, shape), plan.conflicts)
    return tree[0], now or then


def _settled(outcome: Object, live: Object) -> Object:
    metadata = {key: item for key, item in outcome["metadata"].items() if key not in _SETTLED}
    settled = {key: live["metadata"][key] for key in _SETTLED if key in live["metadata"]}
    return {**outcome, "metadata": {**metadata, **settled}}


def _merged(live: Field, planned: Field, conflicts: Mapping[str, Any]) -> list[Field]:
    """One field if both sides are equal or can be compared by their children; else both, marked."""
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
    """Whether children can be matched by name, key or value. List indexes are not reliable."""
    if isinstance(live.value, dict):
        return isinstance(planned.value, dict)
    both = (*live.children, *planned.children)
    return isinstance(planned.value, list) and all(field.step[:2] != "i:" for field in both)


def _side_by_side(live: Field, planned: Field, conflicts: Mapping[str, Any]) -> tuple[Field, ...]:
    after = {child.step: child for child in planned.children}
    children: list[Field] = []
    for child in live.children:
        other = after.pop(child.step, None)
        children += [child.marked(REMOVED)] if other is None else _merged(child, other, conflicts)
    children += [child.marked(ADDED) for child in after.values()]
    if isinstance(live.value, dict):
        children.sort(key=lambda child: child.step)
    return tuple(children)
