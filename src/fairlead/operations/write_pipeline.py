"""Steps that all writes share between the decoded object and the store."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from typing import Any, Final

from fairlead.admission.plugin import Attributes, Options
from fairlead.base import meter
from fairlead.base.errors import (
    ResourceRef,
    StatusError,
    TooManyCauses,
    bad_request,
    invalid,
    too_large,
)
from fairlead.codec.bodies import (
    MAX_DECODED_BYTES,
    MAX_GROWN_BYTES,
    MAX_STORED_BYTES,
    TooDeep,
    TooLarge,
    check_size,
)
from fairlead.codec.types.defaults import fill_defaults
from fairlead.codec.types.names import SUFFIX_LETTERS, path_segment
from fairlead.codec.types.required_fields import missing_paths
from fairlead.codec.types.times import new_uid, now
from fairlead.fields.entries import decoded
from fairlead.fields.field_sets import InvalidFields
from fairlead.operations.api import Api, Object
from fairlead.operations.operation import Operation
from fairlead.resources.causes import Causes, new_causes
from fairlead.resources.context import Context
from fairlead.resources.metadata import check_metadata, check_metadata_update
from fairlead.resources.registry import Resource
from fairlead.resources.rules import check_condition_states
from fairlead.storage.backend import Precondition
from fairlead.storage.collection import Collection
from fairlead.storage.version import Version, body_of, encode
from fairlead.storage.version import ordered as ordered
from fairlead.storage.writes import Companion, Pending

_LONGEST_STEM: Final = 58
GENERATE_TRIES: Final = 8


def generate_name(stem: str) -> str:
    """A stem, cut to fit, and five random characters."""
    return stem[:_LONGEST_STEM] + "".join(random.choices(SUFFIX_LETTERS, k=5))


def set_namespace(operation: Operation, metadata: Object) -> None:
    """Set the namespace of the operation on the object; raise BadRequest if the object names
    another."""
    if not operation.resource.namespaced:
        metadata.pop("namespace", None)
        return
    namespace = operation.namespace
    object_namespace = metadata.get("namespace", "")
    if object_namespace and object_namespace != namespace:
        raise bad_request(
            "the namespace of the provided object does not match the namespace sent on the request"
        )
    if namespace:
        metadata["namespace"] = namespace


def drop_repeated_owners(operation: Operation, metadata: Object, *, admitted: bool = False) -> None:
    """Drop owner references that equal an earlier reference in every field, and warn. Two that
    share only the uid both stay. The warning of a patch mentions admission: the reference checks
    patches only after it."""
    references = metadata.get("ownerReferences")
    if not references or len(references) < 2:
        return
    seen: set[tuple[tuple[str, Any], ...]] = set()
    owners: list[Object] = []
    repeated: list[str] = []
    for reference in references:
        content = tuple(sorted(reference.items()))
        if content in seen:
            repeated.append(reference["uid"])
        else:
            seen.add(content)
            owners.append(reference)
    if repeated:
        metadata["ownerReferences"] = owners
        suffix = (
            " after mutating admission happens" if admitted or operation.verb == "patch" else ""
        )
        operation.warn(
            f".metadata.ownerReferences contains duplicate entries{suffix}; API server dedups owner"
            " references in 1.20+, and may reject such requests as early as 1.24; please fix your"
            f" requests; duplicate UID(s) observed: {', '.join(repeated)}"
        )


def set_defaults(api: Api, resource: Resource, value: Object, context: Context) -> None:
    fill_defaults(resource.stored_struct, value)
    api.behaviour(resource).fill_defaults(value, context)


def check_grown(operation: Operation, value: Object) -> None:
    """Reject an object that its defaults made too large to be stored, before admission and
    validation visit every item."""
    if operation.size > meter.MAX_BYTES_ON_LOOP:
        sent = len(operation.sent) if isinstance(operation.sent, bytes) else 0
        _check_size(value, max(MAX_GROWN_BYTES, 2 * sent))


def drop_deletion(metadata: Object) -> None:
    """Remove deletion fields from a new object; clients cannot create objects in deletion."""
    for name in ("deletionTimestamp", "deletionGracePeriodSeconds"):
        metadata.pop(name, None)


def set_system_fields(metadata: Object) -> None:
    """Set the fields of a new object that only the server decides."""
    drop_deletion(metadata)
    metadata["uid"] = new_uid()
    metadata["creationTimestamp"] = now()


def check_new(api: Api, resource: Resource, value: Object, context: Context) -> None:
    """Validate a new object: first the kind's rules, then the rules of all metadata."""
    causes = new_causes(api.gates)
    behaviour = api.behaviour(resource)
    try:
        behaviour.check_create(value, causes, context)
        if not causes:
            metadata = value["metadata"]
            check_metadata(metadata, resource.namespaced, path_segment, causes, qualified=False)
    except TooManyCauses as error:
        causes = error.causes
    if causes:
        raise invalid(behaviour.error_ref(value["metadata"].get("name", "")), causes)


def check_changed(
    api: Api, resource: Resource, value: Object, old: Object, context: Context
) -> None:
    causes = new_causes(api.gates)
    behaviour = api.behaviour(resource)
    metadata, old_metadata = value["metadata"], old["metadata"]
    try:
        check_metadata(metadata, resource.namespaced, path_segment, causes, qualified=False)
        check_metadata_update(metadata, old_metadata, causes, qualified=False)
        if resource.subresource and not resource.is_scale:
            behaviour.check_subresource_update(resource.subresource, value, old, causes, context)
            if resource.subresource == "status" and _has_standard_conditions(resource, context):
                check_condition_states(value, causes)
        else:
            behaviour.check_update(value, old, causes, context)
    except TooManyCauses as error:
        causes = error.causes
    if causes:
        raise invalid(behaviour.error_ref(old_metadata["name"]), causes)


def _has_standard_conditions(resource: Resource, context: Context) -> bool:
    """Only built-in kinds: the schema of a custom kind defines its status."""
    return context.dialect.required_fields_refused and resource.main.custom is None


def attributes(
    operation: Operation,
    action: str,
    value: Object | None,
    old: Object | None,
    context: Context,
    name: str = "",
    options: Options | None = None,
) -> Attributes:
    """The write as admission sees it; `action` is CREATE, UPDATE, DELETE or CONNECT."""
    return Attributes(
        action,
        operation.resource,
        operation.namespace,
        name or operation.name,
        value,
        old,
        operation.user,
        context,
        options,
    )


def recheck_admitted(operation: Operation, value: Object, entries: list[Object]) -> list[Object]:
    """Re-check an object that mutating admission changed: namespace, owner references,
    managedFields. Returns its managedFields entries, or the previous ones if admission left invalid
    entries."""
    metadata = value["metadata"]
    set_namespace(operation, metadata)
    drop_repeated_owners(operation, metadata, admitted=True)
    admitted_entries = metadata.get("managedFields") or []
    if admitted_entries != entries:
        try:
            entries = decoded(admitted_entries)
        except InvalidFields as error:
            operation.warn(
                ".metadata.managedFields was in an invalid state after admission; this could be"
                " caused by an outdated mutating admission controller; please fix your requests:"
                f" {error}"
            )
        metadata["managedFields"] = entries
        if not entries:
            del metadata["managedFields"]
    return entries


def check_name(name: str, metadata: Object) -> None:
    """Raise BadRequest unless the name in the object equals the name in the URL."""
    name_in_object = metadata.get("name", "")
    if not name_in_object:
        raise bad_request(
            f"the name of the object ({name} based on URL) was undeterminable: name must be"
            " provided"
        )
    if name_in_object != name:
        raise bad_request(
            f"the name of the object ({name_in_object}) does not match the name on the URL ({name})"
        )


def is_finished(api: Api, resource: Resource, value: Object) -> bool:
    """Whether an object in deletion can be removed: no finalizers, no grace period, no hold."""
    metadata = value["metadata"]
    return (
        metadata.get("deletionTimestamp") is not None
        and not metadata.get("finalizers")
        and not metadata.get("deletionGracePeriodSeconds")
        and not api.behaviour(resource).holds_back(value)
    )


def check_decoded(value: Object) -> None:
    """Reject an object that grew too much in decoding, before validation visits every item. The
    store's own limit is lower and is checked at the write."""
    _check_size(value, MAX_DECODED_BYTES)


def _check_size(value: Object, limit: int) -> None:
    try:
        check_size(value, limit)
    except (TooLarge, TooDeep) as error:
        raise size_error(error, limit) from None


def size_error(error: TooLarge | TooDeep, limit: int = MAX_STORED_BYTES) -> StatusError:
    """The error for an object that a patch assembled from allowed parts and that exceeds a
    limit."""
    if isinstance(error, TooLarge):
        return too_large(limit)
    return bad_request(str(error))


def unstored_version(
    collection: Collection, key: str, value: Object, revision: int, resource: Resource
) -> Version:
    """A version that is not written: the result of a dry run or of a final removal, in the version
    of the resource."""
    try:
        encoded = encode(value)
    except (TooLarge, TooDeep) as error:
        raise size_error(error) from None
    body = body_of(encoded, revision) if revision else encoded[1:]
    custom = resource.main.custom
    api_version = custom.api_version if custom is not None else collection.api_version
    return Version(key, revision, api_version, body, collection.fields_of)


def key_prefix(dry_run: bool) -> str:
    """The prefix of keys in messages: the store adds `/registry`, and a dry run does not reach
    it."""
    return "" if dry_run else "/registry"


# The store


def send(
    api: Api,
    operation: Operation,
    collection: Collection,
    key: str,
    value: Object,
    over: Version | None,
    context: Context | None = None,
) -> Pending:
    """Send a prepared object to the store, with the preconditions and companion writes of its
    context. Raises Conflict and ConditionFailed; so may the commit."""
    check_fence()
    store = api.store_of(collection.resource)
    requires: Sequence[Precondition] = ()
    companions: Sequence[Companion] = ()
    if context is not None and store is api.store:
        requires, companions = context.requires, context.companions
    while True:
        try:
            return store.writes.put(collection, key, value, over, requires, companions)
        except (TooLarge, TooDeep) as error:
            if not _drop_managed_fields(operation, value, error):
                raise size_error(error) from None


def note_written(
    api: Api,
    operation: Operation,
    collection: Collection,
    version: Version,
    value: Object,
    context: Context | None = None,
) -> None:
    """Note who wrote a committed version and its companions."""
    operation.note_written(version, value)
    if api.store_of(collection.resource) is not api.store:
        return
    api.actors.note(version.revision, operation)
    if context is not None:
        for companion in context.companions:
            if companion.version is not None:
                api.actors.note(companion.version.revision, operation)


def _drop_managed_fields(operation: Operation, value: Object, error: TooLarge | TooDeep) -> bool:
    """Drop managedFields from an object that is too large. Returns whether to retry the write; an
    apply does not drop them."""
    if operation.applies or isinstance(error, TooDeep):
        return False
    return value["metadata"].pop("managedFields", None) is not None


# Fences: work that may write only while a condition holds, such as a lease.
#
# The fence is a context variable, so tasks inherit it from the task that started them. It is
# checked last, immediately before the write reaches the store: a write that was admitted earlier
# and comes too late is rejected.

# Returns whether the work may still write.
Fence = Callable[[], bool]

_fence: Final[ContextVar[Fence | None]] = ContextVar("fence", default=None)


def set_fence(fence: Fence) -> None:
    """Set the fence of this task and of every task it starts from now on."""
    _fence.set(fence)


def check_fence() -> None:
    """Raise ServiceUnavailable if the fence of this task is down."""
    fence = _fence.get()
    if fence is not None and not fence():
        raise StatusError(503, "ServiceUnavailable", "this server no longer leads")


# Errors and warnings about unknown, missing and duplicate fields

MAX_STRICT_ERRORS: Final = 100


def strict_errors(unknown: list[str], repeated: list[str]) -> list[str]:
    errors = [*repeated, *(f'unknown field "{path}"' for path in unknown)]
    return list(dict.fromkeys(errors))[:MAX_STRICT_ERRORS]


def warn_of(operation: Operation, errors: list[str], validation: str) -> None:
    if validation == "Warn":
        for text in errors:
            operation.warn(text)


def custom_type_error(resource: Resource, value: Object) -> StatusError | None:
    """The error for a custom object whose kind or apiVersion is not that of the resource."""
    causes = Causes()
    for field, expected in (("kind", resource.kind), ("apiVersion", resource.api_version)):
        actual = value.get(field) or ""
        if actual != expected:
            causes.invalid(field, actual, f"must be {expected}")
    if not causes:
        return None
    metadata = value.get("metadata")
    name = metadata.get("name") if isinstance(metadata, dict) else ""
    group = str(value.get("apiVersion") or "").rpartition("/")[0]
    return invalid(ResourceRef(group, value.get("kind") or "", str(name or "")), causes)


def check_required(resource: Resource, value: Object, *, in_message: bool = False) -> None:
    """Raise Invalid if required fields are missing from a body. Fields of `status` are required
    only where the status is written."""
    causes = Causes()
    writes_status = resource.subresource == "status"
    for path in missing_paths(resource.struct, value, in_message=in_message):
        if writes_status or not path.startswith("status."):
            causes.required(path)
    if causes:
        metadata = value.get("metadata") or {}
        raise invalid(resource.kind_ref(metadata.get("name") or ""), causes)
