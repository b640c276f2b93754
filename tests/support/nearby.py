"""A server that may connect to this machine, for tests that listen on it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from support.extension import HERE
from support.namespaces import Space
from support.process import ServerProcess


def nearby(directories: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    running = ServerProcess(directories.mktemp("near"), flags=HERE).start()
    yield running
    running.stop()


def space_for_pods(server: ServerProcess) -> Iterator[Space]:
    client = server.client()
    space = Space(server, client)
    space.ready_for_pods()
    yield space
    client.close()
