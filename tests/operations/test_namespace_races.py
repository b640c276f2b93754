"""The namespace controller and concurrent changes of the namespace."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from support.api import CONFIG_MAPS, NAMESPACES, Object, on_api, system

from fairlead.admission.plugin import Attributes, PluginBase
from fairlead.base.errors import StatusError, forbidden
from fairlead.controllers.namespace_deletion import NamespaceDeletion
from fairlead.controllers.namespace_remains import Remains
from fairlead.operations.api import Api
from fairlead.operations.client import Client, system_user
from fairlead.operations.options import DeleteOptions


class Late(Client):
    """A client that makes another change before each of its changes."""

    meanwhile: Callable[[], Awaitable[None]] | None = None

    async def change(self, *given: Any, **named: Any) -> Object:
        meanwhile, self.meanwhile = self.meanwhile, None
        if meanwhile is not None:
            await meanwhile()
        return await super().change(*given, **named)


async def nothing_elsewhere(namespace: str, remains: Remains) -> None:
    pass


def emptying(api: Api) -> tuple[NamespaceDeletion, Late]:
    client = Late(api, system_user("emptier"))
    controller = NamespaceDeletion(api, client, nothing_elsewhere)
    controller.grow_by(lambda *given, **named: lambda: None)
    return controller, client


def finalizers(api: Api, name: str = "work") -> list[str] | None:
    entry = api.lookup(NAMESPACES, "", name)
    return None if entry is None else entry["spec"].get("finalizers")


def without_finalizers(namespace: Object) -> Object:
    return {**namespace, "spec": {}}


def test_a_namespace_is_emptied_and_then_goes(tmp_path: Path) -> None:
    async def work(api: Api) -> None:
        client, (controller, _) = system(api), emptying(api)
        await client.create(CONFIG_MAPS, {"metadata": {"name": "a", "namespace": "work"}})
        await client.delete(NAMESPACES, "", "work")
        await controller.sync("work")
        assert api.lookup(CONFIG_MAPS, "work", "a") is None
        assert finalizers(api) is None

    on_api(tmp_path, work)


def test_a_new_namespace_of_the_same_name_keeps_its_finalizer(tmp_path: Path) -> None:
    async def work(api: Api) -> None:
        client, (controller, late) = system(api), emptying(api)
        await client.delete(NAMESPACES, "", "work")
        await controller.sync("work")
        await client.create(NAMESPACES, {"metadata": {"name": "work"}})
        before = finalizers(api)
        assert before
        await client.delete(NAMESPACES, "", "work")

        async def come_anew() -> None:
            await client.change(NAMESPACES, "", "work", without_finalizers, "finalize")
            await client.create(NAMESPACES, {"metadata": {"name": "work"}})

        late.meanwhile = come_anew
        await controller.sync("work")
        assert finalizers(api) == before

    on_api(tmp_path, work)


def test_a_namespace_stays_while_something_in_it_cannot_be_deleted(tmp_path: Path) -> None:
    class Guard(PluginBase):
        name = "Guard"

        async def validate(self, attributes: Attributes) -> None:
            if attributes.value is None and attributes.resource.name == "configmaps":
                raise forbidden(attributes.resource.ref("a"), "no")

    async def work(api: Api) -> None:
        client, (controller, _) = system(api), emptying(api)
        await client.create(CONFIG_MAPS, {"metadata": {"name": "a", "namespace": "work"}})
        await client.delete(NAMESPACES, "", "work", DeleteOptions())
        with pytest.raises(StatusError):
            await controller.sync("work")
        assert finalizers(api)
        assert api.lookup(CONFIG_MAPS, "work", "a") is not None
        entry = api.lookup(NAMESPACES, "", "work")
        assert entry is not None
        conditions = {
            condition["type"]: condition["status"] for condition in entry["status"]["conditions"]
        }
        failed = [name for name, state in conditions.items() if state == "True"]
        assert any("Deletion" in name and "Failure" in name for name in failed)

    on_api(tmp_path, work, [Guard()])


def test_a_namespace_stays_while_something_in_it_has_finalizers(tmp_path: Path) -> None:
    async def work(api: Api) -> None:
        client, (controller, _) = system(api), emptying(api)
        held = {"name": "a", "namespace": "work", "finalizers": ["example.com/hold"]}
        await client.create(CONFIG_MAPS, {"metadata": held})
        await client.delete(NAMESPACES, "", "work")
        await controller.sync("work")
        assert finalizers(api)

        def released(old: Object) -> Object:
            return {**old, "metadata": {**old["metadata"], "finalizers": []}}

        await client.change(CONFIG_MAPS, "work", "a", released)
        assert api.lookup(CONFIG_MAPS, "work", "a") is None

    on_api(tmp_path, work)
