"""What create, update and patch share on the way from a decoded object to the store."""

from __future__ import annotations

import os
import random

from fairlead.admission.chain import Attributes
from fairlead.endpoints.api import Api
from fairlead.endpoints.request import Request
from fairlead.errors import ResourceRef, bad_request, invalid
from fairlead.kinds.causes import Causes
from fairlead.kinds.conditions import check_condition_states
from fairlead.kinds.context import Context
from fairlead.kinds.metadata import check_metadata, check_metadata_update, check_names
from fairlead.kinds.resources import Resource
from fairlead.schema.defaults import fill_defaults
from fairlead.schema.model import Object as Object
from fairlead.schema.names import path_segment
from fairlead.schema.times import now
from fairlead.storage.collection import Collection
from fairlead.storage.entry import Entry, body_of, encode

_SUFFIX_LETTERS = "bcdfghjklmnpqrstvwxz2456789"
_LONGEST_STEM = 58
GENERATE_TRIES = 8


def generate_name(stem: str) -> str:
    """A stem, cut so that it fits, and five random characters."""
    return stem[:_LONGEST_STEM] + "".join(random.choices(_SUFFIX_LETTERS, k=5))


def set_namespace(request: Request, resource: Resource, metadata: Object) -> None:
    """The namespace is the URL's; a body may repeat it but not contradict it."""
    if not resource.namespaced:
        metadata.pop("namespace", None)
        return
    namespace = request.target.namespace
    given = metadata.get("namespace", "")
    if given and given != namespace:
        raise bad_request(
            "the namespace of the provided object does not match the namespace sent on the request"
        )
    if namespace:
        metadata["namespace"] = namespace


def drop_repeated_owners(request: Request, metadata: Object) -> None:
    """Owners are told apart by uid; a repeated one is dropped with a warning."""
    references = metadata.get("ownerReferences")
    if not references or len(references) < 2:
        return
    kept: dict[str, Object] = {}
    repeated: list[str] = []
    for reference in references:
        uid = reference["uid"]
        if uid in kept and kept[uid] == reference:
            repeated.append(uid)
        else:
            kept.setdefault(uid, reference)
    if repeated and len(kept) + len(repeated) == len(references):
        metadata["ownerReferences"] = list(kept.values())
        request.warn(
            ".metadata.ownerReferences contains duplicate entries; API server dedups owner"
            " references in 1.20+, and may reject such requests as early as 1.24; please fix your"
            f" requests; duplicate UID(s) observed: {', '.join(dict.fromkeys(repeated))}"
        )


def default(api: Api, resource: Resource, value: Object, context: Context) -> None:
    fill_defaults(resource.stored_struct, value)
    api.behaviour(resource).fill_defaults(value, context)


def new_uid() -> str:
    """A random (version 4) UUID; a tenth of the cost of `uuid.uuid4`."""
    digits = os.urandom(16).hex()
    variant = "89ab"[int(digits[16], 16) & 3]
    return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-{variant}{digits[17:20]}-{digits[20:]}"


def set_system_fields(metadata: Object) -> None:
    """What the server alone decides about a new object."""
    for name in ("deletionTimestamp", "deletionGracePeriodSeconds"):
        metadata.pop(name, None)
    metadata["uid"] = new_uid()
    metadata["creationTimestamp"] = now()


def check_new(api: Api, resource: Resource, value: Object, context: Context) -> None:
    """The rules of a new object: the kind's own, then those that hold for any name."""
    causes = Causes()
    behaviour = api.behaviour(resource)
    behaviour.check_create(value, causes, context)
    if not causes:
        check_names(value["metadata"], path_segment, causes)
    if causes:
        raise invalid(behaviour.error_ref(value["metadata"].get("name", "")), causes)


def check_changed(
    api: Api, resource: Resource, value: Object, old: Object, context: Context
) -> None:
    causes = Causes()
    behaviour = api.behaviour(resource)
    metadata, old_metadata = value["metadata"], old["metadata"]
    kept = resource.parent or resource
    check_metadata(metadata, kept.namespaced, path_segment, causes, qualified=False)
    check_metadata_update(metadata, old_metadata, causes, qualified=False)
    if resource.subresource and not resource.is_scale:
        behaviour.check_subresource_update(resource.subresource, value, old, causes, context)
        if resource.subresource == "status" and context.dialect.required_fields_refused:
            check_condition_states(value, causes)
    else:
        behaviour.check_update(value, old, causes, context)
    if causes:
        raise invalid(behaviour.error_ref(old_metadata["name"]), causes)


# The order in which metadata is shown. The resourceVersion, which is not stored here, goes before
# the generation.
_METADATA_ORDER = (
    *("name", "generateName", "namespace", "uid", "generation", "creationTimestamp"),
    *("deletionTimestamp", "deletionGracePeriodSeconds", "labels", "annotations"),
    *("ownerReferences", "finalizers", "managedFields"),
)


def ordered(value: Object) -> Object:
    """The object with its metadata first, in its order, and without what is not stored."""
    sent = value.pop("metadata")
    metadata = {name: sent[name] for name in _METADATA_ORDER if name in sent}
    return {"metadata": metadata, **value}


def attributes(
    api: Api,
    request: Request,
    operation: str,
    value: Object | None,
    old: Object | None,
    context: Context,
    name: str = "",
) -> Attributes:
    target = request.target
    assert target.resource is not None
    return Attributes(
        operation,
        target.resource,
        target.namespace,
        name or target.name,
        value,
        old,
        request.user,
        context,
    )


def unstored(collection: Collection, key: str, value: Object, revision: int) -> Entry:
    """An entry that was not written: what a dry run would have stored."""
    encoded = encode(value)
    body = body_of(encoded, revision) if revision else encoded[1:]
    return Entry(key, revision, body, None, collection.fields_of)


def uid_conflict_text(
    resource: Resource, namespace: str, ref: ResourceRef, wanted: str, found: str
) -> str:
    path = f"/registry/{resource.storage_prefix}/{resource.storage_key(namespace, ref.name)}"
    return (
        f"StorageError: invalid object, Code: 4, Key: {path}, ResourceVersion: 0,"
        f" AdditionalErrorMsg: Precondition failed: UID in precondition: {wanted},"
        f" UID in object meta: {found}"
    )
