"""The steps of creates and changes that never wait; `create` and `update` have the others."""

from __future__ import annotations

import re
from collections.abc import Callable

from fairlead.admission.plugin import UPDATE, Attributes
from fairlead.base.errors import StatusError, conflict, invalid, modified
from fairlead.operations import write_pipeline
from fairlead.operations.api import Api, Object
from fairlead.operations.managed_fields import set_entries, tracked
from fairlead.operations.operation import Operation
from fairlead.operations.options import WriteOptions, revision_of
from fairlead.resources.causes import GoValue, new_causes
from fairlead.resources.context import Context
from fairlead.resources.gated_fields import drop_disabled

# Metadata that an update may leave out and cannot change.
_CARRIED = ("uid", "deletionTimestamp", "deletionGracePeriodSeconds")
_VERSION = re.compile("[0-9]{1,18}")


# New objects


def start_new(operation: Operation, metadata: Object) -> int:
    """Drop from a new object what a client cannot set. Returns its resourceVersion, 0 if it is
    missing or not a number."""
    write_pipeline.set_namespace(operation, metadata)
    if operation.refusal is not None:
        raise operation.refusal
    version: str = metadata.pop("resourceVersion", None) or ""
    write_pipeline.drop_deletion(metadata)
    write_pipeline.drop_repeated_owners(operation, metadata)
    return int(version) if version and _VERSION.fullmatch(version) else 0


def fill_new(
    api: Api,
    operation: Operation,
    value: Object,
    options: WriteOptions,
    entries: list[Object] | None,
    context: Context,
) -> list[Object]:
    """Fill in defaults and managedFields of a new object before admission. Returns the
    managedFields entries."""
    write_pipeline.set_defaults(api, operation.resource, value, context)
    write_pipeline.check_grown(operation, value)
    if entries is None:
        entries = tracked(api, operation.resource, None, value, options)
    set_entries(value["metadata"], entries)
    return entries


def finish_new(
    api: Api, operation: Operation, value: Object, entries: list[Object], attributes: Attributes
) -> bool:
    """Set what only the server sets, after mutating admission. Returns whether the name was
    generated: plugins and webhooks see the missing name."""
    if attributes.round:
        write_pipeline.recheck_admitted(operation, value, entries)
    metadata = value["metadata"]
    is_generated = not metadata.get("name") and bool(metadata.get("generateName"))
    if is_generated:
        metadata["name"] = write_pipeline.generate_name(metadata["generateName"])
    attributes.name = metadata.get("name", "")
    write_pipeline.set_system_fields(metadata)
    behaviour = api.behaviour(operation.resource)
    if behaviour.disabled_fields:
        drop_disabled(behaviour.disabled_fields, value, None)
    behaviour.prepare_create(value, attributes.context)
    return is_generated


# Changes of existing objects


class Changed:
    """The desired object in the stored version, with its managedFields entries if computed
    already. An object with the content that it had `keeps` it, also where defaults are missing."""

    __slots__ = ("entries", "keeps", "value")

    def __init__(
        self, value: Object, entries: list[Object] | None = None, keeps: bool = False
    ) -> None:
        self.value = value
        self.entries = entries
        self.keeps = keeps


# Returns the desired object for the current one, which it must not modify.
Change = Callable[[Object], Changed]


def start_change(
    api: Api, operation: Operation, value: Object, old: Object, options: WriteOptions
) -> None:
    """Check the preconditions in the desired object, and restore what a client cannot change."""
    metadata = value["metadata"]
    _check_version(api, operation, metadata, old["metadata"], options.dry_run)
    if operation.refusal is not None:
        raise operation.refusal
    _carry_over(metadata, old["metadata"])
    write_pipeline.drop_repeated_owners(operation, metadata)


def fill_changed(
    api: Api,
    operation: Operation,
    changed: Changed,
    old: Object,
    options: WriteOptions,
    context: Context,
) -> list[Object]:
    """Fill in defaults; returns the managedFields entries after the write."""
    resource = operation.resource
    if not changed.keeps:
        write_pipeline.set_defaults(api, resource.main, changed.value, context)
        write_pipeline.check_grown(operation, changed.value)
    if changed.entries is not None:
        return changed.entries
    return tracked(api, resource, old, changed.value, options)


def change_attributes(
    operation: Operation,
    value: Object,
    entries: list[Object],
    old: Object,
    context: Context,
    options: WriteOptions,
) -> Attributes:
    """The change as admission sees it."""
    set_entries(value["metadata"], entries)
    return write_pipeline.attributes(operation, UPDATE, value, old, context, options=options)


def finish_change(
    api: Api,
    operation: Operation,
    value: Object,
    old: Object,
    entries: list[Object],
    attributes: Attributes,
) -> Object:
    """The object after mutating admission, with the fields that only the server sets."""
    resource = operation.resource
    if attributes.round:
        entries = write_pipeline.recheck_admitted(operation, value, entries)
        _carry_over(value["metadata"], old["metadata"])
    behaviour = api.behaviour(resource)
    if behaviour.disabled_fields:
        drop_disabled(behaviour.disabled_fields, value, old)
    if resource.subresource and not resource.is_scale:
        behaviour.prepare_subresource_update(resource.subresource, value, old, attributes.context)
    else:
        behaviour.prepare_update(value, old, attributes.context)
    set_entries(value["metadata"], entries)
    return write_pipeline.ordered(value)


def _check_version(
    api: Api, operation: Operation, metadata: Object, old: Object, dry_run: bool
) -> None:
    """Optimistic concurrency: a resourceVersion or uid in the object is a precondition."""
    check_uid(operation, metadata, old, dry_run)
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
    elif wanted != standing and _revision(wanted) != int(standing):
        raise modified(resource.ref(old["name"]))


def check_uid(operation: Operation, metadata: Object, old: Object, dry_run: bool) -> None:
    uid = metadata.get("uid", "")
    if uid and uid != old["uid"] and operation.replaces:
        raise other_uid(operation, old["name"], uid, old["uid"], dry_run)


def other_uid(
    operation: Operation, name: str, wanted: str, stored: str, dry_run: bool
) -> StatusError:
    resource, root = operation.resource.main, write_pipeline.key_prefix(dry_run)
    key = resource.storage_key(operation.namespace, name)
    return conflict(
        resource.ref(name),
        f"StorageError: invalid object, Code: 4, Key: {root}/{resource.storage_prefix}/{key},"
        f" ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in precondition:"
        f" {wanted}, UID in object meta: {stored}",
    )


def _revision(wanted: str) -> int:
    return revision_of(wanted, "metadata.resourceVersion")


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
