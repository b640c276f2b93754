"""Changing an object: the steps that updates, patches and applies share, and updates and patches
themselves."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Final

from fairlead.admission.plugin import UPDATE, Attributes
from fairlead.base.deferred import Outcome
from fairlead.base.errors import StatusError, conflict, invalid, modified
from fairlead.base.waiting import NEXT_TURN
from fairlead.codec.types.defaults import fill_defaults
from fairlead.fields.values import equal, share_equal
from fairlead.operations import commits, retries, write_pipeline
from fairlead.operations.api import Api, Object
from fairlead.operations.create import create
from fairlead.operations.managed_fields import is_typed, restore_times, set_entries, tracked
from fairlead.operations.operation import Operation
from fairlead.operations.options import WriteOptions, revision_of
from fairlead.operations.patch import Patch, apply_patch
from fairlead.operations.stored_versions import (
    is_served_as_stored,
    is_storage_version,
    is_unchanged,
)
from fairlead.operations.views import View, view_of
from fairlead.operations.write import Step, Write, run
from fairlead.resources.causes import GoValue, absent, new_causes
from fairlead.storage.backend import ConditionFailed, Conflict
from fairlead.storage.version import Version

# Metadata that an update may leave out and cannot change.
_CARRIED: Final[tuple[str, ...]] = ("uid", "deletionTimestamp", "deletionGracePeriodSeconds")


class Changed:
    """The desired object in the stored version, with its managedFields entries if computed already.
    It `keeps_content` if it differs from the former object in its metadata only: then defaults that
    are missing are not added. It `keeps_all` if it does not differ."""

    __slots__ = ("entries", "keeps_all", "keeps_content", "value")

    def __init__(
        self,
        value: Object,
        entries: list[Object] | None = None,
        *,
        keeps_content: bool = False,
        keeps_all: bool = False,
    ) -> None:
        self.value = value
        self.entries = entries
        self.keeps_content = keeps_content
        self.keeps_all = keeps_all


# Returns the desired object for the current one, which it must not modify.
Change = Callable[[Object], Changed]


def store_changed(
    api: Api, operation: Operation, change: Change, options: WriteOptions
) -> Outcome[Version]:
    """Run a change through defaulting, admission and validation, and store it. Works on the newest
    version, which may be uncommitted, and retries if the object changes meanwhile."""
    return run(Update(api, operation, change, options))


class Update(Write):
    """The steps of a change. `old` is the object before it, `value` in its present state."""

    current: Version
    old: Object
    value: Object
    stored: Object  # the value in the storage version
    changed: Changed
    _entries: list[Object]
    _attributes: Attributes

    def __init__(
        self, api: Api, operation: Operation, change: Change, options: WriteOptions
    ) -> None:
        super().__init__(api, operation, options)
        self.key = operation.key
        self._change = change
        self._is_built_in = operation.resource.main.custom is None
        self._attempts = 0
        self._refusal: BaseException | None = None
        self.is_changed = True  # unlike the stored object

    @property
    def steps(self) -> Sequence[Step]:
        return _STEPS

    def failed(self, error: BaseException) -> Awaitable[object] | None:
        """Start again from the newest version if the object or a precondition changed meanwhile. An
        error is raised only after the version that caused it is committed."""
        is_refusal = isinstance(error, StatusError)
        if is_refusal:
            is_final = error is self._refusal or not commits.pending(self.collection, self.key)
        else:
            is_final = not isinstance(error, (Conflict, ConditionFailed))
        if is_final:
            return super().failed(error)
        self.context.roll_back()
        self._attempts += 1
        if self._attempts == commits.MAX_ATTEMPTS:
            raise modified(self.operation.ref) from None
        self.position = 0
        if not is_refusal:
            return NEXT_TURN
        self._refusal = error
        return retries.raise_if_committed(self.collection, self.key, error)

    def read(self) -> Awaitable[object] | None:
        operation = self.operation
        current = self.collection.latest(self.key)
        if current is None:
            raise absent(operation.ref)
        self.current, self.pending = current, None
        operation.note_stored_size(current)
        self.size = operation.size
        self.context = self.api.context(operation, self.options.dry_run)
        if self._is_built_in:
            self.old = current.object_to_write()
        elif is_served_as_stored(self.resource, current):
            self.old = current.object()
        else:
            return retries.read_requested(self)
        return None

    def change(self) -> Awaitable[object] | None:
        return self.offload(self._apply_change)

    def _apply_change(self) -> None:
        self.changed = self._change(self.old)

    def start(self) -> None:
        """Check the preconditions in the desired object, and restore what a client cannot
        change."""
        operation = self.operation
        metadata, old = self.changed.value["metadata"], self.old["metadata"]
        _check_version(self.api, operation, metadata, old, self.options.dry_run)
        if operation.refusal is not None:
            raise operation.refusal
        _carry_over(metadata, old)
        write_pipeline.drop_repeated_owners(operation, metadata)
        self.size = operation.size

    def fill(self) -> Awaitable[object] | None:
        return self.offload(self._fill)

    def _fill(self) -> None:
        """Fill in defaults and managedFields."""
        api, changed, resource = self.api, self.changed, self.resource
        if not changed.keeps_all:
            if not changed.keeps_content:
                fill_defaults(resource.main.stored_struct, changed.value)
            self.behaviour.fill_defaults(changed.value, self.context)
            write_pipeline.check_grown(self.operation, changed.value)
        entries = changed.entries
        if entries is None:
            entries = tracked(api, resource, self.old, changed.value, self.options)
        self._entries = entries

    def admit(self) -> Awaitable[object] | None:
        value = self.value = self.changed.value
        set_entries(value["metadata"], self._entries)
        self._attributes = write_pipeline.attributes(
            self.operation, UPDATE, value, self.old, self.context, options=self.options
        )
        return self.api.admission.admit(self._attributes)

    def complete(self) -> Awaitable[object] | None:
        """Set the fields that only the server sets, after mutating admission."""
        value, old, resource, behaviour = self.value, self.old, self.resource, self.behaviour
        subresource = resource.subresource
        if self._attributes.round:
            self._entries = write_pipeline.recheck_admitted(self.operation, value, self._entries)
            _carry_over(value["metadata"], old["metadata"])
        behaviour.disabled_fields.drop(value, old)
        if subresource and not resource.is_scale:
            behaviour.prepare_subresource_update(subresource, value, old, self.context)
        else:
            behaviour.prepare_update(value, old, self.context)
        share_equal(value, old, trusts_equality=is_typed(resource))
        set_entries(value["metadata"], self._entries)
        value = self.value = write_pipeline.ordered(value)
        verb = self.operation.verb
        permissions = behaviour.permissions(subresource, verb, value, old, self.context)
        return retries.find_lacking(self, permissions) if permissions else None

    def check(self) -> Awaitable[object] | None:
        return self.offload(self._check)

    def _check(self) -> None:
        write_pipeline.check_changed(self.api, self.resource, self.value, self.old, self.context)

    def validate(self) -> Awaitable[object] | None:
        self._attributes.value = self.value
        return self.api.admission.validate(self._attributes)

    def normalize(self) -> Awaitable[object] | None:
        self.behaviour.warnings(self.value, self.old, self.context)
        return self.offload(self._normalize)

    def _normalize(self) -> None:
        self.behaviour.normalize(self.value, self.operation.applies)

    def convert(self) -> Awaitable[object] | None:
        self.old["metadata"].pop("resourceVersion", None)
        if self.operation.applies:
            restore_times(self.value, self.old)
        self.stored = self.value
        return None if is_storage_version(self.resource) else retries.to_stored(self)

    def store(self) -> Awaitable[object] | None:
        """Store the object unless it is the same as before; remove it if that was the last
        finalizer."""
        value, old = self.value, self.old
        self.is_changed = not (value == old and equal(value, old))
        if self.options.dry_run:
            return retries.show_unstored(self)
        if not self.is_changed and is_unchanged(self.resource, self.current, self.stored):
            return retries.keep_or_store(self)
        return self.store_anyway()

    def store_anyway(self) -> Awaitable[object]:
        if write_pipeline.is_finished(self.api, self.resource, self.value):
            return retries.remove_finished(self)
        return self.send(self.key, self.stored, self.current)

    def show(self, value: Object) -> None:
        """Take an object that is not stored as the result."""
        version = write_pipeline.unstored_version(
            self.collection, self.key, value, self.current.revision, self.resource
        )
        self.operation.result = self.result = version

    def finish(self) -> Awaitable[object] | None:
        if self.pending is None:
            return None
        waiting = self.written(self.stored)
        if waiting is None and self.api.releases_addresses(self.resource):
            return commits.release_addresses(self.api, self.operation, self.current, self.stored)
        return waiting


_STEPS = (
    Update.read,
    Update.change,
    Update.start,
    Update.fill,
    Update.admit,
    Update.complete,
    Update.check,
    Update.validate,
    Update.normalize,
    Update.convert,
    Update.commit_companions,
    Update.store,
    Update.finish,
)


def _check_version(
    api: Api, operation: Operation, metadata: Object, old: Object, dry_run: bool
) -> None:
    """Optimistic concurrency: a resourceVersion or uid in the object is a precondition."""
    _check_uid(operation, metadata, old, dry_run)
    resource = operation.resource.main
    wanted, standing = metadata.get("resourceVersion", ""), old["resourceVersion"]
    if wanted in ("", "0"):
        # A patched document keeps the current resourceVersion unless the patch removes it.
        is_whole = operation.replaces or (operation.verb == "patch" and not operation.applies)
        if resource.conditional and is_whole and not operation.resource.is_scale:
            causes = new_causes(api.gates)
            shown, detail = GoValue("0x0", 0), "must be specified for an update"
            causes.invalid("metadata.resourceVersion", shown, detail)
            raise invalid(resource.ref(old["name"]), causes)
    elif wanted != standing and revision_of(wanted, "metadata.resourceVersion") != int(standing):
        raise modified(resource.ref(old["name"]))


def _check_uid(operation: Operation, metadata: Object, old: Object, dry_run: bool) -> None:
    uid = metadata.get("uid", "")
    if uid and uid != old["uid"] and operation.replaces:
        raise other_uid(operation, old["name"], uid, old["uid"], dry_run)


def other_uid(
    operation: Operation, name: str, wanted: str, stored: str, dry_run: bool
) -> StatusError:
    """The error for an object that has another uid than the request says."""
    resource, root = operation.resource.main, write_pipeline.key_prefix(dry_run)
    key = resource.storage_key(operation.namespace, name)
    return conflict(
        resource.ref(name),
        f"StorageError: invalid object, Code: 4, Key: {root}/{resource.storage_prefix}/{key},"
        f" ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in precondition:"
        f" {wanted}, UID in object meta: {stored}",
    )


def _carry_over(metadata: Object, old: Object) -> None:
    metadata["creationTimestamp"] = old["creationTimestamp"]
    for name in _CARRIED:
        if not metadata.get(name) and old.get(name) is not None:
            metadata[name] = old[name]
    generation = old.get("generation")
    if generation is not None:
        metadata["generation"] = generation
    else:
        metadata.pop("generation", None)


# PUT

# Returns the request body decoded in the version of the resource, a fresh copy on each call.
Sent = Callable[[], Object]


def update(api: Api, operation: Operation, sent: Sent, options: WriteOptions) -> Outcome[Version]:
    """Replace an object by the request body, or create it if the kind allows that."""
    operation.replaces = True
    change = Replacement(view_of(api, operation.resource), operation, sent, options)
    if api.collection(operation.resource).latest(operation.key) is None:
        return retries.create_or_change(
            api,
            operation,
            partial(_create_instead, api, operation, change, options),
            partial(store_changed, api, operation, change, options),
        )
    return store_changed(api, operation, change, options)


def _create_instead(
    api: Api, operation: Operation, replacement: Replacement, options: WriteOptions
) -> Outcome[Version]:
    resource, ref = operation.resource, operation.ref
    value = replacement.take()
    if not resource.is_scale:
        value = replacement.view.write({}, value)
    wanted = value["metadata"].pop("uid", "")
    # Earlier releases compare the uid before they see that the kind is not created by an update.
    is_compared = bool(wanted) and not api.gates["NotFoundBeforeUID"]
    if resource.parent is not None or not (resource.creates_on_update or is_compared):
        raise absent(ref)
    if wanted:
        raise other_uid(operation, ref.name, wanted, "", options.dry_run)
    value["metadata"].pop("resourceVersion", None)
    return create(api, operation, value, options)


class Replacement:
    """The change that a PUT makes, a `Change`."""

    def __init__(self, view: View, operation: Operation, sent: Sent, options: WriteOptions) -> None:
        self.view = view
        self._operation = operation
        self._sent = sent
        self._options = options
        self._value: Object | None = self.document()

    def document(self) -> Object:
        """The request body, for this object."""
        value = self._sent()
        write_pipeline.check_name(self._operation.name, value["metadata"])
        write_pipeline.set_namespace(self._operation, value["metadata"])
        return value

    def take(self) -> Object:
        """The request body, to be modified: decoded again if it was taken before."""
        value, self._value = self._value, None
        return self.document() if value is None else value

    def __call__(self, old: Object) -> Changed:
        wanted = self.take()
        if self._operation.resource.is_scale:  # the workload has a uid of its own
            _check_uid(self._operation, wanted["metadata"], old["metadata"], self._options.dry_run)
        return Changed(self.view.write(old, wanted))


# PATCH


def check_exists(api: Api, operation: Operation) -> Outcome[None]:
    """Raise NotFound before the body of a patch is parsed."""
    if api.collection(operation.resource).latest(operation.key) is not None:
        return None
    return retries.refuse_missing(api, operation)


def patch(api: Api, operation: Operation, read: Patch, options: WriteOptions) -> Outcome[Version]:
    view = view_of(api, operation.resource)
    return store_changed(
        api, operation, partial(_patched, api, operation, view, read, options), options
    )


def _patched(
    api: Api, operation: Operation, view: View, read: Patch, options: WriteOptions, old: Object
) -> Changed:
    value, keeps_content = apply_patch(api, operation, view, read, old, options)
    return Changed(value, keeps_content=keeps_content)
