"""Reads snapshots, older states and changes from etcd."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Iterator

from fairlead.storage.backend import Compacted, Row, Slice, Step
from fairlead.storage.etcd.client import Client
from fairlead.storage.etcd.feed import Denied, Watch, mark
from fairlead.storage.etcd.messages import (
    RANGE,
    Event,
    KeyValue,
    RangeRequest,
    RangeResponse,
    encode,
    end_of,
    read_range,
)
from fairlead.storage.etcd.rows import Rows
from fairlead.storage.log import Snapshot

_ROWS_PER_PAGE = 500
_BYTES_PER_PAGE = 4 << 20
_MAX_KEYS = 5_000  # per page of a snapshot
_MIN_KEYS = 50
_ROWS_PER_SLICE = 100  # decoded before yielding to the event loop
_MAX_SNAPSHOTS = 5


class History:
    """Reads snapshots, states and changes. All methods may raise CallFailed and Compacted."""

    def __init__(
        self, client: Client, prefix: bytes, rows: Rows, *, may_write: bool = True
    ) -> None:
        self._client = client
        self._prefix = prefix
        self._rows = rows
        self._may_write = may_write

    async def _range(self, **options: int | bytes) -> RangeResponse:
        return read_range(await self._client.call(RANGE, encode(RangeRequest, **options)))

    async def snapshot(self) -> Snapshot:
        """Return every live row at one revision. Starts again if its revision is compacted between
        two pages."""
        for _ in range(_MAX_SNAPSHOTS - 1):
            try:
                return await self._snapshot()
            except Compacted:
                continue
        return await self._snapshot()

    async def _snapshot(self) -> Snapshot:
        rows: list[Row] = []
        revision = 0
        async for page in self._pages():
            revision = revision or page.revision
            await self._rows.prepare(page.entries)
            for index, entry in enumerate(page.entries):
                if index % _ROWS_PER_SLICE == _ROWS_PER_SLICE - 1:
                    await asyncio.sleep(0)
                row = self._rows.row(entry)
                if row is not None:
                    rows.append(row)
        return Snapshot(revision, rows)

    async def _pages(self) -> AsyncIterator[RangeResponse]:
        """Yield pages; fetches the next one while the caller processes one."""
        start, end = self._prefix + b"/", end_of(self._prefix + b"/")
        limit = _ROWS_PER_PAGE
        page = await self._range(key=start, range_end=end, limit=limit)
        revision = page.revision
        while page.total > len(page.entries):
            start = page.entries[-1].key + b"\0"
            size = sum(len(entry.value) for entry in page.entries)
            limit = min(max(limit * _BYTES_PER_PAGE // (size or 1), _MIN_KEYS), _MAX_KEYS)
            next_page = asyncio.get_running_loop().create_task(
                self._range(key=start, range_end=end, limit=limit, revision=revision)
            )
            try:
                yield page
                page = await next_page
            finally:
                next_page.cancel()
        yield page

    async def state(
        self, resource: str, revision: int, after: str, below: str | None, limit: int
    ) -> Slice:
        """As `Backend.state`."""
        if revision <= 0:
            return Slice([], 0)
        first = self._rows.key(resource, "")
        start = self._rows.key(resource, after) + b"\0" if after else first
        end = self._rows.key(resource, below) if below is not None else end_of(first)
        page_size = min(limit or _ROWS_PER_PAGE, _ROWS_PER_PAGE)
        while True:
            page = await self._range(key=start, range_end=end, limit=page_size, revision=revision)
            await self._rows.prepare(page.entries)
            rows = [row for entry in page.entries if (row := self._row(resource, entry))]
            more = page.total - len(page.entries)
            if rows or not more:
                return Slice(rows, more)
            start = page.entries[-1].key + b"\0"  # none of these was readable

    def _row(self, resource: str, entry: KeyValue) -> Row | None:
        row = self._rows.row(entry)
        return row if row is not None and row.resource == resource else None

    async def changes(self, resource: str, after: int, upto: int, key: str = "") -> list[Step]:
        """As `Backend.changes`."""
        if after >= upto:
            return []
        await self._client.check_kept(after)
        try:
            return await self._changes(resource, key, after, upto, all_keys=True)
        except Denied:
            return await self._changes(resource, key, after, upto, all_keys=False)

    async def _changes(
        self, resource: str, key: str, after: int, upto: int, *, all_keys: bool
    ) -> list[Step]:
        watch = Watch(self._client, self._prefix, all_keys=all_keys)
        steps: list[Step] = []
        bytes_read = 0
        timing = self._client.timing
        shows_progress = all_keys or self._may_write  # else only a timeout ends the watch
        try:
            await watch.open(after + 1, with_former=True)
            if not all_keys and self._may_write:
                await mark(self._client, self._prefix)
            while True:
                try:
                    async with asyncio.timeout(timing.request if shows_progress else timing.answer):
                        response = await watch.read()
                except TimeoutError:
                    if shows_progress:
                        raise
                    return steps
                await self._rows.prepare(_entries(response.events))
                for event in response.events:
                    revision = event.entry.revision
                    if revision > upto:
                        return steps
                    is_full = len(steps) >= _ROWS_PER_PAGE or bytes_read > _BYTES_PER_PAGE
                    if is_full and revision > steps[-1].row.revision:
                        return steps
                    step = self._step(resource, key, event)
                    if step is not None:
                        steps.append(step)
                        bytes_read += len(step.row.value or b"")
                        bytes_read += len(step.before.value or b"") if step.before else 0
                if response.events and response.events[-1].entry.revision >= upto:
                    return steps
        finally:
            watch.close()

    def _step(self, resource: str, key: str, event: Event) -> Step | None:
        location = self._rows.location(event.entry.key)
        if (
            location is None
            or (resource and location[0] != resource)
            or (key and location[1] != key)
        ):
            return None
        before = self._rows.row(event.before) if event.before is not None else None
        previous, api_version = (before.revision, before.api_version) if before else (0, "")
        row = self._rows.step(event, previous, api_version)
        if row is None or (row.value is None and before is None):
            return None  # both are unreadable
        return Step(row, before)


def _entries(events: Iterable[Event]) -> Iterator[KeyValue]:
    for event in events:
        yield event.entry
        if event.before is not None:
            yield event.before
