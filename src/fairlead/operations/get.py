"""Reading an object."""

from __future__ import annotations

from fairlead.base.errors import ResourceRef, not_found, too_large_resource_version
from fairlead.operations.api import Api
from fairlead.operations.operation import Operation
from fairlead.operations.stored_versions import to_requested
from fairlead.resources.causes import absent
from fairlead.resources.registry import Resource
from fairlead.storage.store import Store
from fairlead.storage.version import Version

WAIT_FOR_REVISION = 3.0


async def wait_until(store: Store, revision: int) -> None:
    """Wait up to 3 s until a store reaches a revision; raises a 504 if it does not."""
    if revision > store.revision and not await store.wait_for(revision, WAIT_FOR_REVISION):
        raise too_large_resource_version(revision, store.revision)


def _names_scale(main: Resource) -> bool:
    """Whether the NotFound error names the scale rather than the resource."""
    return main.name != "statefulsets" and not main.custom


def _scale_group(main: Resource) -> str:
    """The group in the NotFound error of a scale; the core group shows as `autoscaling`."""
    return main.group or "autoscaling"


async def get(api: Api, operation: Operation, revision: int = 0) -> Version:
    """The committed version of an object, at `revision` or newer, in the version of the
    operation."""
    if revision:
        await wait_until(api.store_for(operation.resource), revision)
    return await to_requested(operation.resource, stored(api, operation))


def stored(api: Api, operation: Operation) -> Version:
    """The committed version of an object as it is stored; raises NotFound."""
    resource = operation.resource
    version = api.collection(resource).get(operation.key)
    if version is None:
        main = resource.main
        if resource.is_scale and not api.gates["LaterWording"] and _names_scale(main):
            raise not_found(ResourceRef(_scale_group(main), resource.name, operation.name))
        raise absent(ResourceRef(main.group, main.name, operation.name))
    return version
