"""POST to a collection."""

from __future__ import annotations

from fairlead.admission.chain import CREATE
from fairlead.endpoints import writing
from fairlead.endpoints.answers import Answer
from fairlead.endpoints.api import Api, Object
from fairlead.endpoints.decoding import body_format, read_object
from fairlead.endpoints.parameters import WriteOptions, write_options
from fairlead.endpoints.representing import item_answer
from fairlead.endpoints.request import Request
from fairlead.endpoints.tracking import set_entries, tracked
from fairlead.errors import StatusError, already_exists, bad_request
from fairlead.kinds.context import Context, rolled_back_on_failure
from fairlead.kinds.conversion import to_stored
from fairlead.kinds.resources import Resource
from fairlead.storage.entry import Entry
from fairlead.storage.store import Conflict


async def create(api: Api, request: Request) -> Answer:
    resource = request.target.resource
    assert resource is not None
    options = write_options(api.dialect, request, "CreateOptions")
    media_type = body_format(request, api.resources)
    raw = await request.body()
    value = await read_object(request, api.resources, resource, raw, media_type, options.validation)
    value = to_stored(resource, value)
    writing.set_namespace(request, resource, value["metadata"])
    entry = await store_new(api, request, resource, value, options)
    return item_answer(api.resources, request, resource, entry, 201)


async def store_new(
    api: Api,
    request: Request,
    resource: Resource,
    value: Object,
    options: WriteOptions,
    entries: list[Object] | None = None,
) -> Entry:
    """Take a new object through defaulting, admission and its rules into the store. `entries` are
    its owners where those are known already."""
    metadata = value["metadata"]
    if metadata.get("resourceVersion"):
        raise bad_request("resourceVersion should not be set on objects to be created")
    writing.drop_repeated_owners(request, metadata)
    context = api.context(request, options.dry_run)
    writing.default(api, resource, value, context)
    generated = not metadata.get("name") and bool(metadata.get("generateName"))
    if generated:
        metadata["name"] = writing.generate_name(metadata["generateName"])
    if entries is None:
        entries = tracked(api, resource, None, value, options)
    set_entries(metadata, entries)
    writing.set_system_fields(metadata)
    with rolled_back_on_failure(context):
        value = await _prepared(api, request, resource, value, context)
        entry = await _put_new(api, resource, value, options.dry_run, generated)
        if options.dry_run:
            context.roll_back()
        return entry


async def _prepared(
    api: Api, request: Request, resource: Resource, value: Object, context: Context
) -> Object:
    """Take a new object through admission and the rules of its kind."""
    behaviour = api.behaviour(resource)
    name = value["metadata"].get("name", "")
    attributes = writing.attributes(api, request, CREATE, value, None, context, name)
    await api.admission.admit(attributes)
    behaviour.prepare_create(value, context)
    value = writing.ordered(value)
    writing.check_new(api, resource, value, context)
    attributes.value = value
    await api.admission.validate(attributes)
    behaviour.warnings(value, None, context)
    behaviour.settle(value)
    return value


async def _put_new(
    api: Api, resource: Resource, value: Object, dry_run: bool, generated: bool
) -> Entry:
    collection = api.collection(resource)
    metadata = value["metadata"]
    for attempt in range(writing.GENERATE_TRIES if generated else 1):
        if attempt:
            metadata["name"] = writing.generate_name(metadata["generateName"])
        key = resource.storage_key(metadata.get("namespace", ""), metadata["name"])
        existing = api.store.latest(collection, key)
        if existing is not None:
            continue
        if dry_run:
            return writing.unstored(collection, key, value, 0)
        try:
            return await api.store.put(collection, key, value, 0)
        except Conflict:
            existing = api.store.latest(collection, key)
    error = _exists(resource, metadata["name"], existing)
    if generated:
        error.message += ", the server was not able to generate a unique name for the object"
    raise error


def _exists(resource: Resource, name: str, existing: Entry | None) -> StatusError:
    error = already_exists(resource.ref(name))
    if existing is not None and existing.object()["metadata"].get("deletionTimestamp"):
        error.message = f"object is being deleted: {error.message}"
    return error
