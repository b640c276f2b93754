"""Group commit: whatever is written while a commit runs goes into the next one, together."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any

from fairlead.storage.log import Log, Record, StorageError

Done = Callable[[StorageError | None], None]


class Writer:
    """Hands records to the log from one thread, a batch at a time, in order.

    Lives on the event loop; only the log's own calls run in the thread. After a failed commit
    everything that was queued behind it fails too, since it may build on what was lost.
    """

    def __init__(self, log: Log) -> None:
        self._log = log
        self._jobs: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._work, name="fairlead-writer", daemon=True)
        self._waiting: list[tuple[Record, Done]] = []
        self._busy = False
        self._scheduled = False
        self._idle = asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None

    def start(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._thread.start()

    def write(self, record: Record, done: Done) -> None:
        """Queue a record; `done` is called on the loop once it is on disk or has failed."""
        self._waiting.append((record, done))
        if not self._busy and not self._scheduled:
            assert self._loop is not None
            self._scheduled = True
            self._loop.call_soon(self._hand_over)

    async def run(self, call: Callable[[], Any]) -> Any:
        """Run another call on the log in its thread, between two batches."""
        assert self._loop is not None
        loop, future = self._loop, self._loop.create_future()

        def settle(result: Any, error: Exception | None) -> None:
            if not future.done():
                future.set_result(result) if error is None else future.set_exception(error)

        def job() -> None:
            try:
                result, error = call(), None
            except Exception as raised:
                result, error = None, raised
            loop.call_soon_threadsafe(settle, result, error)

        self._jobs.put(job)
        return await future

    async def stop(self) -> None:
        """Commit what is queued and end the thread."""
        if self._busy or self._waiting:
            self._idle.clear()
            await self._idle.wait()
        self._jobs.put(None)
        await asyncio.get_running_loop().run_in_executor(None, self._thread.join)

    def _hand_over(self) -> None:
        self._scheduled = False
        if self._busy or not self._waiting:
            self._idle.set()
            return
        batch, self._waiting = self._waiting, []
        self._busy = True
        self._jobs.put(lambda: self._commit(batch))

    def _commit(self, batch: list[tuple[Record, Done]]) -> None:
        error: StorageError | None = None
        try:
            self._log.append([record for record, _ in batch])
        except StorageError as raised:
            error = raised
        assert self._loop is not None
        self._loop.call_soon_threadsafe(self._committed, batch, error)

    def _committed(self, batch: list[tuple[Record, Done]], error: StorageError | None) -> None:
        self._busy = False
        if error is not None:
            batch += self._waiting
            self._waiting = []
        for _, done in batch:
            done(error)
        self._hand_over()

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            job()
