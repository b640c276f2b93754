"""The client library in synchronous tests."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from fairlead.client import Access, Client
from fairlead.client.access.loader import load_access
from support.namespaces import Space

Result = TypeVar("Result")


def access_to(space: Space) -> Access:
    """Return the admin's access to the namespace of a space."""
    return load_access(space.server.data / "admin.kubeconfig", namespace=space.name)


def talk(space: Space, work: Callable[[Client], Awaitable[Result]]) -> Result:
    """Run work with a client that is closed afterwards; return its result."""

    async def run() -> Result:
        async with Client(access_to(space)) as client:
            return await work(client)

    return asyncio.run(run())
