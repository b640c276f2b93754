"""The client library in a test that is no coroutine."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import TypeVar

from fairlead.client import Access, Client
from fairlead.client.access.loader import load_access
from support.things import Space

Result = TypeVar("Result")


def access_to(space: Space) -> Access:
    """The admin's, to the namespace of a space."""
    return replace(load_access(space.server.data / "admin.kubeconfig"), namespace=space.name)


def talk(space: Space, work: Callable[[Client], Awaitable[Result]]) -> Result:
    """What comes of work with a client that is closed behind it."""

    async def run() -> Result:
        async with Client(access_to(space)) as client:
            return await work(client)

    return asyncio.run(run())
