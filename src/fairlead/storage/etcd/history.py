"""Reads snapshots, older states and changes from etcd."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from fairlead.storage.backend import Compacted, Row, Slice, Step
from fairlead.storage.etcd.client import Client
from fairlead.storage.etcd.feed import Denied, Watch, mark
from fairlead.storage.etcd.messages import (
    RANGE,
    Event,
    Found,
    KeyValue,
    RangeRequest,
    encode,
    end_of,
    read_range,
)
from fairlead.storage.etcd.rows import Rows
from fairlead.storage.log import Snapshot

_ROWS_A_PIECE = 500
_BYTES_A_PIECE = 4 << 20
_MAX_KEYS = 5_000  # per page of a snapshot
_FEWEST_KEYS = 50
_ROWS_A_TURN = 100  # decoded before yielding to the event loop
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

    async def _range(self, **given: int | bytes) -> Found:
        return read_range(await self._client.call(RANGE, encode(RangeRequest, **given)))

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
        async for found in self._pages():
            revision = revision or found.revision
            for at, entry in enumerate(found.entries):
                if at % _ROWS_A_TURN == _ROWS_A_TURN - 1:
                    await asyncio.sleep(0)
                row = self._rows.row(entry)
                if row is not None:
                    rows.append(row)
        return Snapshot(revision, rows)

    async def _pages(self) -> AsyncIterator[Found]:
        """Yield pages; fetches the next one while the caller processes one."""
        start, end = self._prefix + b"/", end_of(self._prefix + b"/")
        limit = _ROWS_A_PIECE
        found = await self._range(key=start, range_end=end, limit=limit)
        revision = found.revision
        while found.total > len(found.entries):
            start = found.entries[-1].key + b"\0"
            size = sum(len(entry.value) for entry in found.entries)
            limit = min(max(limit * _BYTES_A_PIECE // (size or 1), _FEWEST_KEYS), _MAX_KEYS)
            coming = asyncio.get_running_loop().create_task(
                self._range(key=start, range_end=end, limit=limit, revision=revision)
            )
            try:
                yield found
                found = await coming
            finally:
                coming.cancel()
        yield found

    async def state(
        self, resource: str, revision: int, after: str, below: str | None, limit: int
    ) -> Slice:
        """As `Backend.state`."""
        if revision <= 0:
            return Slice([], 0)
        first = self._rows.key(resource, "")
        start = self._rows.key(resource, after) + b"\0" if after else first
        end = self._rows.key(resource, below) if below is not None else end_of(first)
        most = min(limit or _ROWS_A_PIECE, _ROWS_A_PIECE)
        while True:
            found = await self._range(key=start, range_end=end, limit=most, revision=revision)
            rows = [row for entry in found.entries if (row := self._row(resource, entry))]
            more = found.total - len(found.entries)
            if rows or not more:
                return Slice(rows, more)
            start = found.entries[-1].key + b"\0"  # none of these was readable

    def _row(self, resource: str, entry: KeyValue) -> Row | None:
        row = self._rows.row(entry)
        return row if row is not None and row.resource == resource else None

    async def changes(self, resource: str, after: int, upto: int, key: str = "") -> list[Step]:
        """As `Backend.changes`."""
        if after >= upto:
            return []
        await self._client.check_kept(after)
        try:
            return await self._changes(resource, key, after, upto, is_whole=True)
        except Denied:
            return await self._changes(resource, key, after, upto, is_whole=False)

    async def _changes(
        self, resource: str, key: str, after: int, upto: int, *, is_whole: bool
    ) -> list[Step]:
        watch = Watch(self._client, self._prefix, is_whole=is_whole)
        found: list[Step] = []
        held = 0
        timing = self._client.timing
        is_told = is_whole or self._may_write  # else only a timeout ends the watch
        try:
            await watch.open(after + 1, with_former=True)
            if not is_whole and self._may_write:
                await mark(self._client, self._prefix)
            while True:
                try:
                    async with asyncio.timeout(timing.request if is_told else timing.answer):
                        told = await watch.read()
                except TimeoutError:
                    if is_told:
                        raise
                    return found
                for event in told.events:
                    revision = event.entry.revision
                    if revision > upto:
                        return found
                    is_full = len(found) >= _ROWS_A_PIECE or held > _BYTES_A_PIECE
                    if is_full and revision > found[-1].row.revision:
                        return found
                    step = self._step(resource, key, event)
                    if step is not None:
                        found.append(step)
                        held += len(step.row.value or b"")
                        held += len(step.before.value or b"") if step.before else 0
                if told.events and told.events[-1].entry.revision >= upto:
                    return found
        finally:
            watch.close()

    def _step(self, resource: str, key: str, event: Event) -> Step | None:
        place = self._rows.place(event.entry.key)
        if place is None or (resource and place[0] != resource) or (key and place[1] != key):
            return None
        before = self._rows.row(event.before) if event.before is not None else None
        previous, api_version = (before.revision, before.api_version) if before else (0, "")
        row = self._rows.step(event, previous, api_version)
        if row is None or (row.value is None and before is None):
            return None  # both are unreadable
        return Step(row, before)
