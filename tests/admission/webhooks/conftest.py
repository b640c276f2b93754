"""One webhook server for all tests, and configurations that end with their test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from support.things import Space
from support.webhook import Hooked, WebhookServer


@pytest.fixture(scope="session")
def webhook_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WebhookServer]:
    made = WebhookServer(tmp_path_factory.mktemp("webhook"))
    yield made
    made.close()


@pytest.fixture
def hooked(space: Space, webhook_server: WebhookServer) -> Iterator[Hooked]:
    """In each dialect."""
    made = Hooked(space, webhook_server)
    yield made
    made.remove()


@pytest.fixture
def hooks(kubernetes: Space, webhook_server: WebhookServer) -> Iterator[Hooked]:
    """In the kubernetes dialect."""
    made = Hooked(kubernetes, webhook_server)
    yield made
    made.remove()
