"""Creating an object."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

from fairlead.admission.plugin import CREATE, Attributes
from fairlead.auth.authorization.attributes import creation_refusal, refusal
from fairlead.base import budget
from fairlead.base.errors import (
    StatusError,
    already_exists,
    bad_request,
    modified,
    verb_not_supported,
)
from fairlead.fields.values import copied
from fairlead.operations import steps, write_pipeline
from fairlead.operations.api import Api, Object
from fairlead.operations.commits import MAX_ATTEMPTS, converting, put, wait_committed
from fairlead.operations.operation import Operation
from fairlead.operations.options import WriteOptions
from fairlead.operations.stored_versions import as_read_back, to_requested, to_storage_version
from fairlead.resources.core.services.claims import is_claimed
from fairlead.resources.registry import Resource
from fairlead.storage.backend import ConditionFailed, Conflict
from fairlead.storage.collection import Collection
from fairlead.storage.version import Version

_MAX_CLAIMS, _CLAIM_PAUSE = 200, 0.05  # attempts, and seconds between the later ones


def create(
    api: Api,
    operation: Operation,
    value: Object,
    options: WriteOptions,
    entries: list[Object] | None = None,
) -> Coroutine[Any, Any, Version]:
    """Run a new object, in the stored version, through defaulting, admission and validation, and
    store it. `entries` are its managedFields if the caller has computed them already."""
    if not api.behaviour(operation.resource).claims_values:
        return _create(api, operation, value, options, entries)
    return _create_claiming(api, operation, value, options, entries)


async def _create_claiming(
    api: Api,
    operation: Operation,
    value: Object,
    options: WriteOptions,
    entries: list[Object] | None,
) -> Version:
    """Create an object that claims values, such as a cluster address, which other servers claim,
    too. Retries if the value was taken meanwhile."""
    for attempt in range(_MAX_CLAIMS):
        try:
            return await _create(api, operation, copied(value), options, entries)
        except ConditionFailed as failed:
            if not is_claimed(failed):
                raise
        # Until this server sees the write of the other one, it would choose the same value again.
        await asyncio.sleep(min(0.001 * attempt, _CLAIM_PAUSE))
    raise modified(operation.resource.ref(value["metadata"].get("name", "")))


async def _create(
    api: Api,
    operation: Operation,
    value: Object,
    options: WriteOptions,
    entries: list[Object] | None,
) -> Version:
    resource, metadata = operation.resource, value["metadata"]
    if resource.custom is not None and resource.custom.definition.terminating:
        raise _ending(resource)
    claimed = steps.start_new(operation, metadata)
    context = api.context(operation, options.dry_run)
    entries = await converting(
        operation.size, steps.fill_new, api, operation, value, options, entries, context
    )
    try:
        name = metadata.get("name", "")
        attributes = write_pipeline.attributes(
            operation, CREATE, value, None, context, name, options
        )
        generated = await _admit(api, operation, attributes, value, entries)
        if claimed and not options.dry_run:  # only the store assigns versions
            raise bad_request("resourceVersion should not be set on objects to be created")
        version = await _stored(api, operation, attributes, generated, claimed)
        if resource.custom is not None and not options.dry_run:
            version = await to_requested(resource, version)
        if options.dry_run:
            context.roll_back()
    except BaseException:  # includes cancellation by the request timeout
        context.roll_back()
        raise
    operation.result = version
    return version


async def _admit(
    api: Api, operation: Operation, attributes: Attributes, value: Object, entries: list[Object]
) -> bool:
    """Run a new object through admission and validation. Returns whether its name was generated;
    that happens after mutating admission, so that plugins and webhooks see the missing name."""
    behaviour, context = api.behaviour(operation.resource), attributes.context
    await api.admission.admit(attributes)
    is_generated = steps.finish_new(api, operation, value, entries, attributes)
    value = write_pipeline.ordered(value)
    await budget.run(
        operation.size, write_pipeline.check_new, api, operation.resource, value, context
    )
    attributes.value = value
    if operation.verb != "create":  # an update that became a create: validation errors come first
        await _authorize(api, operation)
    await api.admission.validate(attributes)
    behaviour.warnings(value, None, context)
    await budget.run(operation.size, behaviour.normalize, value, operation.applies)
    attributes.is_settled = True
    return is_generated


async def _authorize(api: Api, operation: Operation) -> None:
    """Raise Forbidden if an update or apply turns into a create that the user may not perform."""
    attributes = operation.attributes("create")
    decision = await api.authorizer.authorize(attributes)
    if not decision.allowed:
        refuse = refusal if api.gates["LaterWording"] else creation_refusal
        raise refuse(attributes, decision)


async def _stored(
    api: Api, operation: Operation, attributes: Attributes, generated: bool, claimed: int
) -> Version:
    """Store an admitted object under its name, or under the first generated name that is free."""
    resource, value, context = attributes.resource, attributes.value, attributes.context
    assert value is not None
    collection = api.collection(resource)
    metadata = value["metadata"]
    for attempt in range(write_pipeline.GENERATE_TRIES if generated else 1):
        if attempt:
            metadata["name"] = write_pipeline.generate_name(metadata["generateName"])
            api.behaviour(resource).renamed(value, context)
        key = resource.storage_key(metadata.get("namespace", ""), metadata["name"])
        try:
            if not context.dry_run:
                return await _put_new(api, operation, attributes, collection, key)
        except Conflict:
            pass
        existing = collection.latest(key)
        if existing is None and context.dry_run:
            stored = await to_storage_version(resource, value)
            shown = await as_read_back(resource, stored)
            return write_pipeline.unstored_version(collection, key, shown, claimed, resource)
    raise _exists(resource, metadata["name"], existing, bool(metadata.get("generateName")))


async def _put_new(
    api: Api, operation: Operation, attributes: Attributes, collection: Collection, key: str
) -> Version:
    """Write the object. Raises Conflict if a committed object has the key. Runs admission again if
    a precondition of its decision changed meanwhile."""
    resource, value, context = attributes.resource, attributes.value, attributes.context
    assert value is not None
    for _ in range(MAX_ATTEMPTS):
        try:
            stored = value if resource.custom is None else await to_storage_version(resource, value)
            return await put(api, operation, collection, key, stored, None, context)
        except Conflict:
            if await wait_committed(collection, key):
                raise
        except ConditionFailed as failed:
            if is_claimed(failed):
                raise
            context.reset_admission()
            await api.admission.admit(attributes)
            await api.admission.validate(attributes)
        await asyncio.sleep(0)
    raise modified(resource.ref(value["metadata"]["name"]))


def _ending(resource: Resource) -> StatusError:
    error = verb_not_supported(resource.ref(), "create")
    error.message = "create not allowed while custom resource definition is terminating"
    return error


def _exists(
    resource: Resource, name: str, existing: Version | None, generated: bool
) -> StatusError:
    ref = resource.ref(name)
    error = already_exists(ref)
    if generated:
        error.message += ", the server was not able to generate a unique name for the object"
        error.details, error.retry_after = {**ref.details(), "retryAfterSeconds": 1}, 1
    if existing is not None and existing.object()["metadata"].get("deletionTimestamp"):
        error.message = f"object is being deleted: {error.message}"
    return error
