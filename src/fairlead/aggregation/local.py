"""What this server itself serves, as it registers it."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.resources import files

from fairlead.aggregation.registry import Registration
from fairlead.dialect import Dialect
from fairlead.kinds.resources import GroupVersion, Resources

# Of groups that definitions make: behind all others, and their versions by name alone.
_CUSTOM = (1000, 100)
# Of groups that are not registered, such as that of tests: in front of those.
_UNLISTED = (2000, 15)


def _read(dialect: Dialect, text: str) -> dict[tuple[str, str], tuple[int, int]]:
    """The priorities of a group and version, by both."""
    found = {}
    for line in text.splitlines():
        words = line.split()
        if not words or words[0] == "#":
            continue
        name, group_priority, *versions = words
        group = "" if name == "-" else dialect.group_name(name)
        for one in versions:
            version, _, priority = one.partition("=")
            found[group, version] = int(group_priority), int(priority)
    return found


def is_custom(found: GroupVersion) -> bool:
    """Whether nothing but definitions makes a version of a group be served."""
    return all(resource.custom is not None for resource in found.resources.values())


class LocalVersions:
    """The versions of groups that this server serves now."""

    def __init__(self, resources: Resources) -> None:
        self._resources = resources
        dialect = resources.dialect
        self.own_group = dialect.group_name("apiregistration.@")
        text = files(__package__).joinpath("priorities.table").read_text()
        self._priorities = _read(dialect, text)

    @property
    def generation(self) -> int:
        """Counts changes."""
        return self._resources.generation

    def __iter__(self) -> Iterator[Registration]:
        for found in self._resources.group_versions():
            yield self._registration(found)

    def _registration(self, found: GroupVersion) -> Registration:
        group, version = found.group, found.version
        known = self._priorities.get((group, version), _UNLISTED)
        priorities = _CUSTOM if is_custom(found) else known
        return Registration(f"{version}.{group}", group, version, *priorities)

    def registered(self, name: str) -> tuple[Registration, bool] | None:
        """What is registered under the name of an APIService, and whether a definition asks for
        it; the group of APIServices itself is not."""
        version, _, group = name.partition(".")
        found = self._resources.groups.get(group, {}).get(version)
        if found is None or group == self.own_group:
            return None
        custom = is_custom(found)
        if not custom and (group, version) not in self._priorities:
            return None
        return self._registration(found), custom

    def names(self) -> list[str]:
        """All that are registered."""
        return [one.name for one in self if self.registered(one.name) is not None]
