"""Deleting an object, and all objects of a collection."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from fairlead.admission.chain import Chain
from fairlead.admission.plugin import DELETE
from fairlead.base import clock
from fairlead.base.dialect import Dialect
from fairlead.base.errors import StatusError, forbidden
from fairlead.base.waiting import result_of
from fairlead.codec.types.times import format_time, parse_time
from fairlead.fields.values import copied
from fairlead.operations import write_pipeline
from fairlead.operations.api import Api, Object
from fairlead.operations.commits import MarkedOnly, put, remove, write_over
from fairlead.operations.list import Listing, find
from fairlead.operations.operation import Operation
from fairlead.operations.options import DeleteOptions, ListOptions, check_preconditions
from fairlead.operations.stored_versions import read_requested, to_requested, to_storage_version
from fairlead.resources.behaviour import Behaviour
from fairlead.resources.context import Context
from fairlead.resources.metadata import MAX_GRACE
from fairlead.storage.selection import Selection
from fairlead.storage.version import Version

FOREGROUND, ORPHAN = "foregroundDeletion", "orphan"
_COLLECTION_VERB = "deletecollection"
_MAX_CONCURRENT = 250  # concurrent deletes of a collection; they share commits
_MAX_A_STEP, _BYTES_A_STEP = 10, 64 * 1024  # started before yielding to the loop


@dataclass(slots=True)
class Deleted:
    """The deleted object, and whether it is removed or only marked for deletion."""

    value: Object
    is_removed: bool


async def delete(
    api: Api, operation: Operation, options: DeleteOptions, admission: Chain | None = None
) -> Deleted:
    """Delete an object or mark it for deletion. `admission` replaces the API's chain if the delete
    is part of an operation that was admitted already."""
    context = api.context(operation, options.dry_run)
    behaviour = api.behaviour(operation.resource)
    refusal = behaviour.before_delete(operation.name, options.propagation, context)
    if refusal:
        raise forbidden(operation.ref, refusal)
    chain = api.admission if admission is None else admission
    return await _delete(api, operation, options, chain)


async def _delete(api: Api, operation: Operation, options: DeleteOptions, chain: Chain) -> Deleted:
    resource = operation.resource
    collection = api.collection(resource)
    behaviour = api.behaviour(resource)
    context = api.context(operation, options.dry_run)
    marked: Object | None = None  # by an earlier attempt

    async def write(current: Version) -> Deleted:
        nonlocal marked
        operation.note_stored_size(current)
        version = await to_requested(resource, current)
        old = version.object()
        if marked is not None and marked["metadata"]["uid"] != old["metadata"]["uid"]:
            return Deleted(marked, is_removed=True)
        refusal = check_preconditions(options, operation.ref, resource.kind, old["metadata"])
        if refusal is not None and marked is None:
            raise refusal
        attributes = write_pipeline.attributes(
            operation, DELETE, None, old, context, options=options
        )
        if operation.verb == _COLLECTION_VERB:
            attributes.name = ""  # admission gets the collection, not the object
        await result_of(chain.admit(attributes))
        await result_of(chain.validate(attributes))
        new = version.object()
        has_grace = _prepare(behaviour, new, options, context)
        is_removed = write_pipeline.is_finished(api, resource, new)
        if is_removed and not has_grace:
            new = old
        try:
            value = await _store(api, operation, current, old, new, is_removed, options)
        except MarkedOnly:
            marked = new
            raise
        return Deleted(value, is_removed)

    try:
        deleted = await write_over(api, collection, operation.key, operation.ref, write)
    except StatusError as error:
        if error.code != 404 or marked is None:
            raise
        deleted = Deleted(marked, is_removed=True)  # another request removed what this one marked
    operation.result = deleted.value
    return deleted


def _prepare(behaviour: Behaviour, value: Object, options: DeleteOptions, context: Context) -> bool:
    """Mark an object for deletion; returns whether its kind has grace periods."""
    metadata, dialect = value["metadata"], context.dialect
    grace = behaviour.grace_period(value, options.grace_period)
    if grace is not None and metadata.get("deletionTimestamp") is not None:
        grace = _shortened_grace(options.grace_period, metadata, dialect)
    _set_finalizers(
        metadata, options.propagation or _implied_propagation(behaviour, value, context)
    )
    _mark_deleted(metadata, grace, dialect)
    behaviour.prepare_delete(value, context)
    return grace is not None


async def _store(
    api: Api,
    operation: Operation,
    current: Version,
    old: Object,
    new: Object,
    is_removed: bool,
    options: DeleteOptions,
) -> Object:
    collection = api.collection(operation.resource)
    if is_removed:
        if not options.dry_run:
            marked = None
            if new != old:
                marked = await to_storage_version(
                    operation.resource, write_pipeline.ordered(copied(new))
                )
            await remove(api, operation, collection, current, marked)
        return new
    if new == old or options.dry_run:
        await api.store.wait_committed(current)
        return new
    stored = await to_storage_version(operation.resource, write_pipeline.ordered(copied(new)))
    version = await put(api, operation, collection, current.key, stored, current)
    return await read_requested(operation.resource, version)


def _implied_propagation(behaviour: Behaviour, value: Object, context: Context) -> str:
    """The propagation policy if the client sends none: that of a finalizer on the object, else the
    default of the kind."""
    by_kind = behaviour.default_propagation(value, context)
    finalizers = value["metadata"].get("finalizers") or ()
    return "" if FOREGROUND in finalizers or ORPHAN in finalizers else by_kind


def _shortened_grace(requested: int | None, metadata: Object, dialect: Dialect) -> int:
    """The grace period of an object that is in deletion already: a second delete can shorten it and
    never extends it."""
    remaining: int = metadata.get("deletionGracePeriodSeconds") or 0
    if requested is None:
        return remaining
    if requested < 0:
        requested = 1
    if requested and dialect.deletion_starts_now:  # the grace period counts from the first delete
        passed = clock.now() - parse_time(metadata["deletionTimestamp"])
        requested += max(0, int(passed.total_seconds()) - 1)  # the timestamp has whole seconds
    return min(remaining, requested)


def _mark_deleted(metadata: Object, grace: int | None, dialect: Dialect) -> None:
    """Set deletionTimestamp and grace period, or shorten them if they are set."""
    is_first = metadata.get("deletionTimestamp") is None
    if is_first:
        if metadata.get("generation"):
            metadata["generation"] += 1
    elif grace is None or grace >= metadata.get("deletionGracePeriodSeconds", 0):
        return
    if not dialect.deletion_starts_now:
        began = clock.now() if is_first else _began(metadata)
        moment = began + timedelta(seconds=min(grace or 0, MAX_GRACE))
        metadata["deletionTimestamp"] = format_time(moment)
    elif is_first:
        metadata["deletionTimestamp"] = format_time(clock.now())
    metadata["deletionGracePeriodSeconds"] = grace or 0


def _began(metadata: Object) -> datetime:
    """When the deletion began, of an object whose timestamp is the end of its grace period."""
    grace = min(metadata.get("deletionGracePeriodSeconds") or 0, MAX_GRACE)
    return parse_time(metadata["deletionTimestamp"]) - timedelta(seconds=grace)


def _set_finalizers(metadata: Object, propagation: str) -> None:
    if not propagation:
        return
    finalizers = [
        name for name in metadata.get("finalizers") or () if name not in (FOREGROUND, ORPHAN)
    ]
    if propagation == "Foreground":
        finalizers.append(FOREGROUND)
    elif propagation == "Orphan":
        finalizers.append(ORPHAN)
    if finalizers:
        metadata["finalizers"] = finalizers
    else:
        metadata.pop("finalizers", None)


async def delete_collection(
    api: Api,
    operation: Operation,
    options: DeleteOptions,
    list_options: ListOptions,
    selection: Selection,
) -> Listing:
    """Delete the objects that a list returns, and return that list. Deletes run concurrently so
    that they share commits; the first error is raised after its batch."""
    context = api.context(operation, options.dry_run)
    api.behaviour(operation.resource).before_delete("", options.propagation, context)
    listing = await find(api, operation, list_options, selection)
    for start in range(0, len(listing.versions), _MAX_CONCURRENT):
        batch = listing.versions[start : start + _MAX_CONCURRENT]
        tasks: list[asyncio.Task[None]] = []
        for step in _steps(batch):
            tasks += (
                asyncio.create_task(_delete_listed(api, operation, version, options))
                for version in step
            )
            await asyncio.sleep(0)
        for outcome in await asyncio.gather(*tasks, return_exceptions=True):
            if isinstance(outcome, BaseException):
                raise outcome
    return listing


def _steps(versions: list[Version]) -> Iterator[list[Version]]:
    """Split a batch so that starting one part does not block the event loop for long."""
    step: list[Version] = []
    size = 0
    for version in versions:
        step.append(version)
        size += len(version.body or b"")
        if size >= _BYTES_A_STEP or len(step) == _MAX_A_STEP:
            yield step
            step, size = [], 0
    if step:
        yield step


async def _delete_listed(
    api: Api, operation: Operation, version: Version, options: DeleteOptions
) -> None:
    part = operation.part(operation.verb, operation.resource, version.namespace, version.name)
    newest = api.collection(part.resource).latest(part.key)
    if newest is not None and _is_recreated(newest, version):
        return  # the listed object is gone
    try:
        await _delete(api, part, options, api.admission)
    except StatusError as error:
        if error.code != 404:
            raise


def _is_recreated(newest: Version, listed: Version) -> bool:
    """Whether another object now has the name of the listed one."""
    if newest.revision == listed.revision:
        return False
    return bool(newest.object()["metadata"]["uid"] != listed.object()["metadata"]["uid"])
