"""Who serves which version of a group: follows the commits of APIServices."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from fairlead.base.records import dataclass
from fairlead.controllers.aggregation.extension import Extension, extension_of
from fairlead.controllers.namespace_remains import API_SERVICES as API_SERVICES
from fairlead.storage.change import Change

Object = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Registration:
    """A version of a group that clients are told of, and where it stands among others."""

    name: str
    group: str
    version: str
    group_priority: int
    version_priority: int


def registration_of(value: Object) -> Registration:
    """What an APIService says, whoever serves it."""
    spec = value.get("spec") or {}
    return Registration(
        value["metadata"]["name"],
        spec.get("group", ""),
        spec.get("version", ""),
        spec.get("groupPriorityMinimum", 0),
        spec.get("versionPriority", 0),
    )


class Extensions:
    """The APIServices with a service, by name and by group and version, and what all of them
    register. `generation` counts changes; `listeners` are told of each change of one with a
    service, after it. A group and version that is `reserved` nobody else serves, whatever its
    APIService says: this server needs its own kinds, and without APIServices no mistake here could
    be put right."""

    def __init__(self) -> None:
        self.reserved: Callable[[str, str], bool] = lambda group, version: False
        self.generation = 0
        self.listeners: list[Callable[[str], None]] = []  # called with the name
        self.registrations: dict[str, Registration] = {}  # by name
        self._by_name: dict[str, Extension] = {}
        self._by_version: dict[tuple[str, str], Extension] = {}

    def changed(self, change: Change) -> None:
        """Take in a commit."""
        before = self._by_name.pop(change.key, None)
        if before is not None:
            self._by_version.pop(before.group_version, None)
        after = self._take(change)
        self.generation += 1
        if before is None and after is None:
            return
        for listener in self.listeners:
            listener(change.key)

    def _take(self, change: Change) -> Extension | None:
        if change.after is None:
            self.registrations.pop(change.key, None)
            return None
        value = change.after.object()
        self.registrations[change.key] = registration_of(value)
        after = extension_of(value)
        if after is not None and self.reserved(*after.group_version):
            return None
        if after is not None:
            self._by_name[after.name] = after
            self._by_version[after.group_version] = after
        return after

    def __iter__(self) -> Iterator[Extension]:
        yield from self._by_name.values()

    def __bool__(self) -> bool:
        return bool(self._by_name)

    def named(self, name: str) -> Extension | None:
        return self._by_name.get(name)

    def serving(self, group: str, version: str) -> Extension | None:
        """Who serves a version of a group, if it is not this server."""
        return self._by_version.get((group, version))

    def of_service(self, namespace: str, name: str) -> Iterator[str]:
        """The APIServices that a service stands behind."""
        for one in self._by_name.values():
            if one.service_name == name and one.service_namespace == namespace:
                yield one.name
