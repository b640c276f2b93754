"""The watch that tells everything that happens."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import suppress

from fairlead.storage.backend import Compacted, Fault, StorageError
from fairlead.storage.etcd.calls import Stream
from fairlead.storage.etcd.client import Client
from fairlead.storage.etcd.failures import CallFailed
from fairlead.storage.etcd.members import Member
from fairlead.storage.etcd.messages import (
    ALL_KEYS,
    BY_MODIFIED,
    DESCENDING,
    RANGE,
    TXN,
    Event,
    Found,
    Operation,
    PutRequest,
    RangeRequest,
    Told,
    TxnRequest,
    WatchCreate,
    WatchRequest,
    encode,
    end_of,
    read_range,
    read_watch,
)
from fairlead.storage.etcd.rows import Rows
from fairlead.storage.log import Reached

_DENIED = "permission denied"
_MARK = b"/\0mark"
_LOOK_AGAIN = 0.02  # seconds


class Denied(Exception):
    """Not all keys may be watched."""


class Watch:
    """A stream that tells what happened from a revision on. Of no revision is a part told: what
    came in fragments is joined.

    All keys of etcd are watched, whosever they are: so each revision shows, and how far the
    stream has come needs no telling. Notices of progress are not used: they can overtake what they
    promise (before etcd 3.4.25 and 3.5.8). Where just the prefix may be watched, writing a mark
    below it shows how far the stream has come.
    """

    def __init__(self, client: Client, prefix: bytes, *, is_whole: bool = True) -> None:
        self._client = client
        self._prefix = prefix
        self._is_whole = is_whole
        self._member: Member | None = None
        self._stream: Stream | None = None

    async def open(self, start: int, *, with_former: bool = False) -> None:
        """Raises CallFailed."""
        key, end = (ALL_KEYS, ALL_KEYS) if self._is_whole else _range(self._prefix)
        request = encode(
            WatchCreate, key=key, range_end=end, start_revision=start, prev_kv=with_former,
            fragment=1,
        )  # fmt: skip
        self._member, self._stream = await self._client.watch(encode(WatchRequest, create=request))

    def close(self) -> None:
        if self._stream is not None:
            self._stream.cancel()

    async def read(self) -> Told:
        """The next events, all of their revisions, or none: the watch has begun. Raises CallFailed,
        Compacted with the revision, Denied."""
        assert self._stream is not None
        assert self._member is not None
        fragments: list[Event] = []
        while True:
            try:
                told = read_watch(await self._stream.read())
            except CallFailed as error:
                if error.is_away:
                    self._client.lost(self._member, error)
                raise
            if told.is_cancelled:
                raise _ended(told)
            if told.is_fragment or fragments:
                fragments += told.events
            if told.is_fragment:
                continue
            return told._replace(events=fragments) if fragments else told


async def mark(client: Client, prefix: bytes) -> None:
    """Write something below the prefix that is nobody's; raises CallFailed."""
    put = encode(PutRequest, key=prefix + _MARK, value=b"")
    request = encode(TxnRequest, success=encode(Operation, put=put))
    await client.call(TXN, request)


def _range(prefix: bytes) -> tuple[bytes, bytes]:
    below = prefix + b"/"
    return below, end_of(below)


def _ended(told: Told) -> Exception:
    if told.compacted:
        return Compacted(told.compacted)
    if _DENIED in told.reason.lower() or "PermissionDenied" in told.reason:
        return Denied()
    return CallFailed("UNAVAILABLE", told.reason or "the watch was cancelled")


class Quiet:
    """Whether a watch of a prefix that tells nothing has told everything, where no mark may be
    written to see that."""

    def __init__(self, client: Client, prefix: bytes) -> None:
        self._client = client
        self._below = dict(zip(("key", "range_end"), _range(prefix), strict=True))
        self._revision = self._reached = 0  # at the former all was as at the latter

    async def settled(self, reached: Callable[[], int], revision: int) -> int:
        """Wait until what was reached is all that there is at a revision, and give it; raises
        CallFailed."""
        loop = asyncio.get_running_loop()
        ends = loop.time() + self._client.timing.request
        while (found := reached()) < revision and loop.time() < ends:
            if revision <= self._revision:
                return self._reached
            at = await self._unchanged_since(found)
            if at:
                self._revision, self._reached = at, found
            else:
                await asyncio.sleep(_LOOK_AGAIN)
        return revision

    async def _unchanged_since(self, revision: int) -> int:
        """The revision now, 0 if there is something newer or no longer all that there was."""
        newest = await self._range(
            limit=1, keys_only=1, sort_order=DESCENDING, sort_target=BY_MODIFIED
        )
        if any(entry.revision > revision for entry in newest.entries):
            return 0
        try:
            before = await self._range(count_only=1, revision=revision)
        except CallFailed as error:
            if not error.is_compacted:
                raise  # otherwise what was deleted lately cannot be told from what was before
        else:
            if before.total != newest.total:
                return 0
        return newest.revision

    async def _range(self, **given: int) -> Found:
        request = encode(RangeRequest, **self._below, **given)
        return read_range(await self._client.call(RANGE, request))


class Feed:
    """Follows one watch at a time. `on_floor` hears of revisions that are forgotten."""

    def __init__(
        self,
        client: Client,
        prefix: bytes,
        rows: Rows,
        compaction_key: bytes,
        on_floor: Callable[[int], None],
        *,
        may_write: bool = True,
    ) -> None:
        self._client = client
        self._prefix = prefix
        self._rows = rows
        self._compaction_key = compaction_key
        self._on_floor = on_floor
        self._is_whole = True
        self._quiet = None if may_write else Quiet(client, prefix)
        self._marking: asyncio.Task[None] | None = None
        self._reached = 0
        self._reads_since: float | None = None  # when the watch began to wait for the next events

    def know_limited(self) -> None:
        """Not all keys may be read."""
        self._is_whole = False

    async def follow(self, after: int) -> AsyncIterator[Reached]:
        """See `Source.feed`."""
        try:
            await self._check(after)
            self._rows.forget_all()
            while True:
                try:
                    async for reached in self._follow(after):
                        yield reached
                except Denied:
                    if not self._is_whole:
                        raise StorageError("etcd: the prefix may not be watched") from None
                    self._is_whole = False
        except CallFailed as error:
            raise error.storage_error() from None

    async def _check(self, after: int) -> None:
        try:
            await self._client.check_kept(after)
        except CallFailed as error:
            if error.is_future:
                raise StorageError(
                    f"etcd has not come to revision {after}, which it had told: was an old state"
                    " of it restored? Start the server anew",
                    Fault.FATAL,
                ) from None
            if error.is_compacted:
                self._on_floor(after + 1)
            raise

    async def _follow(self, after: int) -> AsyncIterator[Reached]:
        self._reached = after
        watch = Watch(self._client, self._prefix, is_whole=self._is_whole)
        beating = asyncio.get_running_loop().create_task(self._beat(watch))
        try:
            await watch.open(after + 1)
            while True:
                try:
                    self._reads_since = asyncio.get_running_loop().time()
                    told = await watch.read()
                except Compacted as error:
                    self._on_floor(error.args[0])
                    raise Compacted(after) from None
                finally:
                    self._reads_since = None
                yield self._take(told)
        finally:
            beating.cancel()
            watch.close()
            with suppress(asyncio.CancelledError):
                await beating

    def _take(self, told: Told) -> Reached:
        if not told.events:
            return Reached(self._reached, ())
        rows = []
        for event in told.events:
            row = self._rows.step(event)
            if row is not None:
                rows.append(row)
            elif event.entry.key == self._compaction_key:
                with suppress(ValueError):
                    self._on_floor(int(event.entry.value))
        self._reached = told.events[-1].entry.revision
        return Reached(self._reached, rows)

    async def show(self, revision: int) -> int:
        """Have the feed tell that it has come to a revision, where it would not by itself; raises
        CallFailed. One mark at a time does for all. Gives the revision that it will tell."""
        while not self._is_whole and self._reached < revision:
            if self._quiet is not None:
                return await self._quiet.settled(lambda: self._reached, revision)
            if self._marking is None:
                self._marking = asyncio.create_task(mark(self._client, self._prefix))
                self._marking.add_done_callback(self._marked)
                await asyncio.shield(self._marking)
                break
            await asyncio.wait([self._marking])
        return revision

    def _marked(self, task: asyncio.Task[None]) -> None:
        self._marking = None

    async def _beat(self, watch: Watch) -> None:
        """End a watch that does not tell what others are told, or that nobody can say that of."""
        loop, timing = asyncio.get_running_loop(), self._client.timing
        while True:
            await asyncio.sleep(timing.heartbeat)
            asked = loop.time()
            try:
                newest = await self.show(await self._client.ask_newest(timing.answer))
            except CallFailed:
                watch.close()
                return
            if newest <= self._reached:
                continue
            await asyncio.sleep(timing.answer)
            waits = self._reads_since
            if self._reached < newest and waits is not None and waits <= asked + timing.answer / 2:
                watch.close()
                return
