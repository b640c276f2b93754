"""The watch that feeds all changes in etcd to the cache."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import suppress

from fairlead.storage.backend import Compacted, Fault, StorageError
from fairlead.storage.etcd.client import Client
from fairlead.storage.etcd.failures import is_away, is_compacted, is_future, storage_error
from fairlead.storage.etcd.members import Member
from fairlead.storage.etcd.messages import (
    ALL_KEYS,
    BY_MODIFIED,
    DESCENDING,
    RANGE,
    TXN,
    Event,
    Operation,
    PutRequest,
    RangeRequest,
    RangeResponse,
    TxnRequest,
    WatchCreate,
    WatchRequest,
    WatchResponse,
    encode,
    end_of,
    read_range,
    read_watch,
)
from fairlead.storage.etcd.rows import Rows
from fairlead.storage.log import Reached
from fairlead.wire.grpc.calls import Stream
from fairlead.wire.grpc.failures import CallFailed

_DENIED = "permission denied"
_MARK = b"/\0mark"
_POLL_SECONDS = 0.02  # seconds


class Denied(Exception):
    """Not all keys may be watched."""


class Watch:
    """A stream of events from a revision on. Fragments are joined, so a revision is never split.

    It watches all keys of etcd, including those of other applications: each revision then shows up,
    and the stream's progress is known without further messages. Progress notifications are not
    used: before etcd 3.4.25 and 3.5.8 they can overtake events. If only the prefix may be watched,
    a mark written below it shows the progress.
    """

    def __init__(self, client: Client, prefix: bytes, *, all_keys: bool = True) -> None:
        self._client = client
        self._prefix = prefix
        self._all_keys = all_keys
        self._member: Member | None = None
        self._stream: Stream | None = None

    async def open(self, start: int, *, with_former: bool = False) -> None:
        """Start the watch; raises CallFailed."""
        key, end = (ALL_KEYS, ALL_KEYS) if self._all_keys else _range(self._prefix)
        request = encode(
            WatchCreate, key=key, range_end=end, start_revision=start, prev_kv=with_former,
            fragment=1,
        )  # fmt: skip
        self._member, self._stream = await self._client.watch(encode(WatchRequest, create=request))

    def close(self) -> None:
        if self._stream is not None:
            self._stream.cancel()

    async def read(self) -> WatchResponse:
        """Return the next events, with complete revisions; no events when the watch has started.
        Raises CallFailed, Compacted with the revision, Denied."""
        assert self._stream is not None
        assert self._member is not None
        fragments: list[Event] = []
        while True:
            try:
                response = read_watch(await self._stream.read())
            except CallFailed as error:
                if is_away(error):
                    self._client.member_failed(self._member, error)
                raise
            if response.is_cancelled:
                raise _cancellation(response)
            if response.is_fragment or fragments:
                fragments += response.events
            if response.is_fragment:
                continue
            return response._replace(events=fragments) if fragments else response


async def mark(client: Client, prefix: bytes) -> None:
    """Write an unused key below the prefix; raises CallFailed."""
    put = encode(PutRequest, key=prefix + _MARK, value=b"")
    request = encode(TxnRequest, success=encode(Operation, put=put))
    await client.call(TXN, request)


def _range(prefix: bytes) -> tuple[bytes, bytes]:
    below = prefix + b"/"
    return below, end_of(below)


def _cancellation(response: WatchResponse) -> Exception:
    if response.compacted:
        return Compacted(response.compacted)
    if _DENIED in response.reason.lower() or "PermissionDenied" in response.reason:
        return Denied()
    return CallFailed("UNAVAILABLE", response.reason or "the watch was cancelled")


class IdleCheck:
    """Determines whether a silent watch of a prefix is up to date, where no mark may be written."""

    def __init__(self, client: Client, prefix: bytes) -> None:
        self._client = client
        self._below = dict(zip(("key", "range_end"), _range(prefix), strict=True))
        self._revision = self._reached = 0  # nothing changed between `_reached` and `_revision`

    async def wait_until_idle(self, reached: Callable[[], int], revision: int) -> int:
        """Wait until the watch reaches `revision`, or nothing has changed between the reached
        revision and `revision`; gives up after the request timeout. Returns the revision that the
        feed shows then. Raises CallFailed."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self._client.timing.request
        while (position := reached()) < revision and loop.time() < deadline:
            if revision <= self._revision:
                return self._reached
            unchanged_until = await self._unchanged_since(position)
            if unchanged_until:
                self._revision, self._reached = unchanged_until, position
            else:
                await asyncio.sleep(_POLL_SECONDS)
        return revision

    async def _unchanged_since(self, revision: int) -> int:
        """Return the current revision, or 0 if a key is newer than `revision` or was deleted
        since."""
        newest = await self._range(
            limit=1, keys_only=1, sort_order=DESCENDING, sort_target=BY_MODIFIED
        )
        if any(entry.revision > revision for entry in newest.entries):
            return 0
        try:
            before = await self._range(count_only=1, revision=revision)
        except CallFailed as error:
            if not is_compacted(error):
                raise  # if compacted, recent deletions cannot be detected
        else:
            if before.total != newest.total:
                return 0
        return newest.revision

    async def _range(self, **options: int) -> RangeResponse:
        request = encode(RangeRequest, **self._below, **options)
        return read_range(await self._client.call(RANGE, request))


class Feed:
    """Follows one watch at a time. `on_floor` is called with compacted revisions."""

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
        self._all_keys = True
        self._idle_check = None if may_write else IdleCheck(client, prefix)
        self._marking: asyncio.Task[None] | None = None
        self._reached = 0
        self._reads_since: float | None = None  # start of the current wait for events

    def watch_prefix_only(self) -> None:
        """Watch only the prefix: not all keys may be read."""
        self._all_keys = False

    async def follow(self, after: int) -> AsyncIterator[Reached]:
        """As `Source.feed`."""
        try:
            await self._check(after)
            self._rows.forget_all()
            while True:
                try:
                    async for reached in self._follow(after):
                        yield reached
                except Denied:
                    if not self._all_keys:
                        raise StorageError("etcd: the prefix may not be watched") from None
                    self._all_keys = False
        except CallFailed as error:
            raise storage_error(error) from None

    async def _check(self, after: int) -> None:
        try:
            await self._client.check_kept(after)
        except CallFailed as error:
            if is_future(error):
                raise StorageError(
                    f"etcd is behind revision {after}, which it had reported: was an old state"
                    " restored? Restart the server",
                    Fault.FATAL,
                ) from None
            if is_compacted(error):
                self._on_floor(after + 1)
            raise

    async def _follow(self, after: int) -> AsyncIterator[Reached]:
        self._reached = after
        watch = Watch(self._client, self._prefix, all_keys=self._all_keys)
        heartbeat = asyncio.get_running_loop().create_task(self._check_progress(watch))
        try:
            await watch.open(after + 1)
            while True:
                try:
                    self._reads_since = asyncio.get_running_loop().time()
                    response = await watch.read()
                except Compacted as error:
                    self._on_floor(error.args[0])
                    raise Compacted(after) from None
                finally:
                    self._reads_since = None
                await self._rows.prepare(event.entry for event in response.events)
                yield self._apply(response)
        finally:
            heartbeat.cancel()
            watch.close()
            with suppress(asyncio.CancelledError):
                await heartbeat

    def _apply(self, response: WatchResponse) -> Reached:
        if not response.events:
            return Reached(self._reached, ())
        rows = []
        for event in response.events:
            row = self._rows.step(event)
            if row is not None:
                rows.append(row)
            elif event.entry.key == self._compaction_key:
                with suppress(ValueError):
                    self._on_floor(int(event.entry.value))
        self._reached = response.events[-1].entry.revision
        return Reached(self._reached, rows)

    async def show_progress(self, revision: int) -> int:
        """Make a watch of the prefix show that it has reached a revision, with one mark for all
        waiting callers; raises CallFailed. Returns the revision the feed will reach."""
        while not self._all_keys and self._reached < revision:
            if self._idle_check is not None:
                return await self._idle_check.wait_until_idle(lambda: self._reached, revision)
            if self._marking is None:
                self._marking = asyncio.create_task(mark(self._client, self._prefix))
                self._marking.add_done_callback(self._mark_done)
                await asyncio.shield(self._marking)
                break
            await asyncio.wait([self._marking])
        return revision

    def _mark_done(self, task: asyncio.Task[None]) -> None:
        self._marking = None

    async def _check_progress(self, watch: Watch) -> None:
        """Close a watch that lags behind the newest revision, or when that revision cannot be
        fetched."""
        loop, timing = asyncio.get_running_loop(), self._client.timing
        while True:
            await asyncio.sleep(timing.heartbeat)
            start = loop.time()
            try:
                newest = await self.show_progress(await self._client.fetch_newest(timing.answer))
            except CallFailed:
                watch.close()
                return
            if newest <= self._reached:
                continue
            await asyncio.sleep(timing.answer)
            waiting_since = self._reads_since
            if (
                self._reached < newest
                and waiting_since is not None
                and waiting_since <= start + timing.answer / 2
            ):
                watch.close()
                return
