"""The list of API groups for discovery: local and remote, by priority."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fairlead.controllers.aggregation.local import LocalVersions
from fairlead.controllers.aggregation.registry import Extensions, Registration
from fairlead.resources.custom.version_order import priority


class RegisteredGroups:
    """Includes local groups that are not registered yet, and registered groups that are
    unavailable, so that clients notice a server that is down."""

    def __init__(self, local: LocalVersions, extensions: Extensions) -> None:
        self._local = local
        self._extensions = extensions
        self._made: dict[str, list[str]] = {}
        self._made_at = (-1, -1)

    @property
    def generation(self) -> tuple[int, int]:
        """Changes with every change of the list."""
        return self._local.generation, self._extensions.generation

    def versions(self) -> Mapping[str, Sequence[str]]:
        """The versions of each named group; groups and versions in order of priority."""
        if self._made_at != self.generation:
            self._made_at = self.generation
            self._made = self._sorted()
        return self._made

    def _sorted(self) -> dict[str, list[str]]:
        registered = self._extensions.registrations
        every = {one.name: one for one in self._local} | registered
        groups: dict[str, list[Registration]] = {}
        for one in sorted(every.values(), key=self._place):
            if one.group:
                groups.setdefault(one.group, []).append(one)
        return {
            group: [one.version for one in sorted(versions, key=_place_in_group)]
            for group, versions in groups.items()
        }

    def _place(self, one: Registration) -> tuple[bool, int, str]:
        """Sort key: the group of APIServices first, then by priority and name."""
        return one.group != self._local.own_group, -one.group_priority, one.name


def _place_in_group(one: Registration) -> tuple[object, ...]:
    return (-one.version_priority, *priority(one.version))
