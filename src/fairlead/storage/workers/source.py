"""The log of another process of this server, as a `Source`."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Sequence
from typing import Any

from fairlead.storage.backend import Row, Slice, Step, Write
from fairlead.storage.log import Reached, Snapshot
from fairlead.storage.workers.calls import Caller, owner_unreachable
from fairlead.storage.workers.channel import Message
from fairlead.storage.workers.page import Page

_CONNECT_TIMEOUT = 30.0  # seconds, while the owner restarts
_MAX_QUEUED = 1000  # batches of the feed queued before reading pauses


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
        self._batches: deque[Reached] = deque()
        self._wakeup = asyncio.Event()
        self._paused = False

    @property
    def floor(self) -> int:
        return self._page.floor

    async def open(self) -> None:
        """Connect, without a timeout: the parent makes sure that an owner starts."""
        await self._connect(None)

    async def _connect(self, timeout: float | None = _CONNECT_TIMEOUT) -> Caller:
        caller = self._caller
        if caller is not None and not caller.lost.is_set():
            return caller
        async with self._connecting:
            caller = self._caller
            if caller is None or caller.lost.is_set():
                caller = Caller(self._receive_batch)
                try:
                    async with asyncio.timeout(timeout):
                        await caller.connect(self._path)
                        await caller.call("size")  # answered only when there is an owner
                except (OSError, TimeoutError):
                    caller.close()
                    raise owner_unreachable() from None
                except BaseException:
                    caller.close()
                    raise
                self._caller = caller
            return caller

    async def _call(self, name: str, *arguments: Any) -> Any:
        return await (await self._connect()).call(name, *arguments)

    async def snapshot(self) -> Snapshot:
        revision, batches = await (await self._connect()).gather("snapshot")
        return Snapshot(revision, [Row._make(row) for batch in batches for row in batch])

    async def feed(self, after: int) -> AsyncGenerator[Reached, None]:
        caller = await self._connect()
        self._batches.clear()
        feed_call = asyncio.ensure_future(caller.call("feed", after))
        connection_lost = asyncio.ensure_future(caller.lost.wait())
        feed_call.add_done_callback(lambda _: self._wakeup.set())
        connection_lost.add_done_callback(lambda _: self._wakeup.set())
        try:
            while True:
                await self._wakeup.wait()
                self._wakeup.clear()
                if self._batches:
                    yield self._take_batches(caller)
                if feed_call.done() and feed_call.exception() is not None:
                    feed_call.result()
                if connection_lost.done():
                    raise owner_unreachable()
        finally:
            connection_lost.cancel()
            feed_call.cancel()
            await asyncio.gather(feed_call, connection_lost, return_exceptions=True)
            if self._caller is caller:  # discards the rest of this feed
                caller.close()

    def _receive_batch(self, message: Message) -> None:
        _, _, revision, rows = message
        self._batches.append(Reached(revision, [Row._make(row) for row in rows]))
        self._wakeup.set()
        if len(self._batches) > _MAX_QUEUED and not self._paused:
            self._paused = True
            assert self._caller is not None
            assert self._caller.channel is not None
            self._caller.channel.pause_reading()

    def _take_batches(self, caller: Caller) -> Reached:
        """Return all received batches merged into one."""
        batches, self._batches = self._batches, deque()
        if self._paused and caller.channel is not None:
            self._paused = False
            caller.channel.resume_reading()
        if len(batches) == 1:
            return batches[0]
        return Reached(batches[-1].revision, [row for reached in batches for row in reached.rows])

    def newest(self) -> int:
        return self._page.revision

    async def fetch_newest(self) -> int:
        return self._page.revision

    async def write(self, group: Sequence[Write]) -> list[int]:
        messages = [
            (
                write.resource,
                write.key,
                write.api_version,
                write.value,
                write.expected_revision(),
                [
                    (condition.resource, condition.key, condition.required_revision())
                    for condition in write.requires
                ],
            )
            for write in group
        ]
        revisions: list[int] = await self._call("write", messages)
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
        is_stale: bool = await self._call("stale", resource, key, revision)
        return is_stale

    async def compact(self, floor: int) -> None:
        """Nothing to do: the owner compacts."""

    async def size(self) -> int:
        size: int = await self._call("size")
        return size

    async def close(self) -> None:
        if self._caller is not None:
            self._caller.close()
