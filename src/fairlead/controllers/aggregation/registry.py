"""Maps group versions to extension servers, by following commits of APIServices."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from fairlead.controllers.aggregation.extension import Extension, extension_of
from fairlead.controllers.namespace_remains import API_SERVICES as API_SERVICES
from fairlead.storage.version import Change

Object = dict[str, Any]


class Registration(NamedTuple):
    """A group version for discovery, with its priorities."""

    name: str
    group: str
    version: str
    group_priority: int
    version_priority: int


def registration_of(value: Object) -> Registration:
    """The registration in an APIService, local or remote."""
    spec = value.get("spec") or {}
    return Registration(
        value["metadata"]["name"],
        spec.get("group", ""),
        spec.get("version", ""),
        spec.get("groupPriorityMinimum", 0),
        spec.get("versionPriority", 0),
    )


class Extensions:
    """The APIServices with a service, by name and by group version, and the registrations of all.

    `generation` increases with every change; `listeners` are called after each change of an
    APIService with a service. Group versions for which `reserved` is true are always served
    locally: this server depends on its built-in kinds, and if APIServices were served elsewhere an
    error in them could not be corrected.
    """

    def __init__(self) -> None:
        self.reserved: Callable[[str, str], bool] = lambda group, version: False
        self.generation = 0
        self.listeners: list[Callable[[str], None]] = []  # called with the name
        self.registrations: dict[str, Registration] = {}  # by name
        self._by_name: dict[str, Extension] = {}
        self._by_version: dict[tuple[str, str], Extension] = {}

    def changed(self, change: Change) -> None:
        """Process a commit."""
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
        """The extension server of a group version; None if it is served locally."""
        return self._by_version.get((group, version))

    def of_service(self, namespace: str, name: str) -> Iterator[str]:
        """Names of the APIServices that use a service."""
        for extension in self._by_name.values():
            if extension.service_name == name and extension.service_namespace == namespace:
                yield extension.name
