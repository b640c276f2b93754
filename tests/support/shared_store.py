"""Servers on one store, each with its own cache, and a clock that tests move."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any
from unittest.mock import patch

from fairlead.admission.chain import Chain
from fairlead.admission.plugin import Plugin
from fairlead.auth.authorization.chain import Authorizer
from fairlead.auth.authorization.modes import AlwaysAllow
from fairlead.base import clock
from fairlead.base.dialect import KUBERNETES
from fairlead.codec.types.builtin import BuiltinTypes
from fairlead.operations.api import Api
from fairlead.resources.gates import parse_gates
from fairlead.resources.registry import Resources
from fairlead.storage.followed import FollowedLog
from fairlead.storage.store import Store
from support.api import NAMESPACES, system
from support.sources import MemorySource, Shared

TYPES = BuiltinTypes(KUBERNETES)


class Servers:
    """All that share a store."""

    def __init__(self, plugins: Sequence[Plugin] = ()) -> None:
        self.shared = Shared()
        self._plugins = plugins
        self._apis: list[Api] = []

    async def start(self) -> Api:
        store = Store(FollowedLog(MemorySource(self.shared)))
        await store.open()
        api = Api(Resources(KUBERNETES, TYPES), store, parse_gates(""))
        api.authorizer = Authorizer([AlwaysAllow()])
        api.admission = Chain(self._plugins)
        self._apis.append(api)
        return api

    async def close(self) -> None:
        self.shared.moving.set()
        for api in self._apis:
            await api.store.close()


def on_servers(
    work: Callable[[Servers, Api], Awaitable[None]],
    namespace: str,
    plugins: Sequence[Plugin] = (),
) -> None:
    """Run `work` with the first of the servers, in whose store there is one namespace. The steady
    clock stands still unless it is moved."""

    async def run() -> None:
        servers = Servers(plugins)
        try:
            first = await servers.start()
            await system(first).create(NAMESPACES, {"metadata": {"name": namespace}})
            await work(servers, first)
        finally:
            await servers.close()

    with still_clock():
        asyncio.run(run())


def still_clock() -> AbstractContextManager[Any]:
    return patch.multiple(clock, _ahead=0.0, _steadily_ahead=0.0, _machine_age=lambda: 1000.0)
