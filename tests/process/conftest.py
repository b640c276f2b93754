"""Servers as users start them: the process itself is what these tests are about."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from support.process import ServerProcess


@pytest.fixture(scope="module", autouse=True)
def new_interpreters() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ServerProcess, "forked", False)
        yield
