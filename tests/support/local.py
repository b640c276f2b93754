"""The owner of a log and its followers over a socket, as stores in one process."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterator, Sequence
from contextlib import aclosing, contextmanager
from pathlib import Path
from typing import Any

from fairlead.storage.backend import Row, Slice, Step, Write
from fairlead.storage.followed import FollowedLog
from fairlead.storage.log import Reached, Snapshot
from fairlead.storage.sqlite.backend import SqliteBackend
from fairlead.storage.sqlite.log import EmbeddedLog
from fairlead.storage.store import Store
from fairlead.storage.workers.calls import RpcServer
from fairlead.storage.workers.owner import Sharing
from fairlead.storage.workers.page import Page
from fairlead.storage.workers.source import SharedSource


class Family:
    """One data directory. The owner can be lost and come back; its socket stays."""

    def __init__(self, directory: Path) -> None:
        self.page = Page(2)
        self._data = directory / "data"
        self.path = str(directory / "socket")
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._listener.bind(self.path)
        self._listener.listen()
        self._desk: RpcServer | None = None
        self._stores: list[Store] = []
        self.owner: Store

    async def start_owner(self) -> Store:
        self._desk = RpcServer(self._listener)
        log = EmbeddedLog(SqliteBackend(self._data))
        sharing = log.sharing = Sharing(self.page, self._desk, log)
        self.owner = Store(log)
        await self.owner.open()
        sharing.begin(self.owner)
        await self._desk.open()
        return self.owner

    async def lose_owner(self) -> None:
        """Close the owner; committed writes are on disk."""
        if self._desk is not None:
            await self._desk.close()
            self._desk = None
            await self.owner.close()

    def source(self) -> SharedSource:
        return SharedSource(self.path, self.page)

    async def follower(self) -> Store:
        store = Store(FollowedLog(self.source()))
        await store.open()
        self._stores.append(store)
        return store

    async def close(self) -> None:
        for store in self._stores:
            await store.close()
        await self.lose_owner()
        self._listener.close()


class AnyValues(SharedSource):
    """A source for tests whose values are not objects, unlike a server's. `compacting` makes the
    owner compact, which it otherwise does by itself after some time."""

    compacting: Callable[[int], None]

    async def write(self, group: Sequence[Write]) -> list[int]:
        for item in group:
            if item.value is not None:
                item.value = _BEFORE + item.value + _AFTER
        return await super().write(group)

    async def compact(self, floor: int) -> None:
        await asyncio.to_thread(self.compacting, floor)

    async def snapshot(self) -> Snapshot:
        revision, rows = await super().snapshot()
        return Snapshot(revision, list(map(_plain, rows)))

    async def feed(self, after: int) -> AsyncGenerator[Reached, None]:
        async with aclosing(super().feed(after)) as feed:
            async for revision, rows in feed:
                yield Reached(revision, list(map(_plain, rows)))

    async def changes(self, resource: str, after: int, upto: int, key: str = "") -> list[Step]:
        steps = await super().changes(resource, after, upto, key)
        return [Step(_plain(row), before and _plain(before)) for row, before in steps]

    async def state(
        self, resource: str, revision: int, after: str, below: str | None, limit: int
    ) -> Slice:
        rows, more = await super().state(resource, revision, after, below, limit)
        return Slice(list(map(_plain, rows)), more)


_BEFORE, _AFTER = b'{"metadata":{"name":"n"},"value":', b"}"


def _plain(row: Row) -> Row:
    if row.value is None:
        return row
    return row._replace(value=row.value.removeprefix(_BEFORE).removesuffix(_AFTER))


@contextmanager
def owner_elsewhere(directory: Path) -> Iterator[Callable[[], SharedSource]]:
    """Run an owner on an event loop in another thread; yields a function that connects to it."""
    family = Family(directory)
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()

    def run(work: Coroutine[Any, Any, object]) -> None:
        asyncio.run_coroutine_threadsafe(work, loop).result(20)

    def connect() -> SharedSource:
        source = AnyValues(family.path, family.page)
        source.compacting = lambda floor: run(family.owner.compact(floor))
        return source

    run(family.start_owner())
    try:
        yield connect
    finally:
        run(family.close())
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()
