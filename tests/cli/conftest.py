"""Commands against the shared servers."""

from __future__ import annotations

import pytest
from support.commands import Commands
from support.things import Space


@pytest.fixture
def fairlead(space: Space) -> Commands:
    """The command line in a fresh namespace, in each dialect."""
    return Commands(space)


@pytest.fixture
def fairlead_kubernetes(kubernetes: Space) -> Commands:
    """The same in the kubernetes dialect alone, where kubectl can be compared."""
    return Commands(kubernetes)
