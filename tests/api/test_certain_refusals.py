"""A write that is refused because of another write: that write is committed by then."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from support.client import Answer, Client
from support.namespaces import Space
from support.process import ServerProcess

SLOW_DISK = (
    "import time; from fairlead.storage.sqlite.backend import SqliteBackend as B;"
    " append = B.append; B.append = lambda *given: (time.sleep(0.2), append(*given))[1]"
)


@pytest.fixture(scope="module")
def slow(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    directory: Path = tmp_path_factory.mktemp("slow")
    running = ServerProcess(directory, flags=("--controllers=-*",), prelude=SLOW_DISK).start()
    yield running
    running.kill()


def compete(
    space: Space, write: Callable[[Client], Answer], look: Callable[[Client], Answer]
) -> tuple[list[int], Answer]:
    """Send the same write twice at once; return both answers, and the object that the refused
    client reads immediately."""
    statuses: list[int] = []
    looked: list[Answer] = []
    barrier = threading.Barrier(2)

    def one(client: Client) -> None:
        client.get("/version")  # connected before
        barrier.wait()
        status = write(client).status
        if status >= 300:
            looked.append(look(client))
        statuses.append(status)
        client.close()

    threads = [threading.Thread(target=one, args=(space.client.clone(),)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sorted(statuses), looked[0]


def test_whoever_hears_that_an_object_exists_can_get_it(slow: ServerProcess) -> None:
    space = Space(slow, slow.client())
    path = space.secrets.path
    statuses, seen = compete(
        space,
        lambda client: client.post(path, {"metadata": {"name": "one"}}),
        lambda client: client.get(f"{path}/one"),
    )
    assert (statuses, seen.status) == ([201, 409], 200)


def test_whoever_hears_of_a_newer_version_can_get_it(slow: ServerProcess) -> None:
    space = Space(slow, slow.client())
    secret = space.secrets.create("one")
    item = space.secrets.item("one")
    numbers = iter(range(2))
    statuses, seen = compete(
        space,
        lambda client: client.put(item, {**secret, "stringData": {"n": str(next(numbers))}}),
        lambda client: client.get(item),
    )
    assert statuses == [200, 409]
    assert seen.version != secret["metadata"]["resourceVersion"]


def test_whoever_hears_that_an_object_is_gone_cannot_get_it(slow: ServerProcess) -> None:
    space = Space(slow, slow.client())
    space.secrets.create("one")
    item = space.secrets.item("one")
    statuses, seen = compete(
        space, lambda client: client.delete(item), lambda client: client.get(item)
    )
    assert (statuses, seen.status) == ([200, 404], 404)
