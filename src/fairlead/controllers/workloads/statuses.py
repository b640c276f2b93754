"""Writes the status of an owner."""

from __future__ import annotations

from collections.abc import Callable

from fairlead.base.errors import StatusError, modified, not_found
from fairlead.operations.api import Object
from fairlead.operations.client import Client
from fairlead.resources.registry import Resource


async def write_status(
    objects: Client, resource: Resource, owner: Object, told: Callable[[Object], Object]
) -> Object | None:
    """Apply `told` to the newest version and write it to the status subresource. Returns the
    written object, or None if the owner is gone or has another uid."""
    metadata = owner["metadata"]

    def tell(current: Object) -> Object:
        if current["metadata"]["uid"] != metadata["uid"]:
            raise not_found(resource.ref(metadata["name"]))
        return told(current)

    try:
        return await objects.change(
            resource.key, metadata["namespace"], metadata["name"], tell, "status"
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

    def told(current: Object) -> Object:
        if (current.get("status") or {}) != (owner.get("status") or {}):
            raise modified(resource.ref(owner["metadata"]["name"]))
        return {**current, "status": status}

    return await write_status(objects, resource, owner, told)


async def tell(objects: Client, resource: Resource, owner: Object, status: Object) -> None:
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
