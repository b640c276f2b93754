"""A server of the testing kit, shared by the tests of a worker."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from fairlead.testing import Cluster


@pytest.fixture(scope="session")
def shared_kit() -> Iterator[Cluster]:
    with Cluster("--simulate-nodes", "1") as cluster:
        cluster.wait_idle()
        yield cluster


@pytest.fixture
def kit(shared_kit: Cluster) -> Iterator[Cluster]:
    """The shared cluster; changes by a test are undone after it."""
    with shared_kit.snapshot() as before:
        yield shared_kit
        shared_kit.end_lent([before])
    shared_kit.reset_clock()


@pytest.fixture
def space(kit: Cluster) -> str:
    """A fresh namespace of it."""
    return kit.new_namespace()
