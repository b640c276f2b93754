"""A server of the testing kit, shared by the tests of a worker."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from fairlead.testing import Cluster


@pytest.fixture(scope="session")
def shared_kit() -> Iterator[Cluster]:
    with Cluster("--simulate-nodes", "1") as made:
        made.wait_idle()
        yield made


@pytest.fixture
def kit(shared_kit: Cluster) -> Iterator[Cluster]:
    """The shared one; what a test has done to it is undone."""
    with shared_kit.snapshot() as before:
        yield shared_kit
        shared_kit.end_lent([before])
    shared_kit.reset_clock()


@pytest.fixture
def space(kit: Cluster) -> str:
    """A fresh namespace of it."""
    return kit.new_namespace()
