"""Creates the service account `default` in every namespace, and the system namespaces."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from fairlead.auth.authentication.service_accounts import ACCOUNTS
from fairlead.base.dialect import Dialect
from fairlead.base.errors import StatusError
from fairlead.controllers.framework import Keys
from fairlead.controllers.namespace_deletion import NAMESPACES, is_alive, name_of
from fairlead.operations.client import Client
from fairlead.storage.version import Change

DEFAULT = "default"


class DefaultServiceAccounts:
    """Keys are namespaces."""

    name = "service-account-controller"
    workers = 2

    def __init__(self, objects: Client) -> None:
        self._objects = objects

    def follows(self) -> Mapping[str, Keys]:
        return {NAMESPACES: name_of, ACCOUNTS: _namespace_of_lost}

    async def sync(self, key: str) -> None:
        objects = self._objects
        if not is_alive(objects.find(NAMESPACES, "", key)):
            return
        if objects.find(ACCOUNTS, key, DEFAULT) is not None:
            return
        try:
            await objects.create(ACCOUNTS, {"metadata": {"name": DEFAULT, "namespace": key}})
        except StatusError as error:
            if error.reason not in ("AlreadyExists", "NotFound"):
                raise


def _namespace_of_lost(change: Change) -> Iterable[str]:
    return (change.namespace,) if change.deleted and change.name == DEFAULT else ()


# System namespaces: created at start and again after a delete.


class SystemNamespaces:
    """Keys are names of system namespaces."""

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
