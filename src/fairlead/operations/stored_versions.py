"""Converts objects between the stored version and the version of an operation.

Built-in kinds are stored in one version of the same shape, so the stored bytes are served as they
are. Objects of a custom kind may be stored in another version or under an older schema: they are
converted to the version of the request when they leave the store, and to the storage version of the
definition when they enter it. Objects that need no conversion are passed through at no cost.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from fairlead.base import budget
from fairlead.base.slices import TimeSlices
from fairlead.codec.types.model import Object
from fairlead.fields.values import equal
from fairlead.resources.catalogue import custom_fields
from fairlead.resources.custom.definition import CustomKind
from fairlead.resources.registry import Resource
from fairlead.storage.audience import Event, event_type
from fairlead.storage.selection import Selection
from fairlead.storage.version import DELETED, Change, Version, body_of, encode, ordered


async def read_requested(resource: Resource, version: Version) -> Object:
    """A copy of a stored object, in the version of a resource."""
    return (await to_requested(resource, version)).object()


def is_served_as_stored(resource: Resource, version: Version) -> bool:
    """Whether a stored object needs no conversion to the version of a resource."""
    kind = resource.main.custom
    return kind is None or kind.keeps(version)


def is_storage_version(resource: Resource) -> bool:
    """Whether the version of a resource is the one in which its objects are stored."""
    kind = resource.main.custom
    return kind is None or kind.definition.storage is kind


async def to_requested(resource: Resource, version: Version) -> Version:
    """A stored object in the version of a resource."""
    kind = resource.main.custom
    if kind is None or kind.keeps(version):
        return version
    return (await _convert_all(kind, [version]))[0]


async def all_to_requested(resource: Resource, versions: list[Version]) -> list[Version]:
    """Stored objects in the version of a resource. Objects that a webhook has to convert are sent
    in one batch."""
    kind = resource.main.custom
    if kind is None or all(map(kind.keeps, versions)):
        return versions
    return await _convert_all(kind, versions)


def are_in_requested_version(resource: Resource, events: Sequence[Event]) -> bool:
    """Whether `events_to_requested` has nothing to convert."""
    kind = resource.main.custom
    return kind is None or all(kind.keeps(_content(*event)) for event in events)


async def events_to_requested(resource: Resource, events: Sequence[Event]) -> Sequence[Event]:
    """The events of a watch in the version of a resource."""
    kind = resource.main.custom
    if kind is None or are_in_requested_version(resource, events):
        return events
    versions = await _convert_all(kind, [_content(*event) for event in events])
    return [
        (type_, _with_content(type_, change, version))
        for (type_, change), version in zip(events, versions, strict=True)
    ]


async def select_requested(
    resource: Resource, events: Sequence[Event], selection: Selection
) -> list[Event]:
    """The events that a selection shows of the changes, in the version of a resource."""
    changes = [change for _, change in events]
    versions = [
        version for change in changes for version in (change.before, change.after) if version
    ]
    converted = iter(await all_to_requested(resource, versions))
    selected: list[Event] = []
    for change in changes:
        before = next(converted) if change.before else None
        after = next(converted) if change.after else None
        requested = Change(
            change.resource, change.key, change.revision, resource.api_version, before, after
        )
        type_ = event_type(requested, selection)
        if type_ is not None:
            selected.append((type_, requested))
    return selected


def _content(type_: str, change: Change) -> Version:
    content = change.before if type_ == DELETED else change.after
    assert content is not None
    return content


def _with_content(type_: str, change: Change, content: Version) -> Change:
    before, after = (content, None) if type_ == DELETED else (change.before, content)
    return Change(change.resource, change.key, change.revision, content.api_version, before, after)


async def to_storage_version(resource: Resource, value: Object) -> Object:
    """The object in its storage version. May modify the value."""
    kind = resource.main.custom
    if kind is None:
        return value
    while True:
        storage = kind.definition.storage
        if storage is kind:
            return value
        converted = value
        converter = kind.definition.converter
        if converter is not None:
            [converted] = await converter.convert([_typed(kind, value)], storage.api_version)
        if resource.main.custom is kind:
            return ordered(storage.repaired(converted))
        assert resource.main.custom is not None
        kind = resource.main.custom  # the definition changed meanwhile


async def as_read_back(resource: Resource, stored: Object) -> Object:
    """The object as a client would read it, from its storage version; for dry runs."""
    kind = resource.main.custom
    if kind is None or kind.definition.storage is kind:
        return stored
    storage, converter = kind.definition.storage, kind.definition.converter
    value = storage.repaired(stored)
    if converter is not None:
        [value] = await converter.convert([_typed(storage, value)], kind.api_version)
    return ordered(kind.pruned(value))


def is_unchanged(resource: Resource, current: Version, stored: Object) -> bool:
    """Whether storing an object whose served form is unchanged would change nothing in the
    store."""
    kind = resource.main.custom
    if kind is None or (kind is kind.definition.storage and kind.keeps(current)):
        return True
    if current.api_version != kind.definition.storage.api_version:
        return False
    old = current.object()
    old["metadata"].pop("resourceVersion", None)
    return old == stored and equal(old, stored)


def _typed(kind: CustomKind, value: Object) -> Object:
    return {"apiVersion": kind.api_version, "kind": kind.definition.kind, **value}


async def _convert_all(kind: CustomKind, versions: list[Version]) -> list[Version]:
    converted = {id(version): version for version in versions if kind.keeps(version)}
    converted.update(
        _cached(kind, (version for version in versions if id(version) not in converted))
    )
    todo = [version for version in versions if id(version) not in converted]
    slices = TimeSlices()
    values: list[Object] = []
    for version in todo:
        await slices.pause()
        values.append(await budget.run(_size(kind, version), _repaired, kind, version))
    converter = kind.definition.converter
    if converter is not None and values:
        values = await converter.convert(values, kind.api_version)
    for version, value in zip(todo, values, strict=True):
        await slices.pause()
        requested = await budget.run(_size(kind, version), _version, version, kind, value)
        converted[id(version)] = requested
        if converter is None:
            assert requested.body is not None
            kind.converted_bodies.keep(
                (version.key, version.revision), requested.body, len(requested.body)
            )
    return [converted[id(version)] for version in versions]


def _cached(kind: CustomKind, versions: Iterable[Version]) -> dict[int, Version]:
    versions_by_id = {}
    for version in versions:
        body = kind.converted_bodies.get((version.key, version.revision))
        if body is not None:
            versions_by_id[id(version)] = _with_body(version, kind, body)
    return versions_by_id


def _repaired(kind: CustomKind, version: Version) -> Object:
    """A stored object repaired by the current schema of its version, with kind and apiVersion.
    Unchanged if the definition no longer has that version."""
    value = version.object()
    stored = kind.definition.kinds.get(version.api_version)
    if stored is None:
        return {"apiVersion": version.api_version, "kind": kind.definition.kind, **value}
    return _typed(stored, stored.repaired(value))


def _size(kind: CustomKind, version: Version) -> int:
    return max(len(version.body or b""), kind.unread_bytes)


def _version(source: Version, kind: CustomKind, converted: Object) -> Version:
    value = kind.pruned(converted)
    value["metadata"].pop("resourceVersion", None)
    return _with_body(source, kind, body_of(encode(ordered(value)), source.revision))


def _with_body(source: Version, kind: CustomKind, body: bytes) -> Version:
    fields = custom_fields(kind.selectable)
    version = Version(source.key, source.revision, kind.api_version, body, fields)
    version.commit = source.commit
    return version
