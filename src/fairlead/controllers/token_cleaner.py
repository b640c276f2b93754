"""Deletes bootstrap tokens when they expire."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import inf

from fairlead.auth.authentication.bootstrap_tokens import expiry
from fairlead.auth.authentication.service_accounts import SECRETS
from fairlead.base.clock import time
from fairlead.base.dialect import Dialect
from fairlead.controllers.framework import Keys
from fairlead.operations.client import Client
from fairlead.operations.options import DeleteOptions
from fairlead.storage.change import Change

_LONGEST_NAP = 24 * 3600.0


class TokenCleaner:
    """Keys are names of Secrets in the system namespace. A malformed expiration counts as
    expired."""

    name = "token-cleaner"
    workers = 1

    def __init__(self, objects: Client, dialect: Dialect) -> None:
        self._objects = objects
        self._namespace = dialect.system_namespace
        self._type = dialect.label("bootstrap.@/token")

    def follows(self) -> Mapping[str, Keys]:
        return {SECRETS: self._name_of_token}

    def _name_of_token(self, change: Change) -> Iterable[str]:
        if change.after is None or change.namespace != self._namespace:
            return ()
        return (change.name,) if change.after.fields.get("type") == self._type else ()

    async def sync(self, key: str) -> float | None:
        secret = self._objects.find(SECRETS, self._namespace, key)
        if secret is None or secret.get("type") != self._type:
            return None
        left = expiry(secret) - time()
        if left == inf:
            return None
        if left > 0:
            return min(left, _LONGEST_NAP)
        options = DeleteOptions(uid=secret["metadata"]["uid"])
        await self._objects.delete(SECRETS, self._namespace, key, options)
        return None
