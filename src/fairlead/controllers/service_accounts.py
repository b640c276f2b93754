"""Every namespace has the service account `default`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from fairlead.auth.authentication.service_accounts import ACCOUNTS
from fairlead.base.errors import StatusError
from fairlead.controllers.framework import Keys
from fairlead.controllers.namespaces import NAMESPACES, is_alive, name_of
from fairlead.operations.client import Client
from fairlead.storage.change import Change

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
