"""GET of an item."""

from __future__ import annotations

from fairlead.endpoints.answers import Answer
from fairlead.endpoints.api import Api
from fairlead.endpoints.parameters import revision_of
from fairlead.endpoints.representing import item_answer
from fairlead.endpoints.request import Request
from fairlead.endpoints.subjects import subject_of
from fairlead.errors import ResourceRef, not_found, too_large_resource_version

WAIT_FOR_REVISION = 3.0


async def wait_until(api: Api, revision: int) -> None:
    """Wait a little for a version that we have not reached; 504 if it does not come."""
    if revision > api.store.revision and not await api.store.wait_for(revision, WAIT_FOR_REVISION):
        raise too_large_resource_version(revision, api.store.revision)


async def get(api: Api, request: Request) -> Answer:
    target = request.target
    resource = target.resource
    assert resource is not None
    if request.query:
        await wait_until(api, revision_of(request.parameter("resourceVersion")))
    kept = resource.parent or resource
    entry = api.collection(resource).get(kept.storage_key(target.namespace, target.name))
    if entry is None:
        names_scale = resource.is_scale and kept.name != "statefulsets"
        shown = resource.name if names_scale else kept.name
        raise not_found(ResourceRef(kept.group, shown, target.name))
    if resource.is_scale:
        return subject_of(api, resource).answer(request, entry)
    return item_answer(api.resources, request, kept, entry)
