from __future__ import annotations

from collections.abc import Iterator

import pytest
from audit_support import Audited


@pytest.fixture(scope="package")
def audited(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Audited]:
    """A server in the kubernetes dialect, for all tests that need no flags of their own."""
    made = Audited(tmp_path_factory.mktemp("audited"))
    yield made
    made.server.stop()
