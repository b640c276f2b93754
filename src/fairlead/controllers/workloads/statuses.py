"""Writes the status of an owner, and sets conditions in it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from fairlead.base.errors import StatusError, modified, not_found
from fairlead.codec.types.times import now
from fairlead.operations.api import Object
from fairlead.operations.client import Client
from fairlead.resources.registry import Resource

Conditions = Sequence[Object]


async def write_status(
    objects: Client, resource: Resource, owner: Object, change: Callable[[Object], Object]
) -> Object | None:
    """Apply `change` to the newest version and write it to the status subresource. Returns the
    written object, or None if the owner is gone or has another uid."""
    metadata = owner["metadata"]

    def checked(current: Object) -> Object:
        if current["metadata"]["uid"] != metadata["uid"]:
            raise not_found(resource.ref(metadata["name"]))
        return change(current)

    try:
        return await objects.change(
            resource.key, metadata["namespace"], metadata["name"], checked, "status"
        )
    except StatusError as error:
        if error.code != 404:
            raise
        return None


async def replace_status(
    objects: Client, resource: Resource, owner: Object, status: Object
) -> Object | None:
    """Replace the status of an owner; returns the written object, or None if it is gone. Raises
    StatusError (409) if the status changed meanwhile."""

    def updated(current: Object) -> Object:
        if (current.get("status") or {}) != (owner.get("status") or {}):
            raise modified(resource.ref(owner["metadata"]["name"]))
        return {**current, "status": status}

    return await write_status(objects, resource, owner, updated)


async def update_status(objects: Client, resource: Resource, owner: Object, status: Object) -> None:
    """Write the status if it changed. Keeps the conditions, which belong to other writers."""
    if _beside_conditions(status, owner) != owner.get("status"):
        await write_status(
            objects,
            resource,
            owner,
            lambda current: {**current, "status": _beside_conditions(status, current)},
        )


def _beside_conditions(status: Object, owner: Object) -> Object:
    conditions = (owner.get("status") or {}).get("conditions")
    return {**status, "conditions": conditions} if conditions else status


# Conditions in the status of workloads.


def condition(kind: str, status: str, reason: str, message: str) -> Object:
    """A condition with the current time."""
    return {
        "type": kind,
        "status": status,
        "lastTransitionTime": now(),
        "reason": reason,
        "message": message,
    }


def find_condition(conditions: Conditions, kind: str) -> Object | None:
    return next((condition for condition in conditions if condition["type"] == kind), None)


def without_condition(conditions: Conditions, kind: str) -> list[Object]:
    return [condition for condition in conditions if condition["type"] != kind]


def with_condition(conditions: Conditions, new: Object) -> list[Object]:
    """The conditions with this one set; unchanged if status and reason are the same. Keeps the
    transition time if the status is the same."""
    old = find_condition(conditions, new["type"])
    if old is not None and old["status"] == new["status"]:
        if old.get("reason") == new["reason"]:
            return list(conditions)
        if old.get("lastTransitionTime"):
            new = {**new, "lastTransitionTime": old["lastTransitionTime"]}
    return [*without_condition(conditions, new["type"]), new]
