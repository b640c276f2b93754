"""Codes and sessions of the console in the store that several servers share."""

from __future__ import annotations

import asyncio
from base64 import b64decode, b64encode
from collections.abc import Callable, Coroutine
from contextlib import suppress
from functools import partial
from typing import Any, TypeVar

from fairlead.auth.authentication.shared_secrets import Data, SharedSecrets
from fairlead.auth.authentication.token_methods import SecretsOf
from fairlead.base.errors import StatusError
from fairlead.operations.api import Api, Object
from fairlead.operations.client import Client
from fairlead.storage.backend import StorageError

_SECRETS = "core/v1/secrets"
_TYPE = "fairlead.dev/console"
_PURPOSE = "sessions of the console"
_TIMEOUT = 10.0

T = TypeVar("T")


def secrets_of_servers(api: Api, client: Client) -> SecretsOf:
    objects = SystemSecrets(api, client)
    return lambda kind, keys: SharedSecrets(kind, objects, partial(keys.derived, _PURPOSE))


class _Abandoned(Exception):
    """Raised in a change function to leave the object unchanged."""


class SystemSecrets:
    """Secrets of the system namespace. Methods that write block until the event loop has written:
    call them in other threads."""

    def __init__(self, api: Api, client: Client) -> None:
        self._api = api
        self._client = client
        self._namespace = api.dialect.system_namespace
        self._loop = asyncio.get_running_loop()

    def find(self, name: str) -> Data | None:
        value = self._client.find(_SECRETS, self._namespace, name)
        return _data(value) if value is not None else None

    def names(self, prefix: str) -> list[str]:
        listed = self._client.collection(_SECRETS).current(self._namespace)
        names = (version.key.rpartition("/")[2] for version in listed)
        return [name for name in names if name.startswith(prefix)]

    def create(self, name: str, data: Data) -> None:
        value = {
            "metadata": {"namespace": self._namespace, "name": name},
            "type": _TYPE,
            "data": _encoded(data),
        }
        self._run_on_loop(self._client.create(_SECRETS, value))

    def change(self, name: str, change: Callable[[Data], Data | None]) -> bool:
        def changed(current: Object) -> Object:
            data = change(_data(current))
            if data is None:
                raise _Abandoned
            return {**current, "data": _encoded(data)}

        async def write() -> bool:
            await self._api.store.catch_up()
            try:
                await self._client.change(_SECRETS, self._namespace, name, changed)
            except _Abandoned:
                return False
            except StatusError as error:
                if error.code != 404:
                    raise
                return False
            return True

        return self._run_on_loop(write())

    def delete(self, name: str) -> None:
        self._run_on_loop(self._client.delete(_SECRETS, self._namespace, name))

    async def catch_up(self) -> None:
        with suppress(StorageError):  # then `find` uses the writes that have arrived
            await self._api.store.catch_up()

    def _run_on_loop(self, work: Coroutine[Any, Any, T]) -> T:
        """Run work on the event loop; raises OSError if it fails."""
        try:
            return asyncio.run_coroutine_threadsafe(work, self._loop).result(_TIMEOUT)
        except (StatusError, StorageError) as error:
            raise OSError(0, str(error)) from None


def _encoded(data: Data) -> Object:
    return {name: b64encode(text.encode()).decode() for name, text in data.items()}


def _data(value: Object) -> Data:
    """The texts of a Secret, without values that are not text."""
    texts: dict[str, str] = {}
    for name, encoded in (value.get("data") or {}).items():
        with suppress(ValueError):
            texts[name] = b64decode(encoded).decode()
    return texts
