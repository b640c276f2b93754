"""Operations of two servers on one store, each of which hears of the other's writes a little later.

What a server keeps in memory is right only if it is alone: these are the places where that shows.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from ipaddress import ip_network

import pytest
from support.api import NAMESPACES, OPTIONS, Object, config_map, operation, system
from support.sources import MemorySource, Shared
from support.writes import apply, create, update

from fairlead.admission.chain import Chain
from fairlead.admission.plugins.namespace_lifecycle import NamespaceLifecycle
from fairlead.auth.authorization.chain import Authorizer
from fairlead.auth.authorization.modes import AlwaysAllow
from fairlead.base.dialect import KUBERNETES
from fairlead.base.errors import StatusError
from fairlead.base.release import V1_25, V1_36, Release
from fairlead.codec.types.builtin import BuiltinTypes
from fairlead.operations.api import Api
from fairlead.operations.delete import delete
from fairlead.operations.options import DeleteOptions
from fairlead.resources.core.services.allocation import ServiceAllocators
from fairlead.resources.core.services.claims import AddressObjects, Claims
from fairlead.resources.gates import parse_gates
from fairlead.resources.registry import Resources
from fairlead.storage.followed import FollowedLog
from fairlead.storage.store import Store
from fairlead.storage.version import Change

SERVICES = "core/v1/services"
IP_ADDRESSES = "networking/v1/ipaddresses"
Test = Callable[[Shared, Api, Api], Awaitable[None]]
# Release 1.36 keeps addresses as objects, those before keep claims.
EACH_RELEASE = pytest.mark.parametrize("release", [V1_25, V1_36])


def on_two_servers(test: Test, release: Release = V1_25) -> None:
    async def run() -> None:
        shared = Shared()
        first, other = await _server(shared, release), await _server(shared, release)
        try:
            await system(first).create(NAMESPACES, {"metadata": {"name": "work"}})
            await other.store.catch_up()
            await asyncio.wait_for(test(shared, first, other), 20)
        finally:
            shared.moving.set()
            await first.store.close()
            await other.store.close()

    asyncio.run(run())


async def _server(shared: Shared, release: Release) -> Api:
    store = Store(FollowedLog(MemorySource(shared)))
    await store.open()
    resources = Resources(KUBERNETES, BuiltinTypes(KUBERNETES, release))
    api = Api(resources, store, parse_gates("", release))
    api.authorizer = Authorizer([AlwaysAllow()])
    api.admission = Chain([NamespaceLifecycle(KUBERNETES, api.newest)])
    networks = [ip_network("10.0.0.0/28")]
    objects = None
    if resources.serves(IP_ADDRESSES):
        objects = AddressObjects(api.collection(resources.named(IP_ADDRESSES)), KUBERNETES)
    allocators = ServiceAllocators(networks, (30000, 30009), claims=Claims(store), objects=objects)
    api.allocators = allocators

    def observe(change: Change) -> None:
        old = change.before.object() if change.before is not None else None
        allocators.observe(old, change.after.object() if change.after is not None else None)

    def observe_address(change: Change) -> None:
        allocators.observe_address(change.key, change.after is not None)

    store.follow(api.collection(api.resources.named(SERVICES)), observe, essential=True)
    if objects is not None:
        store.follow(objects.collection, observe_address, essential=True)
    return api


def service(name: str, **spec: object) -> Object:
    ports = [{"port": 80, "protocol": "TCP"}]
    return {"metadata": {"name": name}, "spec": {"type": "NodePort", "ports": ports, **spec}}


@EACH_RELEASE
def test_two_servers_never_give_the_same_address_or_port(release: Release) -> None:
    async def test(shared: Shared, first: Api, other: Api) -> None:
        shared.moving.clear()  # neither hears of what the other gives away
        making = [
            asyncio.create_task(
                create(api, operation(api, "create", key=SERVICES), service(name), OPTIONS)
            )
            for number in range(4)
            for api, name in ((first, f"a{number}"), (other, f"b{number}"))
        ]
        await asyncio.sleep(0.01)
        shared.moving.set()
        specs = [version.object()["spec"] for version in await asyncio.gather(*making)]
        assert len({spec["clusterIP"] for spec in specs}) == 8
        assert len({spec["ports"][0]["nodePort"] for spec in specs}) == 8
        if release is V1_36:
            for api in (first, other):
                await api.store.catch_up()
                objects = api.collection(api.resources.named(IP_ADDRESSES)).newest("")
                assert len(objects) == 8

    on_two_servers(test, release)


@EACH_RELEASE
def test_an_address_that_another_server_gave_away_is_refused_to_who_asks_for_it(
    release: Release,
) -> None:
    async def test(shared: Shared, first: Api, other: Api) -> None:
        shared.moving.clear()
        making = [
            asyncio.create_task(
                create(
                    api,
                    operation(api, "create", key=SERVICES),
                    service(name, clusterIP="10.0.0.5"),
                    OPTIONS,
                )
            )
            for api, name in ((first, "a"), (other, "b"))
        ]
        await asyncio.sleep(0.01)
        shared.moving.set()
        outcomes = await asyncio.gather(*making, return_exceptions=True)
        [refused] = [outcome for outcome in outcomes if isinstance(outcome, StatusError)]
        assert refused.code == 422
        assert "provided IP is already allocated" in refused.message

    on_two_servers(test, release)


@EACH_RELEASE
def test_an_address_can_be_had_again_once_its_service_is_gone(release: Release) -> None:
    async def test(shared: Shared, api: Api, other: Api) -> None:
        wanted = service("a", clusterIP="10.0.0.5")
        await create(api, operation(api, "create", key=SERVICES), wanted, OPTIONS)
        await delete(api, operation(api, "delete", "a", SERVICES), DeleteOptions())
        await other.store.catch_up()
        wanted = service("b", clusterIP="10.0.0.5")
        created = await create(other, operation(other, "create", key=SERVICES), wanted, OPTIONS)
        assert created.object()["spec"]["clusterIP"] == "10.0.0.5"

    on_two_servers(test, release)


def test_changes_of_two_servers_to_one_object_lose_nothing() -> None:
    async def test(shared: Shared, first: Api, other: Api) -> None:
        await create(first, operation(first, "create"), config_map("a"), OPTIONS)
        await other.store.catch_up()

        async def count(api: Api) -> None:
            def add(old: Object) -> Object:
                data = old.get("data") or {}
                return {**old, "data": {"n": str(int(data.get("n", "0")) + 1)}}

            await system(api).change("core/v1/configmaps", "work", "a", add)

        await asyncio.gather(*(count(api) for api in (first, other) for _ in range(20)))
        await first.store.catch_up()
        version = first.collection(first.resources.named("core/v1/configmaps")).latest("work/a")
        assert version is not None
        assert version.object()["data"] == {"n": "40"}

    on_two_servers(test)


def test_nothing_is_created_in_a_namespace_that_another_server_is_deleting() -> None:
    async def test(shared: Shared, api: Api, other: Api) -> None:
        shared.moving.clear()
        deleting = asyncio.create_task(
            delete(api, operation(api, "delete", "work", NAMESPACES), DeleteOptions())
        )
        creating = asyncio.create_task(
            create(other, operation(other, "create"), config_map("a"), OPTIONS)
        )
        await asyncio.sleep(0.01)
        shared.moving.set()
        await deleting
        with pytest.raises(StatusError, match="being terminated"):
            await creating

    on_two_servers(test)


def test_an_apply_that_is_known_to_change_nothing_is_not_answered_from_what_was() -> None:
    async def test(shared: Shared, api: Api, other: Api) -> None:
        configuration = {"kind": "ConfigMap", "apiVersion": "v1", **config_map("a", x="1")}

        async def configure() -> str:
            wanted = operation(api, "patch", "a")
            outcome = await apply(api, wanted, {**configuration}, OPTIONS)
            return str(outcome.object()["data"]["x"])

        for _ in range(3):
            assert await configure() == "1"
        await other.store.catch_up()
        changed = operation(other, "update", "a")
        await update(other, changed, lambda: config_map("a", x="2"), OPTIONS)
        await api.store.catch_up()
        with pytest.raises(StatusError, match="conflict"):
            await configure()

    on_two_servers(test)
