"""Group commit: whatever is written while a commit runs goes into the next one, together."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Sequence
from queue import SimpleQueue
from time import perf_counter
from typing import Any, Protocol, TypeVar

from fairlead.storage.backend import Backend, Fault, Outcome, StorageError
from fairlead.storage.log import storage_error
from fairlead.storage.metrics import BATCH_SIZES, COMMIT_SECONDS, COMMITS, QUEUE_DEPTH
from fairlead.storage.pending import Pending

Result = TypeVar("Result")


class Listener(Protocol):
    """Who is told on the loop how commits ended."""

    def committed(self, batch: Sequence[Pending], outcomes: Sequence[Outcome]) -> None: ...

    def failed(self, batch: Sequence[Pending], error: StorageError) -> None: ...


class Writer:
    """Hands writes to the backend from one thread, a batch at a time, in order.

    Lives on the event loop; only the backend's own calls run in the thread. After a failed commit
    everything that was queued behind it fails too, since it may build on what was lost.
    """

    def __init__(self, backend: Backend, listener: Listener) -> None:
        self._backend = backend
        self._listener = listener
        self._jobs: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._committer = threading.Thread(target=self._work, name="fairlead-writer", daemon=True)
        self._waiting: list[Pending] = []
        self._busy = False
        self._scheduled = False
        self._held = False
        self._refusal: StorageError | None = None
        self._idle = asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None

    def start(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._committer.start()

    def write(self, pending: Pending) -> None:
        """Queue a write; the listener is told once it is on disk or has failed."""
        if self._refusal is not None:
            raise self._refusal
        self._waiting.append(pending)
        if not self._busy and not self._scheduled:
            assert self._loop is not None
            self._scheduled = True
            self._loop.call_soon(self._hand_over)

    def hold(self) -> None:
        """Hand nothing more to the backend until `release`."""
        self._held = True

    def refuse(self, error: StorageError) -> None:
        """Fail what waits and what comes, until `release`."""
        self._held, self._refusal = True, error
        if self._waiting:
            self._fail([], error)

    def release(self) -> None:
        self._held, self._refusal = False, None
        self._hand_over()

    async def run(self, call: Callable[[], Result]) -> Result:
        """Run another call on the backend in its thread, between two batches; what it raises
        comes as a StorageError."""
        assert self._loop is not None
        loop: asyncio.AbstractEventLoop = self._loop
        future: asyncio.Future[Any] = loop.create_future()

        def settle(result: Any, error: StorageError | None) -> None:
            if not future.done():
                future.set_result(result) if error is None else future.set_exception(error)

        def job() -> None:
            result, error = None, None
            try:
                result = call()
            except BaseException as raised:
                error = storage_error(raised)
            loop.call_soon_threadsafe(settle, result, error)

        self._jobs.put(job)
        found: Result = await future
        return found

    async def stop(self) -> None:
        """Commit what is queued and end the thread."""
        if self._held:
            self.refuse(StorageError("the server is shutting down", Fault.PASSING))
        if self._busy or self._waiting:
            self._idle.clear()
            await self._idle.wait()
        self._jobs.put(None)
        await asyncio.get_running_loop().run_in_executor(None, self._committer.join)

    def _hand_over(self) -> None:
        self._scheduled = False
        if self._busy or self._held or not self._waiting:
            self._idle.set()
            return
        batch, self._waiting = self._waiting, []
        self._busy = True
        QUEUE_DEPTH.set(len(batch))
        self._jobs.put(lambda: self._commit(batch))

    def _commit(self, batch: list[Pending]) -> None:
        outcomes: list[Outcome] = []
        error: StorageError | None = None
        start = perf_counter()
        try:
            outcomes = self._backend.append([pending.write for pending in batch])
        except BaseException as raised:
            error = storage_error(raised)
        seconds = perf_counter() - start
        assert self._loop is not None
        self._loop.call_soon_threadsafe(self._committed, batch, outcomes, error, seconds)

    def _committed(
        self,
        batch: list[Pending],
        outcomes: list[Outcome],
        error: StorageError | None,
        seconds: float,
    ) -> None:
        self._busy = False
        if error is not None:
            COMMITS.add(of=("failed",))
            self._fail(batch, error)
        else:
            COMMITS.add(of=("ok",))
            COMMIT_SECONDS.observe(seconds)
            BATCH_SIZES.observe(len(batch))
            self._listener.committed(batch, outcomes)
        self._hand_over()

    def _fail(self, batch: list[Pending], error: StorageError) -> None:
        waiting, self._waiting = self._waiting, []
        self._listener.failed(batch + waiting, error)
        self._idle.set()

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            job()
