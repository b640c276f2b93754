"""Discovery documents: /api, /apis, /version and /."""

from __future__ import annotations

import platform
import re
import sys
from base64 import b64encode
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from hashlib import sha1, sha256
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import fairlead
from fairlead import __version__
from fairlead.base.release import Release
from fairlead.codec.protobuf import to_message
from fairlead.codec.types.model import Field, ListOf, Presence, Scalar, Struct
from fairlead.codec.types.times import format_time
from fairlead.resources.registry import GroupVersion, Resource, Resources

_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64", "armv7l": "arm", "i686": "386"}


class Groups(Protocol):
    """The API groups in discovery. `generation` changes with each change of the groups."""

    @property
    def generation(self) -> Hashable: ...

    def versions(self) -> Mapping[str, Sequence[str]]:
        """The versions of each named group, groups and versions in display order."""

    def elsewhere(self, group: str, version: str) -> Elsewhere | None:
        """The resources of a version that another server serves; None if this one does."""


class Elsewhere(NamedTuple):
    """The entries of the APIResourceList of another server; `is_current` unless that server could
    not be reached the last time."""

    resources: Sequence[Mapping[str, Any]]
    is_current: bool


class OwnGroups:
    """The groups of this server alone, without aggregated ones."""

    def __init__(self, resources: Resources) -> None:
        self._resources = resources

    @property
    def generation(self) -> Hashable:
        return self._resources.generation

    def versions(self) -> Mapping[str, Sequence[str]]:
        served = self._resources.groups.items()
        return {group: list(versions) for group, versions in served if group and versions}

    def elsewhere(self, group: str, version: str) -> Elsewhere | None:
        return None


def resource_list(resources: Resources, group_version: GroupVersion) -> dict[str, Any]:
    entries = []
    builtin = [resource for resource in group_version.resources.values() if resource.custom is None]
    for resource in builtin:
        entries.append(_entry(resources, resource))
        entries += [_entry(resources, sub) for sub in resource.subresources.values()]
    entries.sort(key=lambda entry: str(entry["name"]))
    for name in sorted(set(group_version.resources) - {resource.name for resource in builtin}):
        custom = group_version.resources[name]
        entries.append(_entry(resources, custom))
        entries += [_entry(resources, sub) for sub in custom.subresources.values()]
    value: dict[str, Any] = {"kind": "APIResourceList"}
    if group_version.group:
        value["apiVersion"] = "v1"
    return {**value, "groupVersion": group_version.api_version, "resources": entries}


def _entry(resources: Resources, resource: Resource) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "name": resource.name,
        "singularName": _singular(resources, resource),
        "namespaced": resource.namespaced,
    }
    if resource.body_version != resource.group_version.table_name:
        group, _, version = resources.api_version_of(resource.body_version).rpartition("/")
        entry["group"], entry["version"] = group, version
    entry["kind"] = resource.kind
    entry["verbs"] = list(resource.listed_verbs)
    if resource.short_names:
        entry["shortNames"] = list(resource.short_names)
    if resource.categories:
        entry["categories"] = list(resource.categories)
    if resource.parent is None and "watch" in resource.verbs:  # only stored resources have it
        entry["storageVersionHash"] = _storage_hash(resources, resource)
    return entry


def _singular(resources: Resources, resource: Resource) -> str:
    if resource.custom is not None:
        return resource.custom.definition.singular
    has_singular = resources.release.minor >= 27 and resource.parent is None
    return resource.kind.lower() if has_singular else ""


def _storage_hash(resources: Resources, resource: Resource) -> str:
    """A hash of the group, version and kind in which objects are stored; changes when those
    change."""
    if (custom := resource.custom) is not None:
        api_version = custom.definition.storage.api_version
    else:
        api_version = resources.api_version_of(resource.stored_version)
    group, _, version = api_version.rpartition("/")
    identity = f"{group}/{version}/{resource.kind}"
    return b64encode(sha256(identity.encode()).digest()[:8]).decode()


def _group(name: str, versions: Sequence[str]) -> dict[str, Any]:
    version_entries = [
        {"groupVersion": f"{name}/{version}", "version": version} for version in versions
    ]
    return {"name": name, "versions": version_entries, "preferredVersion": version_entries[0]}


def group_list(groups: Groups) -> dict[str, Any]:
    entries = [_group(name, versions) for name, versions in groups.versions().items()]
    return {"kind": "APIGroupList", "apiVersion": "v1", "groups": entries}


def one_group(name: str, versions: Sequence[str]) -> dict[str, Any]:
    return {"kind": "APIGroup", "apiVersion": "v1", **_group(name, versions)}


def api_versions(resources: Resources, address: str) -> dict[str, Any]:
    return {
        "kind": "APIVersions",
        "versions": list(resources.groups.get("", {})),
        "serverAddressByClientCIDRs": [{"clientCIDR": "0.0.0.0/0", "serverAddress": address}],
    }


# Fields of the version document that not all releases have.
EMULATION = ("emulationMajor", "emulationMinor", "minCompatibilityMajor", "minCompatibilityMinor")


def version(release: Release, advertised: str) -> dict[str, str]:
    """The version document: the API release, with ours as its build. Clients expect a commit in
    hexadecimal, so the commit is a digest of our version. The build date is the modification time
    of the package."""
    major, minor, *_ = advertised.removeprefix("v").split(".")
    machine = platform.machine().lower()
    modified = Path(fairlead.__file__ or "").stat().st_mtime
    emulated = dict(
        zip(EMULATION, ("1", str(release.minor), "1", str(release.minor - 1)), strict=True)
    )
    return {
        "major": major,
        "minor": re.match(r"\d+", minor)[0],  # type: ignore[index]
        **(emulated if release.minor >= 33 else {}),
        "gitVersion": advertised,
        "gitCommit": sha1(f"fairlead {__version__}".encode(), usedforsecurity=False).hexdigest(),
        "gitTreeState": "clean",
        "buildDate": format_time(datetime.fromtimestamp(modified, UTC)),
        "goVersion": f"python{sys.version_info.major}.{sys.version_info.minor}",
        "compiler": platform.python_implementation().lower(),
        "platform": f"{sys.platform}/{_ARCHITECTURES.get(machine, machine)}",
    }


def paths(resources: Resources, groups: Groups, pages: list[str]) -> dict[str, Any]:
    result = ["/api", "/apis", *pages, *(f"/api/{name}" for name in resources.groups.get("", {}))]
    for name, versions in groups.versions().items():
        result += [f"/apis/{name}", *(f"/apis/{name}/{version}" for version in versions)]
    return {"paths": sorted(result)}


# Discovery documents in protobuf.

_RESOURCES = "APIResourceList"


class DiscoveryMessages:
    """Encodes APIVersions, APIGroup, APIGroupList and APIResourceList as protobuf."""

    def __init__(self, resources: Resources) -> None:
        self._types = resources.types.group_version("meta/v1")
        self._resource_list: Struct | None = None

    def encode(self, value: dict[str, Any]) -> bytes:
        kind = value["kind"]
        if kind != _RESOURCES:
            return to_message(self._types[kind], {"apiVersion": "v1", **value})
        if self._resource_list is None:
            self._resource_list = _with_verbs_message(self._types[kind])
        entries = [{**entry, "verbs": {"items": entry["verbs"]}} for entry in value["resources"]]
        return to_message(self._resource_list, {"apiVersion": "v1", **value, "resources": entries})


def _with_verbs_message(struct: Struct) -> Struct:
    """The type with `verbs` as a message: in protobuf, the verbs of a resource are a message that
    holds the list."""
    items = Field("items", ListOf(Scalar("string")), number=1)
    verbs = Struct("Verbs", struct.group_version, {"items": items})
    resources = struct.fields["resources"]
    assert isinstance(resources.type, ListOf)
    assert isinstance(resources.type.element, Struct)
    entry = resources.type.element
    number = entry.fields["verbs"].number
    fields = {**entry.fields, "verbs": Field("verbs", verbs, Presence.ALWAYS, number)}
    resource_field = replace(resources, type=ListOf(replace(entry, fields=fields)))
    return replace(struct, fields={**struct.fields, "resources": resource_field})
