"""An API without a server: the operations on a real store, nothing of HTTP."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from fairlead.admission.chain import Chain
from fairlead.admission.plugin import Plugin
from fairlead.admission.plugins.namespace_lifecycle import NamespaceLifecycle
from fairlead.auth.authentication.user import User
from fairlead.auth.authorization.chain import Authorizer
from fairlead.auth.authorization.modes import AlwaysAllow, AlwaysDeny
from fairlead.base.dialect import KUBERNETES
from fairlead.codec.types.builtin import BuiltinTypes
from fairlead.operations.api import Api
from fairlead.operations.client import Client, system_user
from fairlead.operations.operation import Operation
from fairlead.operations.options import WriteOptions
from fairlead.resources.gates import parse_gates
from fairlead.resources.registry import Resources
from fairlead.storage.sqlite.backend import SqliteBackend
from fairlead.storage.sqlite.format import OldNames
from fairlead.storage.sqlite.log import EmbeddedLog
from fairlead.storage.store import Store

Object = dict[str, Any]
Result = TypeVar("Result")

OPTIONS = WriteOptions(False, "tester", "Strict")
TESTER = User("tester", groups=("system:authenticated",))
CONFIG_MAPS = "core/v1/configmaps"
NAMESPACES = "core/v1/namespaces"


def on_api(
    directory: Path,
    work: Callable[[Api], Awaitable[Result]],
    plugins: Sequence[Plugin] = (),
    *,
    allowing: bool = True,
) -> Result:
    """Run `work` on an API that has the namespace `work`."""

    async def run() -> Result:
        backend = SqliteBackend(directory, KUBERNETES.name, OldNames({}, {}))
        store = Store(EmbeddedLog(backend))
        await store.open()
        try:
            api = Api(Resources(KUBERNETES, BuiltinTypes(KUBERNETES)), store, parse_gates(""))
            api.authorizer = Authorizer([AlwaysAllow() if allowing else AlwaysDeny()])
            lifecycle = NamespaceLifecycle(KUBERNETES, api.newest)
            api.admission = Chain([lifecycle, *plugins])
            await system(api).create(NAMESPACES, {"metadata": {"name": "work"}})
            return await work(api)
        finally:
            await store.close()

    return asyncio.run(run())


def system(api: Api) -> Client:
    return Client(api, system_user("tester"))


def operation(api: Api, verb: str, name: str = "", key: str = CONFIG_MAPS) -> Operation:
    return Operation(TESTER, verb, api.resources.named(key), "work", name)


def config_map(name: str, **data: str) -> Object:
    return {"metadata": {"name": name}, "data": data}
