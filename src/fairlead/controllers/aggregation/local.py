"""The group versions that this server registers for itself, and the list of all groups."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice

from fairlead.api.discovery import Elsewhere
from fairlead.base.dialect import Dialect
from fairlead.base.files import text_beside
from fairlead.controllers.aggregation.discovery import RemoteResources
from fairlead.controllers.aggregation.registry import Extensions, Registration
from fairlead.resources.custom.definition import priority
from fairlead.resources.registry import GroupVersion, Resources

# Priorities of custom groups: after all others; their versions are sorted by name.
_CUSTOM = (1000, 100)
# Priorities of unlisted groups, such as those of tests: before custom groups.
_UNLISTED = (2000, 15)
# Priorities of groups that an extension server may take over: those that it would register.
_REPLACEABLE = (100, 100)


def _read(dialect: Dialect, text: str) -> dict[tuple[str, str], tuple[int, int]]:
    """Parse the table: priorities by group and version."""
    priorities = {}
    for line in text.splitlines():
        words = line.split()
        if not words or words[0] == "#":
            continue
        name, group_priority, *versions = words
        group = "" if name == "-" else dialect.group_name(name)
        for group_version in versions:
            version, _, priority = group_version.partition("=")
            priorities[group, version] = int(group_priority), int(priority)
    return priorities


class LocalVersions:
    """The group versions that this server currently serves."""

    def __init__(self, resources: Resources) -> None:
        self._resources = resources
        dialect = resources.dialect
        self.own_group = dialect.group_name("apiregistration.@")
        text = text_beside(__file__, "priorities.table")
        self._priorities = _read(dialect, text)

    @property
    def generation(self) -> int:
        """Increases with every change."""
        return self._resources.generation

    def __iter__(self) -> Iterator[Registration]:
        for group_version in self._resources.group_versions():
            yield self._registration(group_version)

    def _registration(self, group_version: GroupVersion) -> Registration:
        group, version = group_version.group, group_version.version
        priorities = self._priorities.get((group, version))
        if group_version.is_replaceable:
            priorities = _REPLACEABLE
        elif priorities is None:
            priorities = _CUSTOM if _is_custom(group_version) else _UNLISTED
        return Registration(f"{version}.{group}", group, version, *priorities)

    def is_builtin(self, group: str, version: str) -> bool:
        """Whether this server serves a group version itself, and not for a
        CustomResourceDefinition."""
        served = self._resources.groups.get(group, {}).get(version)
        return served is not None and not served.is_replaceable and not _is_custom(served)

    def is_replaceable(self, name: str) -> bool:
        """Whether an extension server may take over the version of an APIService."""
        version, _, group = name.partition(".")
        served = self._resources.groups.get(group, {}).get(version)
        return served is not None and served.is_replaceable

    def registered(self, name: str) -> tuple[Registration, bool] | None:
        """The registration for the name of an APIService, and whether a definition caused it. None
        for the group of APIServices itself and for unserved versions."""
        version, _, group = name.partition(".")
        served = self._resources.groups.get(group, {}).get(version)
        if served is None:
            return None
        is_builtin = self._is_listed(served)
        if not is_builtin and not _is_custom(served):
            return None
        return self._registration(served), not is_builtin

    def builtin(self) -> list[str]:
        """Names of the APIServices of built-in group versions."""
        return [
            f"{group_version.version}.{group_version.group}"
            for group_version in self._resources.group_versions()
            if self._is_listed(group_version)
        ]

    def _is_listed(self, served: GroupVersion) -> bool:
        return served.is_replaceable or (served.group, served.version) in self._priorities

    def of_group(self, group: str) -> list[str]:
        """Names of the APIServices of a group's versions."""
        return [f"{version}.{group}" for version in self._resources.groups.get(group, ())]


def _is_custom(group_version: GroupVersion) -> bool:
    """Whether definitions brought a version. Checks only one of its resources, which may be
    thousands."""
    return all(
        resource.custom is not None for resource in islice(group_version.resources.values(), 1)
    )


# The list of API groups for discovery: local and remote, by priority.


class RegisteredGroups:
    """Includes local groups that are not registered yet, and registered groups that are
    unavailable, so that clients notice a server that is down."""

    def __init__(
        self, local: LocalVersions, extensions: Extensions, remote: RemoteResources
    ) -> None:
        self._local = local
        self._extensions = extensions
        self._remote = remote
        self._cached: dict[str, list[str]] = {}
        self._cached_generation = (-1, -1, -1)

    @property
    def generation(self) -> tuple[int, int, int]:
        """Changes with every change of the list or of the resources of another server."""
        return self._local.generation, self._extensions.generation, self._remote.generation

    def elsewhere(self, group: str, version: str) -> Elsewhere | None:
        return self._remote.find(group, version)

    def versions(self) -> Mapping[str, Sequence[str]]:
        """The versions of each named group; groups and versions in order of priority."""
        if self._cached_generation != self.generation:
            self._cached_generation = self.generation
            self._cached = self._sorted()
        return self._cached

    def _sorted(self) -> dict[str, list[str]]:
        registered = self._extensions.registrations
        registrations = {
            registration.name: registration for registration in self._local
        } | registered
        groups: dict[str, list[Registration]] = {}
        for registration in sorted(registrations.values(), key=self._group_order):
            if registration.group:
                groups.setdefault(registration.group, []).append(registration)
        return {
            group: [registration.version for registration in sorted(versions, key=_version_order)]
            for group, versions in groups.items()
        }

    def _group_order(self, registration: Registration) -> tuple[bool, int, str]:
        """Sort key: the group of APIServices first, then by priority and name."""
        return (
            registration.group != self._local.own_group,
            -registration.group_priority,
            registration.name,
        )


def _version_order(registration: Registration) -> tuple[object, ...]:
    return (-registration.version_priority, *priority(registration.version))
