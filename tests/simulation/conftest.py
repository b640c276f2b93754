"""Servers with simulated nodes, shared by all tests of a worker; their clocks can be moved."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from support.process import MOVABLE_CLOCK, ServerProcess
from support.simulation import Pods
from support.things import Space

NODES = 3


def _simulated(factory: pytest.TempPathFactory, dialect: str) -> Iterator[ServerProcess]:
    directory = factory.mktemp(f"simulated-{dialect}")
    flags = ("--simulate-nodes", str(NODES))
    running = ServerProcess(directory, dialect, flags, MOVABLE_CLOCK).start()
    yield running
    running.stop()


@pytest.fixture(scope="session")
def simulated(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    """A server in the kubernetes dialect."""
    yield from _simulated(tmp_path_factory, "kubernetes")


@pytest.fixture(scope="session")
def simulated_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    """A server in the cluster dialect."""
    yield from _simulated(tmp_path_factory, "cluster")


@pytest.fixture(params=["kubernetes", "cluster"])
def any_pods(request: pytest.FixtureRequest) -> Iterator[Pods]:
    """The pods of a fresh namespace, in each dialect."""
    name = {"kubernetes": "simulated", "cluster": "simulated_cluster"}[request.param]
    yield from _pods(request.getfixturevalue(name))


@pytest.fixture
def pods(simulated: ServerProcess) -> Iterator[Pods]:
    """The pods of a fresh namespace in the kubernetes dialect."""
    yield from _pods(simulated)


def _pods(server: ServerProcess) -> Iterator[Pods]:
    client = server.client()
    yield Pods(Space(server, client))
    client.close()
