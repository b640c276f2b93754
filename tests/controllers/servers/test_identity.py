"""The identity Lease of servers with the feature gate."""

from __future__ import annotations

import asyncio
from base64 import b32encode
from hashlib import sha256
from socket import gethostname

from support.namespaces import Space
from support.shared_store import Servers, on_servers
from support.waiting import comes_true, eventually

from fairlead.base import clock
from fairlead.base.dialect import KUBERNETES
from fairlead.controllers.framework import Controllers
from fairlead.controllers.servers.election import LEASES
from fairlead.controllers.servers.identity import IdentityLease
from fairlead.operations.api import Api, Object
from fairlead.operations.client import Client, system_user

SYSTEM = KUBERNETES.system_namespace
LABELS = {"k8s.io/component": "kube-apiserver"}


def _run(api: Api) -> asyncio.Task[None]:
    lease = IdentityLease(Client(api, system_user("apiserver")), KUBERNETES, 3600, 10)
    return asyncio.create_task(Controllers(api, [lease]).run())


def test_each_server_renews_a_lease_of_its_own() -> None:
    async def work(servers: Servers, first: Api) -> None:
        client = Client(first, system_user("admin"))

        def leases() -> list[Object]:
            return list(client.list(LEASES, SYSTEM))

        running = [_run(first), _run(await servers.start())]
        await comes_true(lambda: len(leases()) == 2, "there are two")
        for lease in leases():
            assert lease["metadata"]["labels"] == LABELS
            assert lease["spec"]["holderIdentity"] == lease["metadata"]["name"]
            assert lease["spec"]["leaseDurationSeconds"] == 3600
        before = {lease["metadata"]["name"]: lease["spec"]["renewTime"] for lease in leases()}
        clock.advance(11)

        def renewed() -> bool:
            return all(
                lease["spec"]["renewTime"] > before[lease["metadata"]["name"]] for lease in leases()
            )

        await comes_true(renewed, "they are renewed")
        await client.delete(LEASES, SYSTEM, leases()[0]["metadata"]["name"])
        await comes_true(lambda: len(leases()) == 2, "a deleted one is made again")
        for task in running:
            task.cancel()

    on_servers(work, SYSTEM)


def test_leases_that_expired_go_within_an_hour() -> None:
    async def work(servers: Servers, first: Api) -> None:
        client = Client(first, system_user("admin"))
        spec = {"leaseDurationSeconds": 3600, "holderIdentity": "x"}
        for name, labels, renewed in (
            ("expired", LABELS, "2020-01-01T00:00:00.000000Z"),
            ("alive", LABELS, "2099-01-01T00:00:00.000000Z"),
            ("another", {}, "2020-01-01T00:00:00.000000Z"),
        ):
            metadata = {"name": name, "namespace": SYSTEM, "labels": labels}
            await client.create(
                LEASES, {"metadata": metadata, "spec": {**spec, "renewTime": renewed}}
            )

        def names() -> set[str]:
            listed = (lease["metadata"]["name"] for lease in client.list(LEASES, SYSTEM))
            return {name for name in listed if not name.startswith("kube-apiserver-")}

        running = _run(first)
        await comes_true(lambda: names() == {"alive", "another"}, "one is gone")
        await client.create(
            LEASES,
            {"metadata": {"name": "empty", "namespace": SYSTEM, "labels": LABELS}, "spec": {}},
        )
        clock.advance(3601)
        await comes_true(lambda: names() == {"alive", "another"}, "so is the next")
        running.cancel()

    on_servers(work, SYSTEM)


def test_in_release_1_36_a_host_has_one_lease(space_1_36: Space) -> None:
    host, component = gethostname(), "kube-apiserver"
    parts = (len(part).to_bytes(2, "big") + part.encode() for part in (host, component))
    digest = b32encode(sha256(b"".join(parts)).digest()[:16]).decode().rstrip("=").lower()
    path = f"{space_1_36.base('coordination.k8s.io')}/namespaces/{SYSTEM}/leases"
    name = f"apiserver-{digest}"
    eventually(lambda: space_1_36.client.get(f"{path}/{name}").status == 200, "it is there")
    lease = space_1_36.client.get(f"{path}/{name}").body
    assert lease["metadata"]["labels"] == {
        "apiserver.kubernetes.io/identity": component,
        "kubernetes.io/hostname": host,
    }
    port = space_1_36.server.address.rpartition(":")[2]
    [address] = lease["metadata"]["annotations"].items()
    assert address[0] == "kubernetes.io/peer-advertise-address"
    assert address[1].endswith(f":{port}")
    assert lease["spec"]["holderIdentity"].startswith(f"{name}_")
