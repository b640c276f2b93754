"""A version on its way from its writer to the log."""

from __future__ import annotations

import asyncio

from fairlead.storage.backend import Write
from fairlead.storage.collection import Collection
from fairlead.storage.version import Version


class Pending:
    """A version that is not committed yet, and its waiters. Each waiter has its own future, so
    cancelling one leaves the others."""

    __slots__ = ("collection", "version", "waiters", "write")

    def __init__(self, collection: Collection, version: Version, write: Write) -> None:
        self.collection = collection
        self.version = version
        self.write = write
        self.waiters: list[asyncio.Future[None]] = []

    def outcome(self) -> asyncio.Future[None]:
        """Return a future that completes on commit or raises the reason of failure."""
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.waiters.append(future)
        return future

    def answer(self, error: Exception | None) -> None:
        for waiter in self.waiters:
            if not waiter.done():
                waiter.set_result(None) if error is None else waiter.set_exception(error)
