"""A watcher that does not read is cut off; memory stays bounded and nobody else notices."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable

from support.client import Client
from support.process import ServerProcess
from support.things import Space

EVENTS = 12_000  # more than a watcher may leave waiting
BULK = "x" * 2000


class Sleeper:
    """A watch over a connection whose receiver never reads."""

    def __init__(self, client: Client, path: str) -> None:
        self.connection = client.connect()
        self.connection.connect()
        self.connection.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        self.connection.request("GET", f"{path}?watch=1", headers=client.head_of())

    def drain(self) -> int:
        """Read what is left at last; gives the number of events, once the server has closed."""
        response = self.connection.getresponse()
        return sum(1 for _ in iter(response.readline, b""))

    def close(self) -> None:
        self.connection.close()


def write_bulk(space: Space, rounds: int) -> None:
    """Many large events on a few objects, as fast as one client can."""
    path = space.config_maps.item("hot")
    value = {"metadata": {"name": "hot"}, "data": {"bulk": BULK}}
    for number in range(rounds):
        value["data"] = {"bulk": BULK, "n": str(number)}
        answer = space.client.put(path, value)
        assert answer.status == 200, answer.text


def test_a_watcher_that_does_not_read_is_closed_and_others_go_on(
    fresh_server: Callable[..., ServerProcess],
) -> None:
    server = fresh_server("--etcd-compaction-interval", "2s")
    space = Space(server, server.client())
    space.config_maps.create("hot", data={})
    sleepers = [Sleeper(server.client(), space.config_maps.path) for _ in range(3)]
    write_bulk(space, 500)
    before = server.resident_bytes()
    with space.config_maps.watch(resourceVersion=space.config_maps.version()) as reader:
        for _ in range(EVENTS // 100):
            write_bulk(space, 100)
            last = reader.take(100)[-1]
        assert last.object["data"]["n"] == "99"
    grown = server.resident_bytes() - before
    assert grown < 150 * 1024 * 1024, f"{grown >> 20} MiB more"
    _wait_until_closed(space, server)
    for sleeper in sleepers:
        sleeper.close()


def _wait_until_closed(space: Space, server: ServerProcess) -> None:
    """The connections of the sleepers end without their doing."""
    deadline = time.monotonic() + 10
    while _watches(space) > 0:
        assert time.monotonic() < deadline, "a watcher that does not read is still served"
        time.sleep(0.1)


def _watches(space: Space) -> float:
    lines = space.client.get("/metrics").text.splitlines()
    found = [
        float(line.split()[-1])
        for line in lines
        if line.startswith("apiserver_longrunning_requests{") and 'resource="configmaps"' in line
    ]
    return sum(found)
