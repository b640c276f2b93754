"""DELETE of an item and of a collection."""

from __future__ import annotations

from copy import deepcopy
from datetime import UTC, datetime, timedelta

from fairlead.admission.chain import DELETE
from fairlead.endpoints import writing
from fairlead.endpoints.answers import Answer, value_answer
from fairlead.endpoints.api import Api, Object
from fairlead.endpoints.list import find, list_metadata, untyped
from fairlead.endpoints.parameters import (
    DeleteOptions,
    check_preconditions,
    delete_options,
    list_options,
)
from fairlead.endpoints.representing import object_answer, read, typed
from fairlead.endpoints.request import Request
from fairlead.endpoints.update import is_finished
from fairlead.errors import STATUS_HEAD, StatusError, not_found, success
from fairlead.kinds.conversion import from_stored
from fairlead.kinds.resources import Resource
from fairlead.schema.times import format_time
from fairlead.storage.entry import Entry
from fairlead.storage.store import Conflict

FOREGROUND, ORPHAN = "foregroundDeletion", "orphan"


async def delete(api: Api, request: Request) -> Answer:
    target = request.target
    resource = target.resource
    assert resource is not None
    raw = await request.body()
    options = delete_options(api.dialect, api.types, request, raw)
    key = resource.storage_key(target.namespace, target.name)
    value, gone = await delete_one(api, request, resource, key, options)
    if gone and not resource.returns_deleted:
        ref = resource.ref(target.name)
        done = success(ref, value["metadata"]["uid"])
        return value_answer(request, 200, done, api.resources)
    shown = typed(resource, from_stored(resource, value))
    code = 202 if options.cascades and not gone else 200
    return object_answer(api.resources, request, resource, shown, code)


async def delete_one(
    api: Api, request: Request, resource: Resource, key: str, options: DeleteOptions
) -> tuple[Object, bool]:
    """Delete an object or mark it for deletion; gives what became of it and whether it is gone."""
    collection = api.collection(resource)
    behaviour = api.behaviour(resource)
    context = api.context(request, options.dry_run)
    while True:
        current = api.store.latest(collection, key)
        name = key.rpartition("/")[2]
        if current is None:
            raise not_found(resource.ref(name))
        old = current.object()
        refusal = check_preconditions(options, resource.ref(name), resource.kind, old["metadata"])
        if refusal is not None:
            raise refusal
        attributes = writing.attributes(api, request, DELETE, None, old, context, name)
        await api.admission.admit(attributes)
        await api.admission.validate(attributes)
        new = deepcopy(old)
        grace = behaviour.grace_period(new, options.grace_period)
        propagation = options.propagation or behaviour.default_propagation(new, context)
        _mark(new, grace, propagation)
        behaviour.prepare_delete(new, context)
        gone = is_finished(new)
        if gone and grace is None:
            new = old
        try:
            return await _store(api, collection.prefix, current, new, gone, options), gone
        except Conflict:
            continue


async def _store(
    api: Api, prefix: str, current: Entry, new: Object, gone: bool, options: DeleteOptions
) -> Object:
    collection = api.store.collection(prefix)
    if gone:
        if not options.dry_run:
            await api.store.delete(collection, current.key, current.revision)
        return new
    if new == current.object() or options.dry_run:
        await api.store.settled(current)
        return new
    entry = await api.store.put(
        collection, current.key, writing.ordered(deepcopy(new)), current.revision
    )
    return entry.object()


def _mark(value: Object, grace: int | None, propagation: str) -> None:
    """Set what tells that an object is being deleted, and who has to finish first."""
    metadata = value["metadata"]
    _set_finalizers(metadata, propagation)
    if metadata.get("deletionTimestamp") is None:
        if metadata.get("generation"):
            metadata["generation"] += 1
    elif grace is None or grace >= metadata.get("deletionGracePeriodSeconds", 0):
        return  # a second delete can bring the end nearer, not put it off
    moment = datetime.now(UTC) + timedelta(seconds=grace or 0)
    metadata["deletionTimestamp"] = format_time(moment)
    metadata["deletionGracePeriodSeconds"] = grace or 0


def _set_finalizers(metadata: Object, propagation: str) -> None:
    if not propagation:
        return
    kept = [name for name in metadata.get("finalizers") or () if name not in (FOREGROUND, ORPHAN)]
    if propagation == "Foreground":
        kept.append(FOREGROUND)
    elif propagation == "Orphan":
        kept.append(ORPHAN)
    if kept:
        metadata["finalizers"] = kept
    else:
        metadata.pop("finalizers", None)


async def delete_collection(api: Api, request: Request) -> Answer:
    resource = request.target.resource
    assert resource is not None
    raw = await request.body()
    options = delete_options(api.dialect, api.types, request, raw)
    listing = list_options(api.dialect, request, api.gates["APIListChunking"])
    selection = api.selection(request, resource)
    page, revision = await find(api, request, resource, listing, selection)
    for entry in page.entries:
        try:
            await delete_one(api, request, resource, entry.key, options)
        except StatusError as error:
            if error.code != 404:
                raise
    if api.dialect.deletecollection_status:
        details = resource.ref().details()
        done = {**STATUS_HEAD, "status": "Success", "details": details}
        return value_answer(request, 200, done, api.resources)
    return value_answer(
        request,
        200,
        {
            "kind": f"{resource.kind}List",
            "apiVersion": resource.api_version,
            "metadata": list_metadata(resource, page, revision),
            "items": [untyped(read(resource, entry)) for entry in page.entries],
        },
        api.resources,
    )
