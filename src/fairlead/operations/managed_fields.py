"""Maintaining `metadata.managedFields` in the write pipeline."""

from __future__ import annotations

from typing import Final, ParamSpec, TypeVar

from fairlead.codec.types.decode import decoder
from fairlead.codec.types.model import Struct
from fairlead.codec.types.times import now
from fairlead.fields.entries import (
    ManagedEntry,
    OneVersion,
    Versions,
    differ_in_times_only,
    entries_of,
    fields_of,
    identity_of,
    ordered,
)
from fairlead.fields.field_sets import EMPTY, FieldSet, Path, contains, of
from fairlead.fields.ownership import track_update
from fairlead.fields.shapes import shape_of
from fairlead.fields.values import copied, equal
from fairlead.operations.api import Api, Object
from fairlead.operations.options import WriteOptions
from fairlead.operations.views import typed
from fairlead.resources.custom.ownership import CustomVersions
from fairlead.resources.registry import Resource, from_stored, to_stored

P = ParamSpec("P")
T = TypeVar("T")

_STATUS: Final[FieldSet] = of(("f:status",))
_BUT_STATUS: Final[FieldSet] = of(("f:spec",))
_STATUS_ALONE: Final[FieldSet] = of(("f:spec",), ("f:metadata",))
# Fields that a request cannot write, where they differ from the rule in `ignored_fields`.
_IGNORED: Final[dict[str, FieldSet]] = {
    "apiservices/status": _STATUS_ALONE,
    "certificatesigningrequests": of(("f:spec",), ("f:status",)),
    "certificatesigningrequests/approval": of(("f:spec",), ("f:status", "f:certificate")),
    "certificatesigningrequests/status": of(("f:spec",), ("f:status", "f:conditions")),
    "customresourcedefinitions/status": _STATUS_ALONE,
    "deployments/status": of(("f:spec",), ("f:metadata", "f:labels")),
    "flowschemas/status": _STATUS_ALONE,
    "pods/status": of(
        ("f:spec",), ("f:metadata", "f:deletionTimestamp"), ("f:metadata", "f:ownerReferences")
    ),
    "prioritylevelconfigurations/status": _STATUS_ALONE,
    "volumeattachments/status": _STATUS_ALONE,
}


class ServedVersions:
    """The served versions of a resource, relative to the version of a request."""

    are_fixed: Final = True

    def __init__(self, resource: Resource, resources: dict[str, Resource]) -> None:
        self._resource = resource
        self._resources = resources

    def struct(self, api_version: str) -> Struct | None:
        resource = self._resources.get(api_version)
        return resource.struct if resource is not None else None

    def convert(self, value: Object, api_version: str) -> Object:
        """Convert an object; without an apiVersion it is in the version of the request."""
        source = value.get("apiVersion") or self._resource.api_version
        if api_version == source:
            return value
        content = {name: item for name, item in value.items() if name not in ("kind", "apiVersion")}
        stored = to_stored(self._resources[source], copied(content))
        converted = from_stored(self._resources[api_version], stored)
        return (
            typed(self._resources[api_version], converted) if "apiVersion" in value else converted
        )


def is_typed(resource: Resource) -> bool:
    """Whether the objects of a resource hold nothing that its type does not describe."""
    return resource.main.custom is None and not shape_of(resource.main.stored_struct).free


def versions_of(api: Api, resource: Resource) -> Versions:
    """The versions in which managedFields entries of a resource can be interpreted; cached."""
    versions: Versions | None = api.versions.get(resource.key)
    if versions is None:
        versions = api.versions[resource.key] = _versions(api, resource)
    return versions


def _versions(api: Api, resource: Resource) -> Versions:
    if resource.custom is not None and len(resource.custom.definition.kinds) > 1:
        return CustomVersions(resource.custom)
    served = {
        group_version.resources[resource.name].api_version: group_version.resources[resource.name]
        for group_version in api.resources.groups.get(resource.group, {}).values()
        if resource.name in group_version.resources
    }
    stored = api.in_stored_version(resource)
    served.setdefault(stored.api_version, stored)
    if len(served) == 1:
        is_built_in = resource.main.custom is None
        return OneVersion(resource.api_version, resource.struct, are_fixed=is_built_in)
    return ServedVersions(resource, served)


def ignored_fields(resource: Resource) -> FieldSet:
    """Fields that a request cannot write: `status` on the main resource, everything else on the
    status subresource."""
    if resource.main.custom is None and resource.name in _IGNORED:
        return _IGNORED[resource.name]
    if resource.subresource == "status":
        return _BUT_STATUS
    if resource.is_scale:
        return EMPTY
    return _STATUS if "status" in resource.main.subresources else EMPTY


def tracked(
    api: Api,
    resource: Resource,
    live: Object | None,
    new: Object,
    options: WriteOptions,
) -> list[ManagedEntry]:
    """The entries after a write other than apply; both objects are in the stored version."""
    scaled = live if resource.is_scale else None
    if scaled is not None and (api.dialect.scale_untracked or not owns_replicas(resource, scaled)):
        return entries_of(scaled)
    main = resource.main
    if not main.sends_stored_bytes:
        live = from_stored(main, copied(live)) if live is not None else None
        new = from_stored(main, copied(new))
    entries = track_update(
        versions_of(api, main),
        live,
        new,
        manager=options.manager,
        api_version=main.api_version,
        now=now(),
        dialect=api.dialect,
        subresource=resource.subresource,
        ignored=ignored_fields(resource),
        merges_duplicates=api.gates["ApplyToDuplicates"],
    )
    return entries if scaled is None else without_new_times(entries, scaled)


def replicas_path(resource: Resource) -> Path:
    """The path of the replicas in the object behind a scale."""
    custom = resource.main.custom
    if custom is None or custom.scale is None:
        return "f:spec", "f:replicas"
    return tuple(f"f:{step}" for step in custom.scale.spec)


def owns_replicas(resource: Resource, live: Object) -> bool:
    """Whether any manager owns the replicas. If not, the scale has no entries, like an object that
    is not tracked."""
    path = replicas_path(resource)
    return any(contains(fields_of(entry), path) for entry in entries_of(live))


def without_new_times(entries: list[ManagedEntry], live: Object) -> list[ManagedEntry]:
    """The entries after a write to a scale: new entries have no time, existing ones keep their
    previous time."""
    old_entries = {identity_of(entry): entry.get("time") for entry in entries_of(live)}
    return ordered(_with_time(entry, old_entries.get(identity_of(entry))) for entry in entries)


def _with_time(entry: ManagedEntry, time: str | None) -> ManagedEntry:
    if entry.get("time") == time:
        return entry
    result = {name: item for name, item in entry.items() if name != "time"}
    return result if time is None else {**result, "time": time}


def tracked_unstored(
    api: Api, resource: Resource, value: Object, options: WriteOptions
) -> list[ManagedEntry]:
    """The entries of an object that is returned and not stored. Uses the type of the request body:
    the body of a subresource is not of the main resource's kind."""
    api_version = api.resources.api_version_of(resource.body_version)
    return track_update(
        OneVersion(api_version, resource.struct),
        None,
        value,
        manager=options.manager,
        api_version=api_version,
        now=now(),
        dialect=api.dialect,
        subresource=resource.subresource,
    )


_NOT_CONTENT: Final[tuple[str, ...]] = ("kind", "apiVersion", "metadata")


def decode_beside(
    main: Resource, struct: Struct, document: Object, stored: Object, unknown: list[str]
) -> tuple[Object, bool]:
    """Decode a document that was derived from a stored object. Parts that are the identical Python
    object (its spec, its managedFields) were decoded before: they are copied or reused. Also
    returns whether that are all fields but the metadata."""
    is_stored_form = struct is main.stored_struct and main.custom is None
    unchanged = _unchanged(document, stored) if is_stored_form else []
    changed = {name: item for name, item in document.items() if name not in unchanged}
    metadata, entries = document.get("metadata"), entries_of(stored)
    if isinstance(metadata, dict) and metadata.get("managedFields") is entries:
        changed["metadata"] = {n: item for n, item in metadata.items() if n != "managedFields"}
    value: Object = decoder(struct)(changed, unknown)
    if changed.get("metadata") is not metadata:
        value["metadata"]["managedFields"] = entries
    if unchanged:
        value.update((name, copied(document[name])) for name in unchanged)
        names = dict.fromkeys((*document, *value))
        value = {name: value[name] for name in names if name in value}
    content = len(stored) - len([name for name in _NOT_CONTENT if name in stored])
    return value, len(unchanged) == len(value) - 1 == content


def _unchanged(document: Object, stored: Object) -> list[str]:
    return [
        name
        for name, item in document.items()
        if item is stored.get(name) and item and name != "metadata"
    ]


def set_entries(metadata: Object, entries: list[ManagedEntry]) -> None:
    if entries:
        metadata["managedFields"] = entries
    else:
        metadata.pop("managedFields", None)


def restore_times(new: Object, old: Object) -> None:
    """Take the entries of the old object if nothing but their times differs, so that an apply that
    changes nothing is not written. The merge replaces atomic structs of the object by those of the
    configuration, which lack their defaults; only the defaulted object shows that nothing changed.
    """
    old_entries = entries_of(old)
    if not differ_in_times_only(entries_of(new), old_entries):
        return
    candidate = {**new, "metadata": {**new["metadata"], "managedFields": old_entries}}
    if candidate == old and equal(candidate, old):
        set_entries(new["metadata"], old_entries)
