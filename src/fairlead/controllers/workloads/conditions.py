"""Conditions in the status of workloads."""

from __future__ import annotations

from collections.abc import Sequence

from fairlead.codec.types.times import now
from fairlead.operations.api import Object

Conditions = Sequence[Object]


def condition(kind: str, status: str, reason: str, message: str) -> Object:
    """A condition with the current time."""
    return {
        "type": kind,
        "status": status,
        "lastTransitionTime": now(),
        "reason": reason,
        "message": message,
    }


def find(conditions: Conditions, kind: str) -> Object | None:
    return next((one for one in conditions if one["type"] == kind), None)


def without(conditions: Conditions, kind: str) -> list[Object]:
    return [one for one in conditions if one["type"] != kind]


def with_condition(conditions: Conditions, new: Object) -> list[Object]:
    """The conditions with this one set; unchanged if status and reason are the same. Keeps the
    transition time if the status is the same."""
    old = find(conditions, new["type"])
    if old is not None and old["status"] == new["status"]:
        if old.get("reason") == new["reason"]:
            return list(conditions)
        if old.get("lastTransitionTime"):
            new = {**new, "lastTransitionTime": old["lastTransitionTime"]}
    return [*without(conditions, new["type"]), new]
