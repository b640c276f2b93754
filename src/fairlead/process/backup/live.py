"""The changes of a running server as batches, for a client that keeps a journal of them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterable, Sequence
from types import TracebackType
from typing import Any

import orjson

from fairlead.process.backup.journal import (
    IDLE_SECONDS,
    NAMESPACES,
    encode_rows,
    identity_of,
    timestamp,
)
from fairlead.storage.audience import Watcher
from fairlead.storage.backend import Row
from fairlead.storage.selection import EVERYTHING
from fairlead.storage.store import Store
from fairlead.storage.version import Change, encoded_of

_GATHERING_SECONDS = 0.02  # after a change, for others to join its batch
_MAX_ROWS = 1000
_BYTES_ON_LOOP = 256 * 1024  # are encoded on the event loop


def identity(store: Store, dialect: str, apart: Iterable[Sequence[str]]) -> str:
    """Return the identity of the main store, see `identity_of`."""
    rows = (
        Row(version.revision, NAMESPACES, version.key, 0, "", encoded_of(version.body or b""))
        for version in store.collection(NAMESPACES).current("")
    )
    return identity_of(dialect, rows, apart)


class LiveChanges:
    """The changes of a store after a revision: first those in its log, then all as they are
    committed. The first line has the `identity` of the main store, and for the store of another
    cluster the `resources` that it keeps."""

    def __init__(
        self, store: Store, after: int, identity: str, resources: Sequence[str] = ()
    ) -> None:
        self._store = store
        self._identity = identity
        self._resources = resources
        self._after = after
        self._watcher = Watcher("", EVERYTHING, after)
        self._watcher.listener = self
        self._woken = asyncio.Event()
        self._undelivered: list[Change] = []

    def __enter__(self) -> LiveChanges:
        """Raises Compacted."""
        self._store.watch_all(self._watcher)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._store.unwatch_all(self._watcher)

    async def pieces(self) -> AsyncGenerator[bytes]:
        """Yield encoded batches, until the server stops or the client falls behind too far. Raises
        Compacted."""
        yield self._head()
        reached, upto = self._after, self._watcher.after
        while reached < upto:
            steps = await self._store.log.changes("", reached, upto)
            rows = [step.row for step in steps]
            reached = rows[-1].revision if rows else upto
            yield await _encoded(reached, rows)
        while True:
            for piece in [await _encoded(*part) for part in self._parts()]:
                yield piece
            if self._watcher.closed:
                return
            self._woken.clear()
            if not self._watcher.pending and not self._undelivered:
                try:
                    await asyncio.wait_for(self._woken.wait(), IDLE_SECONDS)
                except TimeoutError:
                    if not self._watcher.pending:
                        yield await _encoded(self._store.delivered_revision, ())
                    continue
            await asyncio.sleep(_GATHERING_SECONDS)

    def _head(self) -> bytes:
        head: dict[str, Any] = {"after": self._after, "store": self._identity}
        if self._resources:
            head["resources"] = self._resources
        return orjson.dumps(head) + b"\n"

    def _parts(self) -> list[tuple[int, Sequence[Row]]]:
        """Take the pending changes whose commits were delivered as a whole: the changes of a commit
        may share a revision."""
        delivered = self._store.delivered_revision
        changes = [*self._undelivered, *(change for _, change in self._watcher.take())]
        self._undelivered = [change for change in changes if change.revision > delivered]
        rows = [_row(change) for change in changes if change.revision <= delivered]
        parts: list[tuple[int, Sequence[Row]]] = []
        start = 0
        for index, row in enumerate(rows):
            is_last = index + 1 == len(rows)
            if is_last or (index - start >= _MAX_ROWS and rows[index + 1].revision > row.revision):
                parts.append((row.revision, rows[start : index + 1]))
                start = index + 1
        return parts

    # The methods of a watcher's listener.

    def pass_on(self, kind: str, change: Change) -> bool:
        return False

    def wake(self) -> None:
        self._woken.set()

    def closed(self) -> None:
        self._woken.set()


def _row(change: Change) -> Row:
    after = change.after
    value = encoded_of(after.body) if after is not None and after.body is not None else None
    return Row(change.revision, change.resource, change.key, 0, change.api_version, value)


async def _encoded(revision: int, rows: Sequence[Row]) -> bytes:
    size = sum(len(row.value or b"") for row in rows)
    is_large = size > _BYTES_ON_LOOP
    content = await asyncio.to_thread(encode_rows, rows) if is_large else encode_rows(rows)
    return orjson.dumps([revision, timestamp(), len(content)]) + b"\n" + content
