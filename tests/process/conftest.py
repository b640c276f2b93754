"""Servers as users start them, for tests that are about the process itself."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from support.process import ServerProcess


@pytest.fixture(scope="module")
def new_interpreters() -> Iterator[None]:
    """Servers are new interpreters, no forks."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ServerProcess, "forked", False)
        yield
