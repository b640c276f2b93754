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
