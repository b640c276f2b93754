"""The log of another process of this server, as a `Source`."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Sequence
from typing import Any

from fairlead.storage.backend import Row, Slice, Step, Write
from fairlead.storage.log import Reached, Snapshot
from fairlead.storage.workers.calls import Caller, gone
from fairlead.storage.workers.channel import Message
from fairlead.storage.workers.page import Page

_PATIENCE = 30.0  # seconds, while the owner restarts
_MAX_UNTAKEN = 1000  # batches of the feed queued before reading pauses


class SharedSource:
    """Calls the owner over a unix socket on which the parent listens: connections wait in the
    backlog while the owner is starting or restarting.

    Calls not sent yet go to the next owner; the outcome of a call whose answer was lost is unknown.
    """

    has_epoch = False

    def __init__(self, path: str, page: Page) -> None:
        self._path = path
        self._page = page
        self._caller: Caller | None = None
        self._connecting = asyncio.Lock()
        self._fed: deque[Reached] = deque()
        self._news = asyncio.Event()
        self._paused = False

    @property
    def floor(self) -> int:
        return self._page.floor

    async def open(self) -> None:
        """Connect, without a timeout: the parent makes sure that an owner starts."""
        await self._connected(None)

    async def _connected(self, patience: float | None = _PATIENCE) -> Caller:
        caller = self._caller
        if caller is not None and not caller.lost.is_set():
            return caller
        async with self._connecting:
            caller = self._caller
            if caller is None or caller.lost.is_set():
                caller = Caller(self._unasked)
                try:
                    async with asyncio.timeout(patience):
                        await caller.connect(self._path)
                        await caller.call("size")  # answered only when there is an owner
                except (OSError, TimeoutError):
                    caller.close()
                    raise gone() from None
                except BaseException:
                    caller.close()
                    raise
                self._caller = caller
            return caller

    async def _call(self, name: str, *arguments: Any) -> Any:
        return await (await self._connected()).call(name, *arguments)

    async def snapshot(self) -> Snapshot:
        revision, pieces = await (await self._connected()).gather("snapshot")
        return Snapshot(revision, [Row._make(row) for piece in pieces for row in piece])

    async def feed(self, after: int) -> AsyncGenerator[Reached, None]:
        caller = await self._connected()
        self._fed.clear()
        asking = asyncio.ensure_future(caller.call("feed", after))
        losing = asyncio.ensure_future(caller.lost.wait())
        asking.add_done_callback(lambda _: self._news.set())
        losing.add_done_callback(lambda _: self._news.set())
        try:
            while True:
                await self._news.wait()
                self._news.clear()
                if self._fed:
                    yield self._taken(caller)
                if asking.done() and asking.exception() is not None:
                    asking.result()
                if losing.done():
                    raise gone()
        finally:
            losing.cancel()
            asking.cancel()
            await asyncio.gather(asking, losing, return_exceptions=True)
            if self._caller is caller:  # discards the rest of this feed
                caller.close()

    def _unasked(self, message: Message) -> None:
        _, _, revision, rows = message
        self._fed.append(Reached(revision, [Row._make(row) for row in rows]))
        self._news.set()
        if len(self._fed) > _MAX_UNTAKEN and not self._paused:
            self._paused = True
            assert self._caller is not None
            assert self._caller.channel is not None
            self._caller.channel.pause_reading()

    def _taken(self, caller: Caller) -> Reached:
        """Return all received batches merged into one."""
        fed, self._fed = self._fed, deque()
        if self._paused and caller.channel is not None:
            self._paused = False
            caller.channel.resume_reading()
        if len(fed) == 1:
            return fed[0]
        return Reached(fed[-1].revision, [row for reached in fed for row in reached.rows])

    def newest(self) -> int:
        return self._page.revision

    async def ask_newest(self) -> int:
        return self._page.revision

    async def write(self, group: Sequence[Write]) -> list[int]:
        sent = [
            (
                write.resource,
                write.key,
                write.api_version,
                write.value,
                write.expected_revision(),
                [(one.resource, one.key, one.required_revision()) for one in write.requires],
            )
            for write in group
        ]
        revisions: list[int] = await self._call("write", sent)
        return revisions

    async def changes(self, resource: str, after: int, upto: int, key: str = "") -> list[Step]:
        steps = await self._call("changes", resource, after, upto, key)
        return [
            Step(Row._make(row), Row._make(before) if before is not None else None)
            for row, before in steps
        ]

    async def state(
        self, resource: str, revision: int, after: str, below: str | None, limit: int
    ) -> Slice:
        rows, more = await self._call("state", resource, revision, after, below, limit)
        return Slice([Row._make(row) for row in rows], more)

    async def is_stale(self, resource: str, key: str, revision: int) -> bool:
        if not self._page.seals:
            return False
        found: bool = await self._call("stale", resource, key, revision)
        return found

    async def compact(self, floor: int) -> None:
        """Nothing to do: the owner compacts."""

    async def size(self) -> int:
        found: int = await self._call("size")
        return found

    async def close(self) -> None:
        if self._caller is not None:
            self._caller.close()
