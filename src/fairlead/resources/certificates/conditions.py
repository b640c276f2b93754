"""Conditions of a signing request: the requests that may add them, and the conditions that cannot
be removed."""

from __future__ import annotations

from typing import Any

from fairlead.codec.types.times import now
from fairlead.resources.behaviour import Object
from fairlead.resources.causes import Causes
from fairlead.resources.rules import STATUSES

APPROVED, DENIED, FAILED = "Approved", "Denied", "Failed"
EXCLUSIVE = "Approved and Denied conditions are mutually exclusive"
_PATH = "status.conditions"

Condition = dict[str, Any]


def conditions_of(value: Object) -> list[Condition]:
    return (value.get("status") or {}).get("conditions") or []


def of_type(value: Object, kind: str) -> list[Condition]:
    return [condition for condition in conditions_of(value) if condition["type"] == kind]


def check_conditions(value: Object, causes: Causes) -> None:
    seen: set[str] = set()
    for index, condition in enumerate(conditions_of(value)):
        kind, status, path = condition["type"], condition["status"], f"{_PATH}[{index}]"
        if not kind:
            causes.required(f"{path}.type")
        allowed = ("True",) if kind in (APPROVED, DENIED, FAILED) else STATUSES
        if not status:
            causes.required(f"{path}.status")
        elif status not in allowed:
            causes.unsupported(f"{path}.status", status, allowed)
        if (kind == APPROVED and DENIED in seen) or (kind == DENIED and APPROVED in seen):
            causes.invalid(f"{path}.type", kind, EXCLUSIVE)
        if kind in seen:
            causes.duplicate(f"{path}.type", kind)
        seen.add(kind)


def check_condition_change(value: Object, old: Object, may_approve: bool, causes: Causes) -> None:
    for kind in (APPROVED, DENIED, FAILED):
        if len(of_type(value, kind)) < len(of_type(old, kind)):
            causes.forbidden(_PATH, f'updates may not remove a condition of type "{kind}"')
    for kind in () if may_approve else (APPROVED, DENIED):
        after, before = of_type(value, kind), of_type(old, kind)
        if len(after) > len(before):
            causes.forbidden(_PATH, f'updates may not add a condition of type "{kind}"')
        elif len(after) == len(before) and after != before:
            causes.forbidden(_PATH, f'updates may not modify a condition of type "{kind}"')


def keep_approval(value: Object, old: Object) -> None:
    """Restore the old approvals and denials, unless their number changed."""
    for kind in (APPROVED, DENIED):
        before = of_type(old, kind)
        if len(before) == len(of_type(value, kind)):
            approvals = iter(before)
            value["status"]["conditions"] = [
                next(approvals) if condition["type"] == kind else condition
                for condition in conditions_of(value)
            ]
    if not conditions_of(value):
        value["status"].pop("conditions", None)


def stamp(value: Object, old: Object) -> None:
    """Set the times at which conditions were set and at which their status last changed."""
    moment = now()
    for condition in conditions_of(value):
        if not condition.get("lastUpdateTime"):
            condition["lastUpdateTime"] = moment
        if not condition.get("lastTransitionTime"):
            condition["lastTransitionTime"] = _since(condition, old) or moment


def _since(condition: Condition, old: Object) -> str | None:
    for before in of_type(old, condition["type"]):
        if before["status"] == condition["status"] and before.get("lastTransitionTime"):
            since: str = before["lastTransitionTime"]
            return since
    return None
