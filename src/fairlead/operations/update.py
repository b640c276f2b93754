"""Replacing an object, and the shared path of every change to an existing object."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from fairlead.auth.authorization.attributes import refusal
from fairlead.base import budget
from fairlead.base.errors import StatusError
from fairlead.fields.values import equal
from fairlead.operations import steps, write_pipeline
from fairlead.operations.api import Api, Object
from fairlead.operations.commits import converting, put, remove, wait_committed, write_over
from fairlead.operations.create import create
from fairlead.operations.managed_fields import restore_times
from fairlead.operations.operation import Operation
from fairlead.operations.options import WriteOptions
from fairlead.operations.patch import Patch, apply_patch
from fairlead.operations.steps import Change, Changed
from fairlead.operations.stored_versions import (
    as_read_back,
    is_unchanged,
    read_requested,
    to_requested,
    to_storage_version,
)
from fairlead.operations.views import view_of
from fairlead.resources.behaviour import Permission
from fairlead.resources.causes import absent
from fairlead.resources.context import Context
from fairlead.storage.version import Version


@dataclass(slots=True)
class Outcome:
    """The result of a write that may create."""

    version: Version
    created: bool = False


@dataclass(slots=True)
class _Written:
    """The result of a change. A version with `is_stored=False` is already in the version of the
    request."""

    version: Version
    is_stored: bool = True


# Returns the request body decoded in the version of the resource, a fresh copy on each call.
Sent = Callable[[], Object]


async def update(api: Api, operation: Operation, sent: Sent, options: WriteOptions) -> Outcome:
    """Replace an object by the request body, or create it if the kind allows that."""
    operation.replaces = True
    view = view_of(api, operation.resource)

    def document() -> Object:
        value = sent()
        write_pipeline.check_name(operation.name, value["metadata"])
        write_pipeline.set_namespace(operation, value["metadata"])
        return value

    value: Object | None = document()
    assert value is not None
    collection, key = api.collection(operation.resource), operation.key
    if collection.latest(key) is None and await wait_committed(collection, key):
        stored = value if operation.resource.is_scale else view.write({}, value)
        try:
            return await _create_instead(api, operation, stored, options)
        except StatusError as error:
            if error.reason != "AlreadyExists":
                raise
        value = None  # another client created it first: replace that object

    def change(old: Object) -> Changed:
        nonlocal value
        wanted, value = value, None
        if wanted is None:  # the object changed: start again from the request body
            wanted = document()
        if operation.resource.is_scale:  # the workload has a uid of its own
            steps.check_uid(operation, wanted["metadata"], old["metadata"], options.dry_run)
        return Changed(view.write(old, wanted))

    return Outcome(await store_changed(api, operation, change, options))


async def check_exists(api: Api, operation: Operation) -> None:
    """Raise NotFound before the body of a patch is parsed."""
    collection, key = api.collection(operation.resource), operation.key
    if collection.latest(key) is None and await wait_committed(collection, key):
        raise absent(operation.ref)


async def patch(api: Api, operation: Operation, read: Patch, options: WriteOptions) -> Version:
    view = view_of(api, operation.resource)

    def change(old: Object) -> Changed:
        return Changed(apply_patch(api, operation, view, read, old, options))

    return await store_changed(api, operation, change, options)


async def _create_instead(
    api: Api, operation: Operation, value: Object, options: WriteOptions
) -> Outcome:
    resource, ref = operation.resource, operation.ref
    wanted = value["metadata"].pop("uid", "")
    # Earlier releases compare the uid before they see that the kind is not created by an update.
    is_compared = bool(wanted) and not api.gates["NotFoundBeforeUID"]
    if resource.parent is not None or not (resource.creates_on_update or is_compared):
        raise absent(ref)
    if wanted:
        raise steps.other_uid(operation, ref.name, wanted, "", options.dry_run)
    value["metadata"].pop("resourceVersion", None)
    return Outcome(await create(api, operation, value, options), created=True)


async def store_changed(
    api: Api, operation: Operation, change: Change, options: WriteOptions
) -> Version:
    """Run a change through defaulting, admission and validation, and store it. Works on the newest
    version, which may be uncommitted, and retries if the object changes meanwhile."""
    resource = operation.resource
    collection = api.collection(resource)
    write = partial(_store_over, api, operation, change, options)
    written = await write_over(api, collection, operation.key, operation.ref, write)
    version = written.version
    if written.is_stored and resource.main.custom is not None:
        version = await to_requested(resource, version)
    operation.result = version
    return version


async def _store_over(
    api: Api, operation: Operation, change: Change, options: WriteOptions, current: Version
) -> _Written:
    """Store the result of a change to a version. Raises Conflict or ConditionFailed if the object
    or a precondition changed meanwhile; then all reservations are rolled back."""
    operation.note_stored_size(current)
    resource, collection = operation.resource, api.collection(operation.resource)
    built_in = resource.main.custom is None
    old = current.object_to_write() if built_in else await read_requested(resource, current)
    context = api.context(operation, options.dry_run)
    try:
        changed = await converting(operation.size, change, old)
        new = await _prepared(api, operation, changed, old, options, context)
        old["metadata"].pop("resourceVersion", None)
        if operation.applies:
            restore_times(new, old)
        stored = new if built_in else await to_storage_version(resource, new)
        shown_as_before = new == old and equal(new, old)
        if options.dry_run or (
            shown_as_before
            and is_unchanged(resource, current, stored)
            and not await api.store_of(collection.resource).is_stale(collection, current)
        ):
            context.roll_back()
            await api.store.wait_committed(current)
            if shown_as_before:
                return _Written(current)
        elif write_pipeline.is_finished(api, resource, new):
            await remove(api, operation, collection, current)
        else:
            return _Written(
                await put(api, operation, collection, current.key, stored, current, context)
            )
        shown = await as_read_back(resource, stored) if options.dry_run else new
        version = write_pipeline.unstored_version(
            collection, current.key, shown, current.revision, resource
        )
        return _Written(version, is_stored=False)
    except BaseException:  # includes cancellation by the request timeout
        context.roll_back()
        raise


async def _lacking(
    api: Api, operation: Operation, permissions: Sequence[Permission]
) -> list[tuple[str, str]]:
    """The fields whose permissions the user does not have, with the reasons."""
    lacking = []
    for path, reason, verbs, subresource, namespace, name in permissions:
        refusals = []
        for verb in verbs:
            attributes = operation.attributes(verb)._replace(
                subresource=subresource, namespace=namespace, name=name
            )
            decision = await api.decide(attributes)
            if decision.allowed:
                break
            refusals.append(refusal(attributes, decision).message)
        else:
            lacking.append((path, f"{reason}: {refusals[0]}"))
    return lacking


async def _prepared(
    api: Api,
    operation: Operation,
    changed: Changed,
    old: Object,
    options: WriteOptions,
    context: Context,
) -> Object:
    """Run the desired object through defaulting, admission and validation."""
    size, behaviour = operation.size, api.behaviour(operation.resource)
    steps.start_change(api, operation, changed.value, old, options)
    entries = await converting(
        size, steps.fill_changed, api, operation, changed, old, options, context
    )
    attributes = steps.change_attributes(operation, changed.value, entries, old, context, options)
    await api.admission.admit(attributes)
    new = steps.finish_change(api, operation, changed.value, old, entries, attributes)
    subresource = operation.resource.subresource
    if permissions := behaviour.permissions(subresource, operation.verb, new, old, context):
        context.lacking = await _lacking(api, operation, permissions)
    await budget.run(size, write_pipeline.check_changed, api, operation.resource, new, old, context)
    attributes.value = new
    await api.admission.validate(attributes)
    behaviour.warnings(new, old, context)
    await budget.run(size, behaviour.normalize, new, operation.applies)
    return new
