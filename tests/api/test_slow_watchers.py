"""A watcher that does not read is closed; memory stays bounded and others are not affected."""

from __future__ import annotations

import signal
import socket
import time
from collections.abc import Callable

from support.client import Client
from support.namespaces import Space
from support.process import ServerProcess
from support.slow_answers import PRELUDE
from support.waiting import eventually
from support.wire import Wire

FEW_PENDING = "import fairlead.storage.audience as w; w.MAX_PENDING = 200"
BULK = "x" * 80_000


class Sleeper:
    """A watch over a connection that is never read."""

    def __init__(self, client: Client, path: str) -> None:
        self.connection = client.connect()
        self.connection.connect()
        self.connection.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        self.connection.request("GET", f"{path}?watch=1", headers=client.head_of())

    def close(self) -> None:
        self.connection.close()


def write_bulk(space: Space, rounds: int) -> None:
    """Cause large events of one object."""
    for number in range(rounds):
        answer = space.client.put(
            space.config_maps.item("hot"),
            {"metadata": {"name": "hot"}, "data": {"bulk": BULK, "n": str(number)}},
        )
        assert answer.status == 200, answer.text


def watches(space: Space) -> float:
    """How many watches of config maps are under way."""
    return sum(
        float(line.split()[-1])
        for line in space.client.get("/metrics").text.splitlines()
        if line.startswith("apiserver_longrunning_requests{") and 'resource="configmaps"' in line
    )


def test_a_watcher_that_does_not_read_is_closed_and_others_go_on(
    fresh_server: Callable[..., ServerProcess],
) -> None:
    server = fresh_server("--etcd-compaction-interval", "1s", prelude=FEW_PENDING)
    space = Space(server, server.client())
    space.config_maps.create("hot", data={})
    ca = space.dialect.ca_config_map  # which a controller makes
    eventually(lambda: space.config_maps.get(ca).status == 200, "nobody else writes", 10)
    sleepers = [Sleeper(server.client(), space.config_maps.path) for _ in range(3)]
    with space.config_maps.watch(resourceVersion=space.config_maps.version()) as reader:
        for _ in range(10):
            write_bulk(space, 40)
            assert reader.take(40)[-1].object["data"]["n"] == "39"
        eventually(lambda: watches(space) == 1, "those who do not read are closed", 10)
        space.config_maps.create("last")
        assert reader.next().name == "last"
    for sleeper in sleepers:
        sleeper.close()


def test_memory_stays_bounded_while_a_watcher_does_not_read(
    fresh_server: Callable[..., ServerProcess],
) -> None:
    """40 MB of events pass; the server buffers a fraction of it for the watcher."""
    server = fresh_server("--etcd-compaction-interval", "1s", prelude=FEW_PENDING)
    space = Space(server, server.client())
    space.config_maps.create("hot", data={})
    write_bulk(space, 75)
    before = server.resident_bytes()
    sleepers = [Sleeper(server.client(), space.config_maps.path) for _ in range(10)]
    write_bulk(space, 500)
    grown = server.resident_bytes() - before
    for sleeper in sleepers:
        sleeper.close()
    assert grown < 40 * 2**20, f"{grown >> 20} MiB more"


def test_a_watcher_that_does_not_read_does_not_hold_up_the_end(
    fresh_server: Callable[..., ServerProcess],
) -> None:
    server = fresh_server()
    space = Space(server, server.client())
    space.config_maps.create("hot", data={})
    sleeper = Sleeper(server.client(), space.config_maps.path)
    write_bulk(space, 150)
    server.signal(signal.SIGTERM)
    assert server.wait(timeout=15) == 0
    sleeper.close()


def test_a_watch_ends_in_time_though_its_client_did_not_read_then(
    any_server: ServerProcess,
) -> None:
    space = Space(any_server, any_server.client())
    space.config_maps.create("hot", data={})
    with Wire(any_server, buffer=4096) as wire:
        wire.ask(f"GET {space.config_maps.path}?watch=1&timeoutSeconds=1", "Connection: close")
        write_bulk(space, 75)  # more than fits into the buffers on the way
        time.sleep(1.5)
        assert wire.rest().endswith(b"\r\n0\r\n\r\n")


def test_a_watch_whose_client_left_before_it_began_is_none(
    fresh_server: Callable[..., ServerProcess],
) -> None:
    server = fresh_server(prelude=PRELUDE)
    space = Space(server, server.client())
    with Wire(server) as wire:
        wire.ask(f"GET {space.config_maps.path}?watch=1", "X-Hold: 0.5")
    time.sleep(1)
    counted = space.client.get("/metrics").text
    assert 'apiserver_registered_watchers{resource="configmaps"} 0.0' in counted
