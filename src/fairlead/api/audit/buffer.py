"""The mode `batch`: buffers events in memory, so that requests do not wait for them."""

from __future__ import annotations

import asyncio
from collections import deque

from fairlead.api.audit.backend import Shape, Sink, count_lost, logger
from fairlead.api.audit.policy import Batching
from fairlead.api.audit.record import Record

MAX_BYTES = 64 * 1024 * 1024  # of events that are buffered or being sent
MAX_BATCH_BYTES = 10 * 1024 * 1024
_MAX_CONCURRENT = 10
_SECONDS_TO_END = 10.0
_NO_TIME = "there was no time left to send them"


class Buffer:
    """Sends buffered events once there are enough or they have waited long enough. Events that
    arrive while the buffer is full are dropped and counted. `concurrent` allows concurrent
    batches, which may overtake each other; the log does not use it, and writes everything buffered
    at once."""

    def __init__(
        self,
        shape: Shape,
        sink: Sink,
        batching: Batching,
        *,
        batch_bytes: int = MAX_BATCH_BYTES,
        concurrent: bool,
    ) -> None:
        self._shape = shape
        self._sink = sink
        self._batching = batching
        self._batch_bytes = batch_bytes
        self._max_events = batching.max_size if concurrent else batching.buffer_size
        self._throttle = _Throttle(batching.qps, batching.burst)
        self._slots = asyncio.Semaphore(_MAX_CONCURRENT if concurrent else 1)
        self._waiting: deque[bytes] = deque()
        self._bytes = 0  # including those being sent
        self._has_batch = asyncio.Event()
        self._has_events = asyncio.Event()
        self._closing = False
        self._worker: asyncio.Task[None] | None = None
        self._sending: set[asyncio.Task[None]] = set()

    def accept(self, record: Record) -> bool:
        event = self._shape(record)
        if event is None:
            return True
        full = len(self._waiting) >= self._batching.buffer_size
        if full or self._bytes + len(event) > MAX_BYTES or self._closing:
            count_lost("buffered", "the buffer is full")
            return True
        self._waiting.append(event)
        self._bytes += len(event)
        self._has_events.set()
        if len(self._waiting) >= self._batching.max_size:
            self._has_batch.set()
        if self._worker is None:
            self._worker = asyncio.get_running_loop().create_task(self._work())
        return True

    async def _work(self) -> None:
        while not self._closing:
            self._has_events.clear()
            if not self._waiting:
                await self._has_events.wait()
            await self._wait_for_more()
            await self._throttle.wait()
            await self._slots.acquire()
            if self._closing:
                self._slots.release()
                return
            self._send(self._batch())

    async def _wait_for_more(self) -> None:
        self._has_batch.clear()
        if len(self._waiting) >= self._batching.max_size or not self._batching.max_wait:
            return
        try:
            async with asyncio.timeout(self._batching.max_wait):
                await self._has_batch.wait()
        except TimeoutError:
            pass

    def _batch(self) -> list[bytes]:
        """The next events, up to the limits of a batch."""
        batch: list[bytes] = []
        size = 0
        waiting = self._waiting
        while waiting and len(batch) < self._max_events:
            size += len(waiting[0])
            if batch and size > self._batch_bytes:
                break
            batch.append(waiting.popleft())
        return batch

    def _send(self, batch: list[bytes]) -> None:
        if not batch:
            self._slots.release()
            return
        task = asyncio.get_running_loop().create_task(self._deliver(batch))
        self._sending.add(task)
        task.add_done_callback(self._sending.discard)

    async def _deliver(self, batch: list[bytes]) -> None:
        try:
            await self._sink.deliver_in_background(batch)
        except asyncio.CancelledError:
            count_lost("buffered", _NO_TIME, len(batch))
            raise
        except Exception:
            logger.exception("cannot deliver audit events")
            count_lost("buffered", "an error of ours", len(batch))
        finally:
            self._bytes -= sum(map(len, batch))
            self._slots.release()

    async def close(self) -> None:
        """Send all buffered events, for at most 10 s."""
        self._closing = True
        self._has_events.set()
        self._has_batch.set()
        if self._worker is not None:
            self._worker.cancel()
            await asyncio.gather(self._worker, return_exceptions=True)
        try:
            async with asyncio.timeout(_SECONDS_TO_END):
                await self._flush()
        except TimeoutError:
            count_lost("buffered", _NO_TIME, len(self._waiting))
            for task in self._sending:
                task.cancel()
            await asyncio.gather(*self._sending, return_exceptions=True)
        await self._sink.close()

    async def _flush(self) -> None:
        while self._waiting:
            await self._slots.acquire()
            self._send(self._batch())
        await asyncio.gather(*self._sending)


class _Throttle:
    """A token bucket: `qps` per second, with bursts up to `burst`."""

    def __init__(self, qps: float, burst: int) -> None:
        self._qps = qps
        self._burst = burst
        self._tokens = float(burst)
        self._updated = 0.0

    async def wait(self) -> None:
        if not self._qps:
            return
        now = asyncio.get_running_loop().time()
        self._tokens = min(self._burst, self._tokens + (now - self._updated) * self._qps)
        self._updated = now
        self._tokens -= 1
        if self._tokens < 0:
            await asyncio.sleep(-self._tokens / self._qps)
