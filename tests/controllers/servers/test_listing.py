"""The Endpoints of the API's own service list the live servers."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial

import pytest
from support.shared_store import Servers, on_servers
from support.waiting import comes_true

from fairlead.base import clock
from fairlead.base.dialect import KUBERNETES
from fairlead.controllers.framework import Controllers
from fairlead.controllers.own_service import OwnService
from fairlead.controllers.servers.election import LEASES
from fairlead.controllers.servers.endpoint_list import (
    LeaseBased,
    Listing,
    MasterCount,
    NoListing,
    Server,
)
from fairlead.operations.api import Api, Object
from fairlead.operations.client import Client, system_user
from fairlead.process.first_objects import own_service

SYSTEM = KUBERNETES.system_namespace
ENDPOINTS, SLICES = "core/v1/endpoints", "discovery/v1/endpointslices"
SERVICES = "core/v1/services"


class Running:
    """One server's part of it."""

    def __init__(self, api: Api, listing: Listing, port: int) -> None:
        self.api = api
        self.client = Client(api, system_user("apiserver"))
        service = own_service(KUBERNETES, "10.0.0.1", port)
        self.own = OwnService(self.client, KUBERNETES, service, listing)
        self._task = asyncio.create_task(Controllers(api, [self.own]).run())

    async def die(self) -> None:
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)

    async def end(self) -> None:
        await self.own.leave()
        await self.die()


class Fleet:
    """Servers that list themselves."""

    def __init__(self, servers: Servers, first: Api) -> None:
        self.servers = servers
        self.client = Client(first, system_user("admin"))
        self.running: list[Running] = []

    async def add(self, address: str, port: int = 6443) -> Running:
        api = await self.servers.start()
        client = Client(api, system_user("apiserver"))
        return self.take(api, LeaseBased(client, KUBERNETES, Server(address, port)), port)

    def take(self, api: Api, listing: Listing, port: int = 6443) -> Running:
        self.running.append(Running(api, listing, port))
        return self.running[-1]

    def listed(self) -> list[str]:
        endpoints = self.client.find(ENDPOINTS, "default", "kubernetes") or {}
        return [
            f"{address['ip']}:{subset['ports'][0]['port']}"
            for subset in endpoints.get("subsets") or ()
            for address in subset["addresses"]
        ]

    async def lists(self, *servers: str) -> None:
        await comes_true(lambda: self.listed() == list(servers), f"{servers} are listed")

    def records(self) -> list[Object]:
        return list(self.client.list(LEASES, SYSTEM))

    async def pass_time(self, seconds: int) -> None:
        for _ in range(seconds):
            clock.advance(1.0)
            await asyncio.sleep(0.01)


def on_fleet(course: Callable[[Fleet], Awaitable[None]]) -> None:
    async def work(servers: Servers, first: Api) -> None:
        fleet = Fleet(servers, first)
        await fleet.client.create("core/v1/namespaces", {"metadata": {"name": "default"}})
        try:
            await course(fleet)
        finally:
            for item in fleet.running:
                await item.die()

    on_servers(work, SYSTEM)


def test_all_servers_are_listed_in_endpoints_and_slice() -> None:
    async def course(fleet: Fleet) -> None:
        await fleet.add("10.1.0.2")
        await fleet.add("10.1.0.1")
        await fleet.lists("10.1.0.1:6443", "10.1.0.2:6443")

        def in_slice() -> list[list[str]]:
            result = fleet.client.find(SLICES, "default", "kubernetes") or {}
            return [endpoint["addresses"] for endpoint in result.get("endpoints") or ()]

        await comes_true(lambda: in_slice() == [["10.1.0.1"], ["10.1.0.2"]], "so does the slice")
        (first, _) = fleet.records()
        assert first["metadata"]["name"] == "kube-apiserver-endpoint-10.1.0.1-6443"
        assert first["spec"]["holderIdentity"] == "10.1.0.1:6443"
        assert first["spec"]["leaseDurationSeconds"] == 15

    on_fleet(course)


def test_servers_that_live_stay_listed_and_write_little() -> None:
    async def course(fleet: Fleet) -> None:
        await fleet.add("10.1.0.1")
        await fleet.add("10.1.0.2")
        await fleet.lists("10.1.0.1:6443", "10.1.0.2:6443")
        await fleet.pass_time(3)
        before = fleet.servers.shared.wrote
        await fleet.pass_time(60)
        assert fleet.listed() == ["10.1.0.1:6443", "10.1.0.2:6443"]
        assert fleet.servers.shared.wrote - before <= 14  # one renewal each in ten seconds

    on_fleet(course)


def test_a_server_that_dies_is_dropped_after_fifteen_seconds() -> None:
    async def course(fleet: Fleet) -> None:
        await fleet.add("10.1.0.1")
        dying = await fleet.add("10.1.0.2")
        await fleet.lists("10.1.0.1:6443", "10.1.0.2:6443")
        await fleet.pass_time(12)  # both have been seen to renew
        await dying.die()
        await fleet.pass_time(9)
        assert len(fleet.listed()) == 2
        await fleet.pass_time(8)
        await fleet.lists("10.1.0.1:6443")
        assert len(fleet.records()) == 1

    on_fleet(course)


def test_a_server_that_ends_is_dropped_at_once() -> None:
    async def course(fleet: Fleet) -> None:
        await fleet.add("10.1.0.1")
        ending = await fleet.add("10.1.0.2")
        await fleet.lists("10.1.0.1:6443", "10.1.0.2:6443")
        await ending.end()
        await fleet.lists("10.1.0.1:6443")

    on_fleet(course)


def test_the_last_server_leaves_the_endpoints_as_they_are() -> None:
    async def course(fleet: Fleet) -> None:
        only = await fleet.add("10.1.0.1")
        await fleet.lists("10.1.0.1:6443")
        await only.end()
        assert not fleet.records()
        assert fleet.listed() == ["10.1.0.1:6443"]

    on_fleet(course)


def test_a_server_whose_record_is_deleted_makes_it_again() -> None:
    async def course(fleet: Fleet) -> None:
        await fleet.add("10.1.0.1")
        await fleet.add("10.1.0.2")
        await fleet.lists("10.1.0.1:6443", "10.1.0.2:6443")
        for record in fleet.records():
            await fleet.client.delete(LEASES, SYSTEM, record["metadata"]["name"])
        await comes_true(lambda: len(fleet.records()) == 2, "they are back")
        await fleet.lists("10.1.0.1:6443", "10.1.0.2:6443")

    on_fleet(course)


def test_servers_on_different_ports_do_not_fight() -> None:
    async def course(fleet: Fleet) -> None:
        await fleet.add("10.1.0.1", 6443)
        await fleet.add("10.1.0.1", 6444)
        await fleet.lists("10.1.0.1:6443", "10.1.0.1:6444")
        await fleet.pass_time(3)
        before = fleet.servers.shared.wrote
        await fleet.pass_time(5)
        assert fleet.servers.shared.wrote == before
        service = fleet.client.find(SERVICES, "default", "kubernetes")
        assert service is not None
        assert service["spec"]["ports"][0]["targetPort"] in (6443, 6444)

    on_fleet(course)


@pytest.mark.parametrize(
    "holder", ["", "nonsense", "127.0.0.1:6443", "10.0.0.1", "10.0.0.1:0", "10.0.0.1:99999", "[:1"]
)
def test_records_that_say_nothing_useful_are_left_out_and_go(holder: str) -> None:
    async def course(fleet: Fleet) -> None:
        metadata = {"name": "kube-apiserver-endpoint-x", "namespace": SYSTEM}
        lease = {"metadata": metadata, "spec": {"holderIdentity": holder}}
        await fleet.client.create(LEASES, lease)
        await fleet.add("10.1.0.1")
        await fleet.lists("10.1.0.1:6443")
        await fleet.pass_time(17)
        await comes_true(lambda: len(fleet.records()) == 1, "it is gone")

    on_fleet(course)


def test_listed_addresses_may_be_of_both_families() -> None:
    for server in (Server("10.0.0.1", 6443), Server("2001:db8::1", 443)):
        assert Server.parse(str(server)) == server


def test_leases_of_others_are_not_touched() -> None:
    async def course(fleet: Fleet) -> None:
        lease = {"metadata": {"name": "mine", "namespace": SYSTEM}, "spec": {}}
        await fleet.client.create(LEASES, lease)
        await fleet.add("10.1.0.1")
        await fleet.pass_time(40)
        assert {record["metadata"]["name"] for record in fleet.records()} == {
            "kube-apiserver-endpoint-10.1.0.1-6443",
            "mine",
        }

    on_fleet(course)


def _lists(fleet: Fleet, count: int) -> bool:
    return len(fleet.listed()) == count


def test_master_count_lists_only_the_last_servers() -> None:
    async def course(fleet: Fleet) -> None:
        for number in (1, 2, 3):
            api = await fleet.servers.start()
            fleet.take(api, MasterCount(Server(f"10.1.0.{number}", 6443), 3))
            await comes_true(partial(_lists, fleet, number), "it is listed")
        await fleet.running[1].end()
        await fleet.lists("10.1.0.1:6443", "10.1.0.3:6443")
        assert not fleet.records()

    on_fleet(course)


@pytest.mark.parametrize(
    ("own", "maximum", "left"),
    [
        (2, 2, [1, 2]),
        (4, 2, [3, 4]),
        (4, 1, [4]),
        (5, 4, [2, 3, 4, 5]),
        (5, 2, [4, 5]),
        (2, 9, [1, 2, 3, 4]),
    ],
)
def test_master_count_drops_the_addresses_behind_the_own_first(
    own: int, maximum: int, left: list[int]
) -> None:
    ips = [{"ip": f"10.0.0.{number}"} for number in (1, 2, 3, 4)]
    endpoints = {"subsets": [{"addresses": ips, "ports": []}]}
    result = MasterCount(Server(f"10.0.0.{own}", 1), maximum).servers(endpoints)
    assert [server.address for server in result] == [f"10.0.0.{number}" for number in left]


def test_without_a_listing_endpoints_are_left_alone() -> None:
    async def course(fleet: Fleet) -> None:
        fleet.take(await fleet.servers.start(), NoListing())
        await comes_true(
            lambda: fleet.client.find(SERVICES, "default", "kubernetes") is not None,
            "the service is there",
        )
        assert fleet.client.find(ENDPOINTS, "default", "kubernetes") is None

    on_fleet(course)
