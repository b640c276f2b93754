"""A server with powers, shared by the tests of a worker."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from support.power import Power
from support.process import ServerProcess
from support.things import Space


@pytest.fixture(scope="session")
def testing_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    flags = ("--testing", "--simulate-nodes", "1")
    running = ServerProcess(tmp_path_factory.mktemp("testing"), "kubernetes", flags).start()
    yield running
    running.stop()


@pytest.fixture
def power(testing_server: ServerProcess) -> Iterator[Power]:
    """A fresh namespace and all powers; faults end with the test."""
    client = testing_server.client()
    made = Power(Space(testing_server, client))
    yield made
    made.client.delete(f"{made.base}/faults")
    client.close()
