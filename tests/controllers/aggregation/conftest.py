"""A server that may reach this machine, and an extension server behind it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from support.extension import RawExtension, Registered, bundle
from support.nearby import nearby
from support.process import ServerProcess
from support.registered import Shelved


@pytest.fixture(scope="module")
def front(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    yield from nearby(tmp_path_factory)


@pytest.fixture(scope="module")
def _raw(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RawExtension]:
    running = RawExtension(tmp_path_factory.mktemp("raw"))
    yield running
    running.close()


@pytest.fixture
def raw(_raw: RawExtension) -> Iterator[RawExtension]:
    """The server behind `group`: answers with an empty object unless a test changes that."""
    _raw.talk = lambda caller, head: caller.answer()
    _raw.heads.clear()
    yield _raw
    assert _raw.failures == []


@pytest.fixture
def group(front: ServerProcess, raw: RawExtension) -> Iterator[Registered]:
    registered = Registered(front, raw.port, caBundle=bundle(raw.ca))
    yield registered
    registered.remove()


@pytest.fixture(scope="module", params=["kubernetes", "cluster"])
def running(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Shelved]:
    """A server with a shelf of things behind it, whose group can be registered."""
    running = Shelved(tmp_path_factory.mktemp(f"shelved-{request.param}"), request.param)
    yield running
    running.close()
