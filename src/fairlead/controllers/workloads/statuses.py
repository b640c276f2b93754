"""Writing the status of an owner."""

from __future__ import annotations

from collections.abc import Callable

from fairlead.errors import StatusError, not_found
from fairlead.kinds.resources import Resource
from fairlead.operations.api import Object
from fairlead.operations.client import Client


async def write_status(
    objects: Client, resource: Resource, owner: Object, told: Callable[[Object], Object]
) -> None:
    """Write what `told` makes of the newest version of an owner through its status. If it is gone,
    or another one has its name, there is nobody to tell."""
    metadata = owner["metadata"]

    def tell(current: Object) -> Object:
        if current["metadata"]["uid"] != metadata["uid"]:
            raise not_found(resource.ref(metadata["name"]))
        return told(current)

    try:
        await objects.change(resource.key, metadata["namespace"], metadata["name"], tell, "status")
    except StatusError as error:
        if error.code != 404:
            raise


async def tell(objects: Client, resource: Resource, owner: Object, status: Object) -> None:
    """Write a status where it is not so already. The conditions are others' and stay."""
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
