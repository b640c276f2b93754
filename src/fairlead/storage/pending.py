"""A version between the writer who made it and the log that takes it."""

from __future__ import annotations

import asyncio

from fairlead.storage.backend import Write
from fairlead.storage.collection import Collection
from fairlead.storage.version import Version


class Pending:
    """A version on its way to the disk, and those who wait for it: each with a future of its own,
    so that one who gives up takes nobody along."""

    __slots__ = ("collection", "version", "waiters", "write")

    def __init__(self, collection: Collection, version: Version, write: Write) -> None:
        self.collection = collection
        self.version = version
        self.write = write
        self.waiters: list[asyncio.Future[None]] = []

    def outcome(self) -> asyncio.Future[None]:
        """Done when it is on disk; has why it is not."""
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.waiters.append(future)
        return future

    async def settled(self) -> None:
        """Wait until it is on disk; raises why it is not."""
        await self.outcome()

    def answer(self, error: Exception | None) -> None:
        for waiter in self.waiters:
            if not waiter.done():
                waiter.set_result(None) if error is None else waiter.set_exception(error)
