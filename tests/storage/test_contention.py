"""Many clients on one object: compare-and-swap is exact, and all writes succeed."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from support.client import Client
from support.namespaces import Space
from support.process import ServerProcess

CLIENTS = 6


def in_parallel(space: Space, work: Callable[[Client, int], list[int]]) -> list[int]:
    """Run work in several threads, each with its own client; return all results."""
    start = threading.Barrier(CLIENTS)

    def one(number: int) -> list[int]:
        client = space.client.clone()
        start.wait(10)
        try:
            return work(client, number)
        finally:
            client.close()

    with ThreadPoolExecutor(CLIENTS) as pool:
        return [result for results in pool.map(one, range(CLIENTS)) for result in results]


def test_increments_by_read_modify_write_add_up_exactly(space: Space) -> None:
    rounds = 15
    space.config_maps.create("counter", data={"n": "0"})
    path = space.config_maps.item("counter")

    def increment(client: Client, _: int) -> list[int]:
        codes = []
        done = 0
        while done < rounds:
            value = client.get(path).body
            value["data"]["n"] = str(int(value["data"]["n"]) + 1)
            status = client.put(path, value).status
            codes.append(status)
            done += status == 200
        return codes

    codes = in_parallel(space, increment)
    assert set(codes) <= {200, 409}
    assert codes.count(200) == CLIENTS * rounds
    assert space.config_maps.read("counter")["data"]["n"] == str(CLIENTS * rounds)


def test_the_versions_of_successful_swaps_form_one_chain(space: Space) -> None:
    """No two writes succeed from the same version."""
    space.config_maps.create("counter", data={"n": "0"})
    path = space.config_maps.item("counter")

    def swap(client: Client, number: int) -> list[int]:
        used: list[int] = []
        for _ in range(20):
            value = client.get(path).body
            value["data"]["n"] = f"{number}-{len(used)}-{value['metadata']['resourceVersion']}"
            if client.put(path, value).status == 200:
                used.append(int(value["metadata"]["resourceVersion"]))
        return used

    used = in_parallel(space, swap)
    assert len(used) == len(set(used))


def test_unconditional_updates_of_one_hot_object_never_fail(space: Space) -> None:
    space.config_maps.create("hot", data={})
    path = space.config_maps.item("hot")
    version = space.config_maps.version()

    def put(client: Client, number: int) -> list[int]:
        return [
            client.put(path, {"metadata": {"name": "hot"}, "data": {"n": f"{number}-{n}"}}).status
            for n in range(30)
        ]

    assert set(in_parallel(space, put)) == {200}
    with space.config_maps.watch(
        resourceVersion=version, fieldSelector="metadata.name=hot"
    ) as watch:
        events = watch.take(CLIENTS * 30)
    assert len({event.object["data"]["n"] for event in events}) == CLIENTS * 30


def test_patches_of_one_hot_object_never_fail_and_none_is_lost(space: Space) -> None:
    space.config_maps.create("hot", data={})

    def patch(client: Client, number: int) -> list[int]:
        path = space.config_maps.item("hot")
        return [client.patch(path, {"data": {f"{number}-{n}": "x"}}).status for n in range(25)]

    assert set(in_parallel(space, patch)) == {200}
    data = space.config_maps.read("hot")["data"]
    assert set(data) == {f"{number}-{n}" for number in range(CLIENTS) for n in range(25)}


def test_one_of_many_creations_of_a_name_succeeds(space: Space) -> None:
    def create(client: Client, number: int) -> list[int]:
        body = {"metadata": {"name": ""}, "data": {"by": str(number)}}
        codes = []
        for name in ("a", "b", "c", "d"):
            body["metadata"] = {"name": name}
            codes.append(client.post(space.config_maps.path, body).status)
        return codes

    codes = in_parallel(space, create)
    assert codes.count(201) == 4
    assert codes.count(409) == CLIENTS * 4 - 4


def test_one_of_many_deletions_succeeds(space: Space) -> None:
    names = [f"n{n}" for n in range(10)]
    space.config_maps.create_all(*names)

    def delete(client: Client, _: int) -> list[int]:
        return [client.delete(space.config_maps.item(name)).status for name in names]

    codes = in_parallel(space, delete)
    assert codes.count(200) == len(names)
    assert set(codes) == {200, 404}


HELD = (
    "import os, time, fairlead.storage.sqlite.backend as s; append = s.SqliteBackend.append\n"
    "def held(self, writes):\n"
    "    while os.path.exists(str(self.path) + '.hold'): time.sleep(0.01)\n"
    "    return append(self, writes)\n"
    "s.SqliteBackend.append = held\n"
)


def test_an_update_that_changes_nothing_waits_for_the_write_it_agrees_with(
    fresh_server: Callable[..., ServerProcess],
) -> None:
    """Two clients write the same; the first write is not yet on disk when the server dies. Neither
    may be acknowledged."""
    server = fresh_server(prelude=f"exec({HELD!r})")
    space = Space(server, server.client())
    numbers = space.config_maps.create("a", data={"k": "old"})
    hold = server.data / "fairlead.db.hold"
    hold.touch()
    answered: list[int] = []

    def put() -> None:
        client = space.client.clone()
        body = {"metadata": {"name": "a"}, "data": {"k": "new"}}
        try:
            answered.append(client.put(space.config_maps.item("a"), body).status)
        except OSError:
            answered.append(0)

    threads = [threading.Thread(target=put) for _ in range(4)]
    for thread in threads:
        thread.start()
        thread.join(0.3)
    messages = list(answered)
    server.kill()
    for thread in threads:
        thread.join(10)
    hold.unlink()
    server.prelude = ""
    server.start()
    assert server.client().get(space.config_maps.item("a")).body == numbers
    assert messages == [], "a write was acknowledged that did not survive"
