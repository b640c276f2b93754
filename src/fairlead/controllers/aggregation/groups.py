"""The groups that clients are told of: those of this server and those of others, by priority."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fairlead.controllers.aggregation.local import LocalVersions
from fairlead.controllers.aggregation.registry import Extensions, Registration
from fairlead.resources.custom.version_order import priority


class RegisteredGroups:
    """What is served is listed, registered or not yet; what is registered is listed, available or
    not: clients that cannot ask a server have to learn that it is missing."""

    def __init__(self, local: LocalVersions, extensions: Extensions) -> None:
        self._local = local
        self._extensions = extensions
        self._made: dict[str, list[str]] = {}
        self._made_at = (-1, -1)

    @property
    def generation(self) -> tuple[int, int]:
        """Another one after each change."""
        return self._local.generation, self._extensions.generation

    def versions(self) -> Mapping[str, Sequence[str]]:
        """The versions of each group that has a name, both in their order."""
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
        """What all the others are registered with comes first."""
        return one.group != self._local.own_group, -one.group_priority, one.name


def _place_in_group(one: Registration) -> tuple[object, ...]:
    return (-one.version_priority, *priority(one.version))
