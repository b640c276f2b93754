"""The namespaces of the system are there: whoever deletes one gets a new one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from fairlead.base.dialect import Dialect
from fairlead.base.errors import StatusError
from fairlead.controllers.framework import Keys
from fairlead.controllers.namespaces import NAMESPACES
from fairlead.operations.client import Client
from fairlead.storage.change import Change


class SystemNamespaces:
    """Keys are their names."""

    name = "system-namespaces"
    workers = 1

    def __init__(self, objects: Client, dialect: Dialect) -> None:
        self._objects = objects
        self._names = dialect.system_namespaces

    def add_by(self, add: Callable[[str], None]) -> None:
        for name in self._names:
            add(name)

    def follows(self) -> Mapping[str, Keys]:
        return {NAMESPACES: self._gone}

    def _gone(self, change: Change) -> Iterable[str]:
        return (change.name,) if change.after is None and change.name in self._names else ()

    async def sync(self, key: str) -> None:
        if self._objects.find(NAMESPACES, "", key) is not None:
            return
        try:
            await self._objects.create(NAMESPACES, {"metadata": {"name": key}})
        except StatusError as error:
            if error.reason != "AlreadyExists":
                raise
