"""Long lists that many clients read at once: each gets all of it, and the server's memory stays
bounded."""

from __future__ import annotations

import time
from concurrent.futures import Future, ThreadPoolExecutor

from support.client import PATIENCE
from support.namespaces import Space
from support.process import FreshServer, ServerProcess

CLIENTS = 16
OBJECTS = 250
BULK = "x" * 20_000
LIST_BYTES = OBJECTS * len(BULK)


def read(server: ServerProcess, path: str) -> tuple[int, list[str]]:
    """Size of a list, and the names in it."""
    client = server.client()
    try:
        answer = client.get(path)
        assert answer.status == 200, answer.text
        return len(answer.content), answer.names
    finally:
        client.close()


def peak_until_done(server: ServerProcess, readers: list[Future[tuple[int, list[str]]]]) -> int:
    """The most memory that the server has while they read."""
    peak, deadline = 0, time.monotonic() + 3 * PATIENCE
    while not all(reader.done() for reader in readers):
        peak = max(peak, server.resident_bytes())
        assert time.monotonic() < deadline, "the lists do not end"
        time.sleep(0.01)
    return peak


def test_parallel_readers_of_a_long_list_get_all_of_it_in_bounded_memory(
    fresh_server: FreshServer,
) -> None:
    server = fresh_server()
    space = Space(server, server.client())
    names = [f"a-{number:03}" for number in range(OBJECTS)]
    for name in names:
        space.secrets.create(name, stringData={"bulk": BULK})
    once = read(server, space.secrets.path)  # what one list leaves in caches is no growth
    before = server.resident_bytes()
    with ThreadPoolExecutor(CLIENTS) as pool:
        readers = [pool.submit(read, server, space.secrets.path) for _ in range(CLIENTS)]
        peak = peak_until_done(server, readers)
    assert [reader.result() for reader in readers] == [once] * CLIENTS
    assert once[0] > LIST_BYTES
    assert once[1] == names
    assert peak - before < CLIENTS * LIST_BYTES / 4  # was 5 MB, of 108 MB that were sent
