"""Replacing an object, and the shared path of every change to an existing object."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from fairlead.admission.plugin import UPDATE
from fairlead.base import budget
from fairlead.base.errors import Cause, StatusError, conflict, invalid, modified
from fairlead.fields.values import equal
from fairlead.operations import write_pipeline
from fairlead.operations.api import Api, Object
from fairlead.operations.commits import converting, put, remove, wait_committed, write_over
from fairlead.operations.create import create
from fairlead.operations.managed_fields import restore_times, set_entries, tracked
from fairlead.operations.operation import Operation
from fairlead.operations.options import WriteOptions, revision_of
from fairlead.operations.patch import Patch, apply_patch
from fairlead.operations.stored_versions import is_unchanged, kept, read, to_requested_one
from fairlead.operations.views import view_of
from fairlead.resources.causes import absent
from fairlead.resources.context import Context
from fairlead.storage.version import Version

# Metadata that an update may leave out and cannot change.
_CARRIED = ("uid", "deletionTimestamp", "deletionGracePeriodSeconds")


@dataclass(slots=True)
class Outcome:
    """The result of a write that may create."""

    version: Version
    created: bool = False


@dataclass(slots=True)
class Changed:
    """The desired object in the stored version, with its managedFields entries if computed
    already."""

    value: Object
    entries: list[Object] | None = None


@dataclass(slots=True)
class _Written:
    """The result of a change. A version with `is_stored=False` is already in the version of the
    request."""

    version: Version
    is_stored: bool = True


# Returns the desired object for the current one, which it must not modify.
Change = Callable[[Object], Changed]
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
    if api.store.latest(collection, key) is None and await wait_committed(collection, key):
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
            _check_uid(operation, wanted["metadata"], old["metadata"], options.dry_run)
        return Changed(view.write(old, wanted))

    return Outcome(await store_changed(api, operation, change, options))


async def check_exists(api: Api, operation: Operation) -> None:
    """Raise NotFound before the body of a patch is parsed."""
    collection, key = api.collection(operation.resource), operation.key
    if api.store.latest(collection, key) is None and await wait_committed(collection, key):
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
    if resource.parent is not None or not (resource.creates_on_update or wanted):
        raise absent(ref)
    if wanted:
        raise _other_uid(operation, ref.name, wanted, "", options.dry_run)
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
        version = await to_requested_one(resource, version)
    operation.result = version
    return version


async def _store_over(
    api: Api, operation: Operation, change: Change, options: WriteOptions, current: Version
) -> _Written:
    """Store the result of a change to a version. Raises Conflict or ConditionFailed if the object
    or a precondition changed meanwhile; then all reservations are rolled back."""
    operation.found(current)
    resource, collection = operation.resource, api.collection(operation.resource)
    built_in = resource.main.custom is None
    old = current.object_to_write() if built_in else await read(resource, current)
    context = api.context(operation, options.dry_run)
    try:
        changed = await converting(operation.size, change, old)
        new = await _prepared(api, operation, changed, old, options, context)
        old["metadata"].pop("resourceVersion", None)
        if operation.applies:
            restore_times(new, old)
        stored = new if built_in else await kept(resource, new)
        shown_as_before = new == old and equal(new, old)
        if options.dry_run or (
            shown_as_before
            and is_unchanged(resource, current, stored)
            and not await api.store.is_stale(collection, current)
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
        made = write_pipeline.unstored(collection, current.key, new, current.revision, resource)
        return _Written(made, is_stored=False)
    except BaseException:  # includes cancellation by the request timeout
        context.roll_back()
        raise


async def _prepared(
    api: Api,
    operation: Operation,
    changed: Changed,
    old: Object,
    options: WriteOptions,
    context: Context,
) -> Object:
    resource, value = operation.resource, changed.value
    behaviour = api.behaviour(resource)
    _check_version(operation, value["metadata"], old["metadata"], options.dry_run)
    if operation.refusal is not None:
        raise operation.refusal
    carry_over(value["metadata"], old["metadata"])
    write_pipeline.drop_repeated_owners(operation, value["metadata"])
    entries = await converting(
        operation.size, _defaulted, api, operation, changed, old, options, context
    )
    set_entries(value["metadata"], entries)
    attributes = write_pipeline.attributes(operation, UPDATE, value, old, context, options=options)
    await api.admission.admit(attributes)
    if attributes.round:
        entries = write_pipeline.recheck_admitted(operation, value, entries)
        carry_over(value["metadata"], old["metadata"])
    if resource.subresource and not resource.is_scale:
        behaviour.prepare_subresource_update(resource.subresource, value, old, context)
    else:
        behaviour.prepare_update(value, old, context)
    set_entries(value["metadata"], entries)
    new = write_pipeline.ordered(value)
    await budget.run(operation.size, write_pipeline.check_changed, api, resource, new, old, context)
    attributes.value = new
    await api.admission.validate(attributes)
    behaviour.warnings(new, old, context)
    await budget.run(operation.size, behaviour.normalize, new, operation.applies)
    return new


def _defaulted(
    api: Api,
    operation: Operation,
    changed: Changed,
    old: Object,
    options: WriteOptions,
    context: Context,
) -> list[Object]:
    """Fill in defaults; returns the managedFields entries after the write."""
    resource = operation.resource
    write_pipeline.default(api, resource.main, changed.value, context)
    write_pipeline.check_grown(operation, changed.value)
    if changed.entries is not None:
        return changed.entries
    return tracked(api, resource, old, changed.value, options)


def _check_version(operation: Operation, metadata: Object, old: Object, dry_run: bool) -> None:
    """Optimistic concurrency: a resourceVersion or uid in the object is a precondition."""
    _check_uid(operation, metadata, old, dry_run)
    resource = operation.resource.main
    wanted, standing = metadata.get("resourceVersion", ""), old["resourceVersion"]
    if wanted in ("", "0"):
        # A patched document keeps the current resourceVersion unless the patch removes it.
        is_whole = operation.replaces or (operation.verb == "patch" and not operation.applies)
        if resource.conditional and is_whole and not operation.resource.is_scale:
            cause = Cause(
                "FieldValueInvalid",
                "Invalid value: 0x0: must be specified for an update",
                "metadata.resourceVersion",
            )
            raise invalid(resource.ref(old["name"]), [cause])
    elif wanted != standing and _revision(wanted) != int(standing):
        raise modified(resource.ref(old["name"]))


def _check_uid(operation: Operation, metadata: Object, old: Object, dry_run: bool) -> None:
    uid = metadata.get("uid", "")
    if uid and uid != old["uid"] and operation.replaces:
        raise _other_uid(operation, old["name"], uid, old["uid"], dry_run)


def _other_uid(
    operation: Operation, name: str, wanted: str, found: str, dry_run: bool
) -> StatusError:
    resource, root = operation.resource.main, write_pipeline.key_prefix(dry_run)
    key = resource.storage_key(operation.namespace, name)
    return conflict(
        resource.ref(name),
        f"StorageError: invalid object, Code: 4, Key: {root}/{resource.storage_prefix}/{key},"
        f" ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in precondition:"
        f" {wanted}, UID in object meta: {found}",
    )


def _revision(wanted: str) -> int:
    return revision_of(wanted, "metadata.resourceVersion")


def carry_over(metadata: Object, old: Object) -> None:
    metadata["creationTimestamp"] = old["creationTimestamp"]
    for name in _CARRIED:
        if not metadata.get(name) and old.get(name) is not None:
            metadata[name] = old[name]
    generation = old.get("generation")
    if generation is not None:
        metadata["generation"] = generation
    else:
        metadata.pop("generation", None)
