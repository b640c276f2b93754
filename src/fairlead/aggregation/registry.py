"""Which versions of groups others serve: follows the commits of APIServices."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from fairlead.aggregation.extension import Extension, extension_of
from fairlead.storage.change import Change

API_SERVICES = "apiregistration/v1/apiservices"


class Extensions:
    """The APIServices with a service, by name and by group and version. `generation` counts
    changes; `listeners` are told of each one after it."""

    def __init__(self) -> None:
        self.generation = 0
        self.listeners: list[Callable[[str], None]] = []  # called with the name
        self._by_name: dict[str, Extension] = {}
        self._by_version: dict[tuple[str, str], Extension] = {}

    def changed(self, change: Change) -> None:
        """Take in a commit."""
        before = self._by_name.pop(change.key, None)
        if before is not None:
            del self._by_version[before.group_version]
        after = extension_of(change.after.object()) if change.after is not None else None
        if after is not None:
            self._by_name[after.name] = after
            self._by_version[after.group_version] = after
        if before is None and after is None:
            return
        self.generation += 1
        for listener in self.listeners:
            listener(change.key)

    def __iter__(self) -> Iterator[Extension]:
        yield from self._by_name.values()

    def __bool__(self) -> bool:
        return bool(self._by_name)

    def named(self, name: str) -> Extension | None:
        return self._by_name.get(name)

    def serving(self, group: str, version: str) -> Extension | None:
        """Who serves a version of a group, if it is not this server."""
        return self._by_version.get((group, version))
