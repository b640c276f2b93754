"""PUT of an item, and the way of any change to an object that exists."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from fairlead.admission.chain import UPDATE
from fairlead.endpoints import writing
from fairlead.endpoints.answers import Answer
from fairlead.endpoints.api import Api, Object
from fairlead.endpoints.create import store_new
from fairlead.endpoints.decoding import aside, body_format, check_kind, decode_object, parse_body
from fairlead.endpoints.parameters import WriteOptions, revision_of, write_options
from fairlead.endpoints.representing import item_answer
from fairlead.endpoints.request import Request
from fairlead.endpoints.subjects import subject_of
from fairlead.endpoints.tracking import set_entries, tracked
from fairlead.endpoints.writing import unstored
from fairlead.errors import Cause, ResourceRef, bad_request, conflict, invalid, modified, not_found
from fairlead.kinds.context import Context, rolled_back_on_failure
from fairlead.kinds.resources import Resource
from fairlead.storage.entry import Entry
from fairlead.storage.store import Conflict

# Metadata that an update may leave out and never changes.
_CARRIED = ("uid", "deletionTimestamp", "deletionGracePeriodSeconds")


@dataclass(slots=True)
class Changed:
    """A wanted object in the stored version, with its owners where those are known already."""

    value: Object
    entries: list[Object] | None = None


# Makes the wanted object from the current one, which it must not change.
Change = Callable[[Object], Changed]


async def update(api: Api, request: Request) -> Answer:
    target = request.target
    resource = target.resource
    assert resource is not None
    media_type = body_format(request, api.resources)
    raw = await request.body()
    options = write_options(api.dialect, request, "UpdateOptions")

    subject = subject_of(api, resource)
    kept = subject.kept

    def sent() -> Object:
        parsed, repeated = parse_body(raw, media_type, resource)
        check_kind(api.resources, resource, parsed)
        value = decode_object(request, resource, parsed, raw, options.validation, repeated)
        check_name(target.name, value["metadata"])
        writing.set_namespace(request, kept, value["metadata"])
        return value

    value: Object | None = await aside(raw, sent)
    assert value is not None
    key = kept.storage_key(target.namespace, target.name)
    if api.store.latest(api.collection(kept), key) is None:
        stored = value if resource.is_scale else subject.write({}, value)
        return await _create_instead(api, request, resource, stored, options)

    def change(old: Object) -> Changed:
        nonlocal value
        wanted, value = value, None
        if wanted is None:  # the object moved: start again from what was sent
            wanted = sent()
        return Changed(subject.write(old, wanted))

    entry = await store_changed(api, request, resource, change, options)
    return subject.answer(request, entry)


async def _create_instead(
    api: Api, request: Request, resource: Resource, value: Object, options: WriteOptions
) -> Answer:
    ref = ResourceRef(resource.group, (resource.parent or resource).name, request.target.name)
    wanted = value["metadata"].pop("uid", "")
    if resource.parent is not None or not (resource.creates_on_update or wanted):
        raise not_found(ref)
    if wanted:
        raise conflict(
            ref, writing.uid_conflict_text(resource, request.target.namespace, ref, wanted, "")
        )
    await api.authorize_create(request)
    value["metadata"].pop("resourceVersion", None)
    entry = await store_new(api, request, resource, value, options)
    return item_answer(api.resources, request, resource, entry, 201)


def check_name(name: str, metadata: Object) -> None:
    given = metadata.get("name", "")
    if not given:
        raise bad_request(
            f"the name of the object ({name} based on URL) was undeterminable: name must be"
            " provided"
        )
    if given != name:
        raise bad_request(
            f"the name of the object ({given}) does not match the name on the URL ({name})"
        )


async def store_changed(
    api: Api, request: Request, resource: Resource, change: Change, options: WriteOptions
) -> Entry:
    """Take a change through defaulting, admission and the kind's rules into the store. Works on
    the newest version, one that is still being committed included, and starts again if the object
    moves meanwhile."""
    target = request.target
    kept = resource.parent or resource
    collection = api.collection(kept)
    key = kept.storage_key(target.namespace, target.name)
    while True:
        current = api.store.latest(collection, key)
        if current is None:
            raise not_found(ResourceRef(kept.group, kept.name, target.name))
        old = current.object()
        changed = change(old)
        if changed.value is old:
            await api.store.settled(current)
            return current
        context = api.context(request, options.dry_run)
        with rolled_back_on_failure(context):
            new = await _prepared(api, request, resource, changed, old, options, context)
            old["metadata"].pop("resourceVersion", None)
            if options.dry_run or new == old:
                context.roll_back()
                await api.store.settled(current)
                return current if new == old else unstored(collection, key, new, current.revision)
            try:
                if is_finished(new):
                    await api.store.delete(collection, key, current.revision)
                    return unstored(collection, key, new, current.revision)
                return await api.store.put(collection, key, new, current.revision)
            except Conflict:
                context.roll_back()


async def _prepared(
    api: Api,
    request: Request,
    resource: Resource,
    changed: Changed,
    old: Object,
    options: WriteOptions,
    context: Context,
) -> Object:
    kept = resource.parent or resource
    value = changed.value
    behaviour = api.behaviour(resource)
    _check_version(kept, request, value["metadata"], old["metadata"])
    carry_over(value["metadata"], old["metadata"])
    writing.drop_repeated_owners(request, value["metadata"])
    writing.default(api, kept, value, context)
    entries = changed.entries
    if entries is None:
        entries = tracked(api, resource, old, value, options)
    if resource.subresource and not resource.is_scale:
        behaviour.prepare_subresource_update(resource.subresource, value, old, context)
    else:
        behaviour.prepare_update(value, old, context)
    set_entries(value["metadata"], entries)
    attributes = writing.attributes(api, request, UPDATE, value, old, context)
    await api.admission.admit(attributes)
    new = writing.ordered(value)
    writing.check_changed(api, resource, new, old, context)
    attributes.value = new
    await api.admission.validate(attributes)
    behaviour.warnings(new, old, context)
    behaviour.settle(new)
    return new


def _check_version(resource: Resource, request: Request, metadata: Object, old: Object) -> None:
    """Optimistic concurrency: a write that names a version or an identity is meant for it only."""
    ref = resource.ref(old["name"])
    wanted = metadata.get("resourceVersion", "")
    if wanted not in ("", "0"):
        if revision_of(wanted, "metadata.resourceVersion") != int(old["resourceVersion"]):
            raise modified(ref)
    elif resource.conditional and request.method == "PUT":
        cause = Cause(
            "FieldValueInvalid",
            "Invalid value: 0x0: must be specified for an update",
            "metadata.resourceVersion",
        )
        raise invalid(ref, [cause])
    uid = metadata.get("uid", "")
    if uid and uid != old["uid"] and request.method == "PUT":
        namespace = request.target.namespace
        text = writing.uid_conflict_text(resource, namespace, ref, uid, old["uid"])
        raise conflict(ref, text)


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


def is_finished(value: Object) -> bool:
    """Whether an object that is being deleted has nothing left to wait for."""
    metadata = value["metadata"]
    return (
        metadata.get("deletionTimestamp") is not None
        and not metadata.get("finalizers")
        and not metadata.get("deletionGracePeriodSeconds")
        and not (value.get("spec") or {}).get("finalizers")
    )
