"""Pods and clients that use a proxy to exhaust the server."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from http.client import HTTPSConnection

import pytest
from support.namespaces import Space
from support.neighbour import Neighbour, Reply
from support.process import ServerProcess
from support.running import run_pod

MiB = 1024 * 1024


@pytest.fixture(scope="module")
def near(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    flags = ("--proxy-allowed-networks", "127.0.0.0/8", "--max-requests-inflight", "0")
    running = ServerProcess(tmp_path_factory.mktemp("near"), flags=flags).start()
    yield running
    running.stop()


@pytest.fixture
def neighbour() -> Iterator[Neighbour]:
    running = Neighbour()
    yield running
    running.close()


@pytest.fixture
def pod(near: ServerProcess, neighbour: Neighbour) -> str:
    space = Space(near, near.client())
    space.ready_for_pods()
    run_pod(space, "p")
    return space.collection("pods").item(f"p:{neighbour.port}", "proxy")


def asking(near: ServerProcess, path: str) -> HTTPSConnection:
    client = near.client()
    connection = client.connect()
    connection.request("GET", path, headers=client.head_of())
    return connection


def test_an_answer_that_nobody_reads_stays_where_it_is(
    near: ServerProcess, neighbour: Neighbour, pod: str
) -> None:
    sent = [0]

    def pieces() -> Iterator[tuple[None, bytes]]:
        for _ in range(2000):
            sent[0] += 1
            yield None, b"x" * (256 * 1024)

    neighbour.answer = lambda item: Reply(pieces=pieces())
    before = near.resident_bytes()
    connections = [asking(near, f"{pod}/x") for _ in range(10)]
    for connection in connections:
        connection.getresponse().read(1)
    _wait_until_still(sent)
    assert near.resident_bytes() - before < 60 * MiB
    assert near.client().get("/readyz").status == 200
    for connection in connections:
        connection.close()


def _wait_until_still(sent: list[int]) -> None:
    """Until nothing more is taken from the pod."""
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        before = sent[0]
        time.sleep(0.5)
        if sent[0] == before:
            return
    pytest.fail("the server takes in what nobody reads")


def test_many_followers_leave_room_for_others(
    near: ServerProcess, neighbour: Neighbour, pod: str
) -> None:
    end = threading.Event()
    neighbour.answer = lambda item: (
        Reply(pieces=[(None, b"x"), (end, b"y")]) if item.path == "/follow" else Reply()
    )
    followers = [asking(near, f"{pod}/follow") for _ in range(150)]
    responses = [connection.getresponse() for connection in followers]
    assert near.client().get(f"{pod}/x").status == 200
    end.set()
    assert [response.read() for response in responses] == [b"xy"] * 150
    for connection in followers:
        connection.close()
