"""Bindings are right after concurrent changes and restarts."""

from __future__ import annotations

import threading

from support.client import Object
from support.namespaces import Space
from support.process import FreshServer, ServerProcess
from support.volumes import Storage
from support.waiting import eventually

COUNT = 30


def _check_bindings(storage: Storage) -> None:
    """Each claim has a volume of its own, and both say so."""

    def phases(items: list[Object]) -> set[str]:
        return {item["status"]["phase"] for item in items}

    eventually(lambda: phases(storage.claims.list().body["items"]) == {"Bound"}, "all are bound")
    volumes = storage.volumes.list().body["items"]
    by_claim = {
        volume["spec"]["claimRef"]["uid"]: volume["metadata"]["name"]
        for volume in volumes
        if volume["metadata"]["name"].startswith(storage.space.name)
    }
    claims = storage.claims.list().body["items"]
    assert len(by_claim) == len(claims) == COUNT
    for claim in claims:
        assert by_claim[claim["metadata"]["uid"]] == claim["spec"]["volumeName"]


def test_bindings_survive_that_others_write_to_both_sides(kubernetes: Space) -> None:
    storage = Storage(kubernetes)
    done = threading.Event()

    def meddle(path: str) -> None:
        client = storage.space.server.client()
        number = 0
        while not done.is_set():
            number += 1
            for index in range(COUNT):
                change = {"metadata": {"labels": {"n": str(number)}}}
                client.patch(path.format(index), change)
        client.close()

    paths = (storage.claims.item("c{}"), storage.volumes.item(storage.name("v{}")))
    threads = [threading.Thread(target=meddle, args=(path,)) for path in paths]
    for thread in threads:
        thread.start()
    try:
        for index in range(COUNT):
            storage.volume(f"v{index}")
            storage.claim(f"c{index}")
        _check_bindings(storage)
    finally:
        done.set()
        for thread in threads:
            thread.join()


def test_bindings_that_a_kill_interrupts_are_finished_afterwards(
    fresh_server: FreshServer,
) -> None:
    server: ServerProcess = fresh_server()
    storage = Storage(Space(server, server.client()))
    for index in range(COUNT):
        storage.volume(f"v{index}")
    for index in range(COUNT):
        storage.claim(f"c{index}")
    server.kill()
    server.start()
    space = storage.space
    space.client = server.client()
    again = Storage(space)
    for item in (again.claims, again.volumes):
        item.client = space.client
    _check_bindings(again)
