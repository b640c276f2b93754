"""A server whose packets to etcd are dropped: connections are neither answered nor refused."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.etcd import Etcd, needs_etcd
from support.namespaces import Space
from support.networks import Network, needs_networks
from support.process import ServerProcess
from support.waiting import eventually

pytestmark = [needs_etcd, needs_networks]
DEADLINE = 15.0  # seconds until a request is answered though etcd is silent


@pytest.fixture
def network() -> Iterator[Network]:
    with Network() as network:
        yield network


@pytest.fixture
def etcd(network: Network, tmp_path: Path) -> Iterator[Etcd]:
    etcd = Etcd(tmp_path / "etcd", host=network.address, wrapper=network.wrapper).start()
    yield etcd
    etcd.close()


@pytest.fixture
def server(etcd: Etcd, tmp_path: Path) -> Iterator[ServerProcess]:
    flags = ("--storage", "etcd", "--etcd-servers", etcd.url)
    server = ServerProcess(tmp_path, flags=flags).start()
    yield server
    server.kill()


def status_and_seconds(space: Space, method: str, **fields: object) -> tuple[int, float]:
    body = {"metadata": fields} if fields else None
    began = time.monotonic()
    answer = space.client.request(method, space.secrets.path, body)
    assert answer.body["kind"] == ("Status" if answer.status >= 400 else "SecretList")
    return answer.status, time.monotonic() - began


@pytest.mark.slow
def test_requests_end_in_time_while_etcd_is_unreachable_and_watches_go_on(
    network: Network, server: ServerProcess
) -> None:
    space = Space(server, server.client())
    space.secrets.create("before")
    with space.secrets.watch() as watch:
        assert watch.next().name == "before"
        network.cut()
        status, seconds = status_and_seconds(space, "POST", name="lost")
        assert status in (503, 504)
        assert seconds < DEADLINE
        status, seconds = status_and_seconds(space, "GET")
        assert status in (503, 504)
        assert seconds < DEADLINE
        assert space.secrets.list(resourceVersion=0).names == ["before"]
        assert space.client.get("/readyz").status == 500
        network.mend()
        eventually(lambda: space.client.get("/readyz").status == 200, "it is ready again")
        space.secrets.create("after")
        names = [event.name for event in watch.until("after")]
        assert names in (["after"], ["lost", "after"])  # the write may have reached etcd
        assert sorted(space.secrets.names()) == sorted(["before", *names])
