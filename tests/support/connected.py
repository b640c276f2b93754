"""The client library, connected to servers of tests."""

from __future__ import annotations

from collections.abc import Callable

from fairlead.client import Client
from support.process import ServerProcess

FreshServer = Callable[..., ServerProcess]


def connected(server: ServerProcess) -> Client:
    """Return a client of a server as its admin; the test closes it."""
    return Client.load(server.data / "admin.kubeconfig")
