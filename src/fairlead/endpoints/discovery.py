"""What is served: the documents under /api, /apis, /version and /."""

from __future__ import annotations

import re
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, Protocol

from fairlead import __version__
from fairlead.kinds.resources import GroupVersion, Resource, Resources

ADVERTISED = f"v1.25.9+fairlead.{__version__}"
_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64", "armv7l": "arm", "i686": "386"}


class Groups(Protocol):
    """The groups that clients are told of. `generation` is another one after each change."""

    @property
    def generation(self) -> Hashable: ...

    def versions(self) -> Mapping[str, Sequence[str]]:
        """The versions of each group that has a name, both in their order."""


class OwnGroups:
    """Nothing but what this server serves."""

    def __init__(self, resources: Resources) -> None:
        self._resources = resources

    @property
    def generation(self) -> Hashable:
        return self._resources.generation

    def versions(self) -> Mapping[str, Sequence[str]]:
        served = self._resources.groups.items()
        return {group: list(versions) for group, versions in served if group and versions}


def resource_list(resources: Resources, found: GroupVersion) -> dict[str, Any]:
    entries = []
    builtin = [one for one in found.resources.values() if one.custom is None]
    for resource in builtin:
        entries.append(_entry(resources, resource))
        entries += [_entry(resources, sub) for sub in resource.subresources.values()]
    entries.sort(key=lambda entry: str(entry["name"]))
    for name in sorted(set(found.resources) - {one.name for one in builtin}):
        custom = found.resources[name]
        entries.append(_entry(resources, custom))
        entries += [_entry(resources, sub) for sub in custom.subresources.values()]
    value: dict[str, Any] = {"kind": "APIResourceList"}
    if found.group:
        value["apiVersion"] = "v1"
    return {**value, "groupVersion": found.api_version, "resources": entries}


def _entry(resources: Resources, resource: Resource) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "name": resource.name,
        "singularName": resource.custom.definition.singular if resource.custom else "",
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
    if resource.parent is None and "list" in resource.verbs:
        entry["storageVersionHash"] = _storage_hash(resource)
    return entry


def _storage_hash(resource: Resource) -> str:
    """Changes when the stored version changes, and says nothing else."""
    from base64 import b64encode
    from hashlib import sha256

    stored, custom = resource.stored_version, resource.custom
    if custom is not None:
        stored = custom.definition.storage.api_version
    identity = f"{resource.group}/{stored}/{resource.kind}"
    return b64encode(sha256(identity.encode()).digest()[:8]).decode()


def _group(name: str, versions: Sequence[str]) -> dict[str, Any]:
    listed = [{"groupVersion": f"{name}/{one}", "version": one} for one in versions]
    return {"name": name, "versions": listed, "preferredVersion": listed[0]}


def group_list(groups: Groups) -> dict[str, Any]:
    listed = [_group(name, versions) for name, versions in groups.versions().items()]
    return {"kind": "APIGroupList", "apiVersion": "v1", "groups": listed}


def one_group(name: str, versions: Sequence[str]) -> dict[str, Any]:
    return {"kind": "APIGroup", "apiVersion": "v1", **_group(name, versions)}


def api_versions(resources: Resources, address: str) -> dict[str, Any]:
    return {
        "kind": "APIVersions",
        "versions": list(resources.groups.get("", {})),
        "serverAddressByClientCIDRs": [{"clientCIDR": "0.0.0.0/0", "serverAddress": address}],
    }


def version(advertised: str = ADVERTISED) -> dict[str, str]:
    """The release that clients are told: the API's, and ours as the build of it."""
    import platform
    import sys

    major, minor, *_ = advertised.removeprefix("v").split(".")
    machine = platform.machine().lower()
    return {
        "major": major,
        "minor": re.match(r"\d+", minor)[0],  # type: ignore[index]
        "gitVersion": advertised,
        "gitCommit": "",
        "gitTreeState": "clean",
        "buildDate": "",
        "goVersion": f"python{sys.version_info.major}.{sys.version_info.minor}",
        "compiler": platform.python_implementation().lower(),
        "platform": f"{sys.platform}/{_ARCHITECTURES.get(machine, machine)}",
    }


def paths(resources: Resources, groups: Groups, others: list[str]) -> dict[str, Any]:
    found = ["/api", "/apis", *others, *(f"/api/{name}" for name in resources.groups.get("", {}))]
    for name, versions in groups.versions().items():
        found += [f"/apis/{name}", *(f"/apis/{name}/{version}" for version in versions)]
    return {"paths": sorted(found)}
