"""A server that may reach this machine, and an extension server behind it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from support.extension import HERE, RawExtension, Registered, bundle
from support.process import ServerProcess


@pytest.fixture(scope="module")
def front(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    running = ServerProcess(tmp_path_factory.mktemp("front"), flags=HERE).start()
    yield running
    running.stop()


@pytest.fixture(scope="module")
def _raw(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RawExtension]:
    running = RawExtension(tmp_path_factory.mktemp("raw"))
    yield running
    running.close()


@pytest.fixture
def raw(_raw: RawExtension) -> Iterator[RawExtension]:
    """What answers behind `group`: an empty object, unless a test says something else."""
    _raw.talk = lambda caller, head: caller.answer()
    _raw.heads.clear()
    yield _raw
    assert _raw.failures == []


@pytest.fixture
def group(front: ServerProcess, raw: RawExtension) -> Iterator[Registered]:
    made = Registered(front, raw.port, caBundle=bundle(raw.ca))
    yield made
    made.remove()
